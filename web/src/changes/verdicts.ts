/** The verdicts of a comparison. */
import { shotId } from "../gallery/shot-key";
import type { ComparedShot, Comparison, Shot, ShotPart, Verdict } from "../lib/types";
import { partId } from "./parts";

/** In the order of the comment’s heading. */
const VERDICTS: readonly Verdict[] = ["changed", "moved", "new", "removed", "failed", "unchanged"];

/** As in the comment. */
export const describeVerdict = (verdict: Verdict): string =>
  verdict === "failed" ? "could not be compared" : verdict;

export type ShotWithVerdict = ComparedShot & {
  verdict: Verdict;
  /** What is shown of it in a group. Without it, the whole shot. */
  part?: ShotPart;
};

const hasVerdict = (shot: ComparedShot): shot is ShotWithVerdict => shot.verdict !== null;

export const shotsWithVerdict = (shots: ComparedShot[]): ShotWithVerdict[] => shots.filter(hasVerdict);

/** Whether a reviewer has to look at it. */
export const isChange = ({ verdict }: Pick<ComparedShot, "verdict">): boolean =>
  verdict !== null && verdict !== "unchanged";

/** Empty: every change. */
export const filterByVerdict = (shots: ShotWithVerdict[], verdict: string): ShotWithVerdict[] =>
  shots.filter((shot) => (verdict === "" ? isChange(shot) : shot.verdict === verdict));

/** The service computes the counts, so that the comment and every page show the same. */
export type Counts = Comparison["counts"];

/** Each verdict that occurs, in the order of the comment’s heading, and how many shots have it. */
export const listCounts = (counts: Counts): [Verdict, number][] =>
  VERDICTS.map((verdict): [Verdict, number] => [verdict, counts[verdict] ?? 0]).filter(
    ([, count]) => count > 0,
  );

/** How many shots have a verdict. */
export const countShots = (counts: Counts): number =>
  listCounts(counts).reduce((sum, [, count]) => sum + count, 0);

/** How many shots a reviewer has to look at. */
export const countChanges = (counts: Counts): number => countShots(counts) - (counts.unchanged ?? 0);

/** Looks up the verdict on a shot's newest image. An image newer than the compared one has no verdict yet. */
export function createVerdictLookup(comparison: Comparison | null): (shot: Shot) => Verdict | null {
  const compared = new Map(comparison?.shots.map((shot) => [shotId(shot), shot]));
  return ({ newest }) => {
    const shot = compared.get(shotId(newest));
    return shot?.after?.commit_sha === newest.commit_sha ? shot.verdict : null;
  };
}

/** Keeps the order of the shots that are already on the page, and puts new ones at the end. */
export function keepOrder(shots: ShotWithVerdict[], ids: string[]): ShotWithVerdict[] {
  const left = new Map(shots.map((shot) => [partId(shot), shot]));
  const kept = ids.flatMap((id) => {
    const shot = left.get(id);
    left.delete(id);
    return shot ? [shot] : [];
  });
  return [...kept, ...left.values()];
}
