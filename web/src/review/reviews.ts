/** What is left to review, and what a decision changes. Pure. */
import { boxesOf, partId, toParts } from "../changes/parts";
import type { ShotWithVerdict } from "../changes/verdicts";
import { isSameShot, shotId, shotKeyOf } from "../gallery/shot-key";
import { formatCount, formatNumber } from "../lib/format";
import type { Gate, GateState, Pin, Review, ReviewState } from "../lib/types";

/** The note of a rejection. */
export interface Note {
  note: string;
  /** A point in the after image. */
  pin: Pin | null;
}

export const NO_NOTE: Note = { note: "", pin: null };

/** One request: the same decision about several pairs, or about parts of them. */
export interface Step extends Note {
  decision: "approved" | "rejected" | "withdrawn";
  shots: ShotWithVerdict[];
  /** The state after a decision is withdrawn. */
  former?: ReviewState;
}

/** The images that a decision is about, by their pixels, and the boxes if it is about a part. */
export const pairOf = (shot: ShotWithVerdict) => ({
  ...shotKeyOf(shot),
  pixels_before: shot.pixels_before,
  pixels_after: shot.pixels_after,
  ...(shot.part && boxesOf(shot, shot.part)),
});

export const pairId = (shot: ShotWithVerdict): string =>
  `${shot.pixels_before} ${shot.pixels_after} ${shotId(shot)}`;

/** Whether there is something to decide about: a failed shot has no image to look at. */
const isPair = ({ verdict, pixels_before, pixels_after }: ShotWithVerdict): boolean =>
  verdict !== "failed" && pixels_before + pixels_after !== "";

export const isOpen = (shot: ShotWithVerdict): boolean => shot.review.state === "open" && isPair(shot);

/** Whether a person may decide about it. A new shot may be decided even if it doesn’t need to be. */
export function isDecidable(shot: ShotWithVerdict): boolean {
  const { state } = shot.review;
  const isNeeded = state === "open" || state === "approved" || state === "rejected";
  return isPair(shot) && (isNeeded || (state === "not_needed" && shot.verdict === "new"));
}

/** How many parts of shots are open, and how many need a decision or have one. Rejected are whole shots. */
export function countReviews(shots: ShotWithVerdict[]) {
  const parts = shots.flatMap(toParts);
  const count = (state: ReviewState, of = parts) => of.filter(({ review }) => review.state === state).length;
  const [open, approved] = [parts.filter(isOpen).length, count("approved")];
  return { open, approved, rejected: count("rejected", shots), total: open + approved + count("rejected") };
}

/** The next shot or part with something open after this one, from the start again after the last. */
export function nextOpen(
  order: ShotWithVerdict[],
  from: ShotWithVerdict,
  decided: ShotWithVerdict[],
): ShotWithVerdict | undefined {
  const at = order.findIndex((shot) => partId(shot) === partId(from));
  const others = [...order.slice(at + 1), ...order.slice(0, at + 1)];
  const isDecided = (part: ShotWithVerdict) =>
    decided.some((other) => isSameShot(part, other) && (!other.part || partId(other) === partId(part)));
  return others.find((shot) => toParts(shot).some((part) => isOpen(part) && !isDecided(part)));
}

/** The parts with the same change. A whole shot stands for its first open part. */
function inGroup(parts: ShotWithVerdict[], shot: ShotWithVerdict): ShotWithVerdict[] {
  const { group } = shot.part ? shot : (toParts(shot).find(isOpen) ?? shot);
  return parts.filter((other) => (group ? other.group === group : isSameShot(other, shot)));
}

/** The open parts with the same change. */
export const openInGroup = (parts: ShotWithVerdict[], shot: ShotWithVerdict): ShotWithVerdict[] =>
  inGroup(parts, shot).filter(isOpen);

/** A rejection of a group is also about its approved shots. */
export const isRejectable = (shot: ShotWithVerdict): boolean =>
  isDecidable(shot) && shot.review.state !== "rejected";

/** The shots with the same change that can be rejected. */
export const rejectableInGroup = (order: ShotWithVerdict[], shot: ShotWithVerdict): ShotWithVerdict[] =>
  inGroup(order, shot).filter(isRejectable);

/** The requests that restore these shots’ reviews: an earlier decision is recorded again, with its note. */
export function undoSteps(shots: ShotWithVerdict[]): Step[] {
  const steps = new Map<string, Step>();
  const approvedParts: ShotWithVerdict[] = [];
  for (const shot of shots) {
    const { state, note, pin } = shot.review;
    const wasDecided = state === "approved" || state === "rejected";
    const restored = wasDecided
      ? ({ decision: state, note, pin } as const)
      : ({ decision: "withdrawn", former: state, ...NO_NOTE } as const);
    const key = JSON.stringify(restored);
    const { part, ...whole } = shot;
    // A rejection is always about the whole shot.
    const of = state === "rejected" ? whole : shot;
    steps.set(key, { ...restored, shots: [...(steps.get(key)?.shots ?? []), of] });
    if (!part && !wasDecided)
      approvedParts.push(...toParts(shot).filter(({ review }) => review.state === "approved"));
  }
  const again: Step = { decision: "approved", shots: approvedParts, ...NO_NOTE };
  return approvedParts.length > 0 ? [...steps.values(), again] : [...steps.values()];
}

/** The shots as they are after a step, before the service has answered. */
export function applyStep(shots: ShotWithVerdict[], step: Step, by: string, at: number): ShotWithVerdict[] {
  const chosen = new Map<string, ShotWithVerdict[]>();
  for (const shot of step.shots) chosen.set(pairId(shot), [...(chosen.get(pairId(shot)) ?? []), shot]);
  return shots.map((shot) => {
    const parts = chosen.get(pairId(shot));
    return parts ? decideParts(shot, step, parts, { by, at }) : shot;
  });
}

function decideParts(
  shot: ShotWithVerdict,
  { decision, former = "open", note, pin }: Step,
  chosen: ShotWithVerdict[],
  who: { by: string; at: number },
): ShotWithVerdict {
  const isUndone = decision === "withdrawn";
  const review: Review = isUndone
    ? { state: former, by: "", at: null, ...NO_NOTE }
    : { state: decision, ...who, note, pin };
  const isWhole = decision === "rejected" || chosen.some(({ part }) => !part);
  const isChosen = (group: string) => isWhole || chosen.some(({ part }) => part?.group === group);
  const by = isUndone ? [] : [who.by];
  const parts = shot.parts.map((part) =>
    isChosen(part.group) ? { ...part, review: review.state, by } : part,
  );
  const isSettled = isWhole || parts.every((part) => part.review === review.state);
  if (isSettled) return { ...shot, review, parts };
  const wasApproved = shot.review.state === "approved";
  return { ...shot, parts, review: isUndone && wasApproved ? { ...review, state: "open" } : shot.review };
}

/** "ann", "ann and bob" */
export function listPeople(shots: ShotWithVerdict[]): string {
  const names = [...new Set(shots.map(({ review }) => review.by))];
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
}

const GATE_WORDS: Record<GateState, string> = {
  passed: "Passed",
  waiting: "Waiting",
  rejected: "Rejected",
  blocked: "Blocked",
};

/** "Waiting: 3 to review" */
export const describeGate = ({ state, open }: Gate): string =>
  state === "waiting" ? `${GATE_WORDS[state]}: ${formatNumber(open)} to review` : GATE_WORDS[state];

/** What is left to decide, in a sentence. Empty if nothing needs a decision. */
export function describeLeft(gate: Gate, { open, rejected, total }: ReturnType<typeof countReviews>): string {
  if (open > 0) return `${formatNumber(open)} of ${formatNumber(total)} to review`;
  if (rejected > 0) return `${formatCount(rejected, "screenshot")} rejected: push a fix.`;
  if (gate.state === "blocked") return "";
  if (total === 0) return "";
  return gate.state === "passed" ? "Everything is reviewed." : "Everything is reviewed. Saving…";
}
