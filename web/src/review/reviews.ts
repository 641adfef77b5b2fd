/** What is left to review, and what a decision changes. Pure. */
import type { ShotWithVerdict } from "../changes/verdicts";
import { isSameShot, shotId, shotKeyOf } from "../gallery/shot-key";
import { formatCount, formatNumber } from "../lib/format";
import type { Gate, GateState, Pin, Review } from "../lib/types";

/** The note of a rejection. */
export interface Note {
  note: string;
  /** A point in the after image. */
  pin: Pin | null;
}

export const NO_NOTE: Note = { note: "", pin: null };

/** One request: the same decision about several pairs. */
export interface Step extends Note {
  decision: "approved" | "rejected" | "withdrawn";
  shots: ShotWithVerdict[];
}

/** The images that a decision is about, by their pixels. */
export const pairOf = (shot: ShotWithVerdict) => ({
  ...shotKeyOf(shot),
  pixels_before: shot.pixels_before,
  pixels_after: shot.pixels_after,
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

/** How many shots are in each state, and how many of them need a decision or have one. */
export function countReviews(shots: ShotWithVerdict[]) {
  const count = (state: Review["state"]) => shots.filter(({ review }) => review.state === state).length;
  const [open, approved, rejected] = [shots.filter(isOpen).length, count("approved"), count("rejected")];
  return { open, approved, rejected, total: open + approved + rejected };
}

/** The next open shot after this one, from the start again after the last. */
export function nextOpen(
  order: ShotWithVerdict[],
  from: ShotWithVerdict,
  decided: ShotWithVerdict[],
): ShotWithVerdict | undefined {
  const at = order.findIndex((shot) => isSameShot(shot, from));
  const others = [...order.slice(at + 1), ...order.slice(0, at + 1)];
  return others.find((shot) => isOpen(shot) && !decided.some((other) => isSameShot(shot, other)));
}

const inGroup = (order: ShotWithVerdict[], shot: ShotWithVerdict): ShotWithVerdict[] =>
  order.filter((other) => other.group === shot.group && (shot.group || other === shot));

/** The open shots with the same change. */
export const openInGroup = (order: ShotWithVerdict[], shot: ShotWithVerdict): ShotWithVerdict[] =>
  inGroup(order, shot).filter(isOpen);

/** A rejection of a group is also about its approved shots. */
export const isRejectable = (shot: ShotWithVerdict): boolean =>
  isDecidable(shot) && shot.review.state !== "rejected";

/** The shots with the same change that can be rejected. */
export const rejectableInGroup = (order: ShotWithVerdict[], shot: ShotWithVerdict): ShotWithVerdict[] =>
  inGroup(order, shot).filter(isRejectable);

/** The requests that restore these shots’ reviews: an earlier decision is recorded again, with its note. */
export function undoSteps(shots: ShotWithVerdict[]): Step[] {
  const steps = new Map<string, Step>();
  for (const shot of shots) {
    const { state, note, pin } = shot.review;
    const wasDecided = state === "approved" || state === "rejected";
    const restored = wasDecided
      ? ({ decision: state, note, pin } as const)
      : ({ decision: "withdrawn", ...NO_NOTE } as const);
    const key = JSON.stringify(restored);
    steps.set(key, { ...restored, shots: [...(steps.get(key)?.shots ?? []), shot] });
  }
  return [...steps.values()];
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
