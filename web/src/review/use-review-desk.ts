/** Records decisions. They are shown at once, and taken back if the service refuses them. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { toShots } from "../changes/parts";
import { type ShotWithVerdict, shotsWithVerdict } from "../changes/verdicts";
import { shotId } from "../gallery/shot-key";
import { ApiError, send } from "../lib/api";
import { useMe } from "../lib/me";
import type { Check, Comparison, Decided } from "../lib/types";
import type { PullUrls } from "../pull/urls";
import { applyStep, isDecidable, NO_NOTE, type Note, pairOf, type Step, undoSteps } from "./reviews";

/** The API takes at most this many pairs at a time. */
const MOST_PAIRS = 1_000;
/** Keeps a request far below the API’s limit. */
const MOST_BOXES = 50_000;

export interface ReviewDesk {
  /** The comparison’s shots, with the decisions that are still being sent. */
  shots: ShotWithVerdict[];
  canDecide: boolean;
  /** null for people without an account. */
  check: Check | null;
  /** Resolves to whether it was recorded. null: there was nothing to decide. */
  decide(shots: ShotWithVerdict[], decision: "approved" | "rejected", note?: Note): Promise<boolean> | null;
  /** Takes the last decision back, and returns the first shot it was about. */
  undo: (() => ShotWithVerdict | undefined) | null;
  /** Why the last decision was not recorded. */
  problem: { message: string; retry: (() => void) | null } | null;
  /** The rejection that the user is writing about a shot. */
  draftOf(shot: ShotWithVerdict): Note | undefined;
  setDraft(shot: ShotWithVerdict, draft: Note | undefined): void;
}

interface Pending {
  step: Step;
  at: number;
  /** The service has it, so the next reply includes it. */
  settled: boolean;
}

interface Done {
  shots: ShotWithVerdict[];
  sent: Promise<boolean>;
}

export function useReviewDesk(
  urls: PullUrls,
  comparison: Comparison,
  refresh: () => Promise<void>,
  canDecide: boolean,
): ReviewDesk {
  const { login } = useMe().user;
  const [pending, setPending] = useState<readonly Pending[]>([]);
  const [problem, setProblem] = useState<ReviewDesk["problem"]>(null);
  const [drafts, setDrafts] = useState<Record<string, Note | undefined>>({});
  const [done, setDone] = useState<readonly Done[]>([]);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const shots = useMemo(
    () =>
      pending.reduce(
        (all, { step, at }) => applyStep(all, step, login, at),
        shotsWithVerdict(comparison.shots),
      ),
    [comparison.shots, pending, login],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: each reply includes the settled decisions
  useEffect(() => {
    setPending((all) => all.filter(({ settled }) => !settled));
  }, [comparison]);

  /** Sends one request after the other, so that an undo never overtakes its decision. */
  const post = (steps: Step[]): Promise<void> => {
    const sent = queue.current.then(() => sendSteps(urls, steps));
    queue.current = sent.catch(() => undefined);
    return sent;
  };

  const record = async (steps: Step[], retry: () => void) => {
    const at = Math.floor(Date.now() / 1000);
    const isOurs = ({ step }: Pending) => steps.includes(step);
    setProblem(null);
    setPending((all) => [...all, ...steps.map((step) => ({ step, at, settled: false }))]);
    try {
      await post(steps);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setPending((all) => all.filter((each) => !isOurs(each)));
      setProblem({ message: describeFailure(failure), retry: failure.status === 409 ? null : retry });
      if (failure.status === 409) void refresh();
      return false;
    }
    void refresh().then(() =>
      setPending((all) => all.map((each) => (isOurs(each) ? { ...each, settled: true } : each))),
    );
    return true;
  };

  const decide: ReviewDesk["decide"] = (chosen, decision, note = NO_NOTE) => {
    const isNews = ({ review }: ShotWithVerdict) => decision === "rejected" || review.state !== decision;
    const about = decision === "rejected" ? toShots(chosen, shots) : chosen;
    const able = about.filter((shot) => isDecidable(shot) && isNews(shot));
    if (able.length === 0) return null;
    const sent = record([{ decision, shots: able, ...note }], () => decide(able, decision, note));
    const entry = { shots: able, sent };
    setDone((all) => [...all, entry]);
    void sent.then((ok) => ok || setDone((all) => all.filter((other) => other !== entry)));
    return sent;
  };

  const last = done.at(-1);
  const undo = () => {
    if (!last) return undefined;
    const restore = async () => {
      setDone((all) => all.filter((other) => other !== last));
      const ok = (await last.sent) && (await record(undoSteps(last.shots), restore));
      if (!ok) setDone((all) => [...all, last]);
    };
    void restore();
    return last.shots[0];
  };

  return {
    shots,
    canDecide,
    check: comparison.check,
    decide,
    undo: last ? undo : null,
    problem,
    draftOf: (shot) => drafts[shotId(shot)],
    setDraft: (shot, draft) => {
      setProblem(null);
      setDrafts((all) => ({ ...all, [shotId(shot)]: draft }));
    },
  };
}

async function sendSteps(urls: PullUrls, steps: Step[]): Promise<void> {
  for (const { decision, note, pin, shots } of steps)
    for (const pairs of inBatches(shots.map(pairOf)))
      await send<Decided>("POST", urls.decisions, { decision, note, pin, pairs });
}

type Pair = ReturnType<typeof pairOf>;

function inBatches(pairs: Pair[]): Pair[][] {
  const batches: Pair[][] = [];
  let boxes = 0;
  for (const pair of pairs) {
    const [last, own] = [batches.at(-1), (pair.regions?.length ?? 0) + (pair.gone?.length ?? 0)];
    const isFull = !last || last.length === MOST_PAIRS || boxes + own > MOST_BOXES;
    if (isFull) batches.push([pair]);
    else last.push(pair);
    boxes = isFull ? own : boxes + own;
  }
  return batches;
}

const describeFailure = ({ status, message }: ApiError): string =>
  status === 409
    ? "This changed since you looked. It is loading again: look at it, then decide."
    : `Not recorded. ${message}`;
