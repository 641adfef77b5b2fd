/** Sample comparisons for tests. */
import { image } from "../gallery/sample-shots";
import type { ComparedShot, Comparison } from "../lib/types";

export function comparedShot(some: Partial<ComparedShot> = {}): ComparedShot {
  const { name = "Cart", viewport = "1280x800", theme = "" } = some;
  return {
    name,
    viewport,
    theme,
    verdict: "changed",
    pixels: 0,
    regions: [],
    gone: [],
    moves: [],
    shift: 0,
    colors: [],
    after: image({ name, viewport, theme, commit_sha: "after" }),
    before: image({ name, viewport, theme, commit_sha: "before" }),
    is_pair: false,
    diff_url: null,
    base_commit: "before",
    ancestor: true,
    reason: "",
    pixels_before: "",
    pixels_after: "",
    closeups: [],
    groups: [],
    parts: [],
    group: "",
    review: { state: "not_needed", by: "", at: null, note: "", pin: null },
    ...some,
  };
}

export const comparison = (some: Partial<Comparison> = {}): Comparison => ({
  commit_sha: "after",
  branch: "main",
  base_commit: "before",
  state: "compared",
  missing: 0,
  groups: [],
  gate: { state: "passed", open: 0, reason: "" },
  check: { state: "none", forge: null, error: "", posted: "", description: "" },
  blocked: "",
  unreadable: "",
  outdated_notes: [],
  outbox: [],
  shots: [],
  counts: countByVerdict(some.shots ?? []),
  ...some,
});

function countByVerdict(shots: ComparedShot[]): Comparison["counts"] {
  const counts: Comparison["counts"] = {};
  for (const { verdict } of shots) if (verdict) counts[verdict] = (counts[verdict] ?? 0) + 1;
  return counts;
}
