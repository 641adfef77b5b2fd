import { capitalize } from "../lib/format";
import type { Verdict } from "../lib/types";

export function VerdictChip({ verdict }: { verdict: Verdict }) {
  return (
    <span class="verdict" data-verdict={verdict}>
      {capitalize(verdict)}
    </span>
  );
}
