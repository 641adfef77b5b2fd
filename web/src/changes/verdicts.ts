/** What a comparison found. */
import { shotId } from "../gallery/shot-key";
import type { ComparedShot, Comparison, Shot, Verdict } from "../lib/types";

/** In the order of the page. */
export const VERDICTS: readonly Verdict[] = ["changed", "moved", "new", "removed", "failed", "unchanged"];

export type ShotWithVerdict = ComparedShot & { verdict: Verdict };

const hasVerdict = (shot: ComparedShot): shot is ShotWithVerdict => shot.verdict !== null;

export const shotsWithVerdict = (shots: ComparedShot[]): ShotWithVerdict[] => shots.filter(hasVerdict);

/** Whether a person has to look at it. */
export const isChange = ({ verdict }: Pick<ComparedShot, "verdict">): boolean =>
  verdict !== null && verdict !== "unchanged";

/** Empty: every change. */
export const filterByVerdict = (shots: ShotWithVerdict[], verdict: string): ShotWithVerdict[] =>
  shots.filter((shot) => (verdict === "" ? isChange(shot) : shot.verdict === verdict));

/** The verdicts that there are, and of how many shots. */
export function countVerdicts(shots: ComparedShot[]): [Verdict, number][] {
  const counts = new Map<Verdict, number>();
  for (const { verdict } of shotsWithVerdict(shots)) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return VERDICTS.flatMap((verdict) => {
    const count = counts.get(verdict);
    return count ? [[verdict, count] as [Verdict, number]] : [];
  });
}

/** The verdict about a shot's newest image. A newer image than the compared one has none yet. */
export function createVerdictLookup(comparison: Comparison | null): (shot: Shot) => Verdict | null {
  const compared = new Map(comparison?.shots.map((shot) => [shotId(shot), shot]));
  return ({ newest }) => {
    const shot = compared.get(shotId(newest));
    return shot?.after?.commit_sha === newest.commit_sha ? shot.verdict : null;
  };
}

/** The shots in the order of the places that are on the page already, and those that arrived since at the end. */
export function keepOrder(shots: ShotWithVerdict[], places: string[]): ShotWithVerdict[] {
  const left = new Map(shots.map((shot) => [shotId(shot), shot]));
  const kept = places.flatMap((place) => {
    const shot = left.get(place);
    left.delete(place);
    return shot ? [shot] : [];
  });
  return [...kept, ...left.values()];
}
