/** The parts of shots: a shot is shown once in each of its groups. Pure. */
import { shotId } from "../gallery/shot-key";
import type { CloseUp, ComparedShot, Review, ShotPart } from "../lib/types";
import type { ShotWithVerdict } from "./verdicts";

/** Identifies a shot, or its part in a group. The id of a group has no space. */
export const partId = (shot: ShotWithVerdict): string =>
  shot.part ? `${shot.part.group} ${shotId(shot)}` : shotId(shot);

/** The shot in each of its groups, with the close-ups and the review of that part. Without a group, the shot itself. */
export function toParts(shot: ShotWithVerdict): ShotWithVerdict[] {
  if (shot.part || shot.parts.length === 0) return [shot];
  return shot.parts.map((part) => ({
    ...shot,
    part,
    group: part.group,
    closeups: closeupsOf(shot, part),
    review: reviewOf(shot.review, part),
  }));
}

/** The whole shots of these parts, each once, as they are in `all`. */
export function toShots(parts: ShotWithVerdict[], all: ShotWithVerdict[]): ShotWithVerdict[] {
  const byId = new Map(all.map((shot) => [shotId(shot), shot]));
  return [...new Set(parts.map(shotId))].flatMap((id) => byId.get(id) ?? []);
}

/** What the page shows of a part, and a decision about it names. */
export const boxesOf = ({ regions, gone }: ComparedShot, part: ShotPart) => ({
  regions: part.regions.flatMap((index) => (regions[index] ? [regions[index]] : [])),
  gone: part.gone.flatMap((index) => (gone[index] ? [gone[index]] : [])),
});

/** The best close-up of a part first, then the others that show one of its regions. */
function closeupsOf(shot: ComparedShot, part: ShotPart): CloseUp[] {
  const { regions } = boxesOf(shot, part);
  const isBest = (index: number) => index === part.closeup;
  return [
    ...shot.closeups.filter((_, index) => isBest(index)),
    ...shot.closeups.filter(
      ({ region }, index) => !isBest(index) && regions.some((box) => isInside(box, region)),
    ),
  ];
}

type Region = ComparedShot["regions"][number];

const isInside = ([x, y, w, h]: Region, [left, top, width, height]: Region): boolean =>
  left <= x && top <= y && x + w <= left + width && y + h <= top + height;

function reviewOf(review: Review, { review: state, by }: ShotPart): Review {
  const people = by.join(" and ");
  if (state === review.state) return { ...review, by: people || review.by };
  return { state, by: people, at: null, note: "", pin: null };
}
