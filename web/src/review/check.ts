/** What the forge shows after the review, in words. Pure. */
import type { Check, ForgeKind } from "../lib/types";

/** Gitea may be Forgejo. */
const FORGES: Record<ForgeKind, string> = {
  github: "GitHub",
  gitlab: "GitLab",
  gitea: "the forge",
  bitbucket: "Bitbucket",
};

/** The page shows the whole error, with advice. */
const firstSentence = (text: string): string => text.replace(/\. .*$/s, ".");

/** Says only what the connection knows. Without a connection, the job sets the check. */
export function describeCheck({ state, forge, error, posted, description }: Check): string {
  if (state === "none" || !forge) return "Run the job again to update the check.";
  const name = `The check on ${FORGES[forge]}`;
  if (state === "failing") return `${name} was not updated: ${firstSentence(error)}`;
  if (state === "waiting") return `${name} is being updated.`;
  if (posted === "success") return `${name} is green.`;
  return `${name} ${posted === "failure" ? "is red" : "is pending"}: ${description}`;
}
