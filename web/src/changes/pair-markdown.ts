/** A pair as markdown, to paste into a comment. */
import type { ComparedShot } from "../lib/types";

/** The close-ups or, without them, the whole images, each linked to the pair. */
export function pairMarkdown({ before, after, closeups }: ComparedShot, permalink: string): string {
  const link = (picture: string) => `[${picture}](${permalink})`;
  if (after && closeups.length > 0) {
    return closeups.map(({ url }) => link(after.markdown.replace(after.url, () => url))).join("\n\n");
  }
  if (!before || !after) return link((after ?? before)?.markdown ?? "");
  return `| Before | After |\n|---|---|\n| ${link(before.markdown)} | ${link(after.markdown)} |`;
}
