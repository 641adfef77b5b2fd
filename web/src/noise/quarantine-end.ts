/** Says how often a quarantined shot differed, when its quarantine is about to end. Pure. */
import { formatCount, formatNumber } from "../lib/format";
import type { Quarantine } from "../lib/types";

const DAY = 24 * 60 * 60;

/** "Ends in 3 days: differed in 5 of 20 comparisons". Empty until a week before the end. */
export function describeEnd({ until, compared, differed }: Quarantine, nowMs: number): string {
  const left = Math.max(1, Math.ceil((until - nowMs / 1000) / DAY));
  if (left > 7) return "";
  const often = `${formatNumber(differed)} of ${formatCount(compared, "comparison")}`;
  const words = compared === 0 ? "not compared yet" : `differed in ${often}`;
  return `Ends in ${formatCount(left, "day")}: ${words}`;
}
