import { shortSha } from "../lib/format";
import { Mono } from "../ui";

/** Says since which commit the bytes are unchanged. */
export function Unchanged({ since }: { since: string | null }) {
  if (since === null) return null;
  return (
    <span class="unchanged">
      unchanged since <Mono title={since}>{shortSha(since)}</Mono>
    </span>
  );
}
