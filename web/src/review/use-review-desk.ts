/** Records decisions. They are shown at once, and taken back if the service refuses them. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ShotWithVerdict, shotsWithVerdict } from "../changes/verdicts";
import { shotId } from "../gallery/shot-key";
import { ApiError, send } from "../lib/api";
import { useMe } from "../lib/me";
import type { Check, Comparison, Decided, Review } from "../lib/types";
import type { PullUrls } from "../pull/urls";
import { isDecidable, NO_NOTE, type Note, pairId, pairOf, type Step, undoSteps } from "./reviews";

/** The API takes at most this many pairs at a time. */
const MOST_PAIRS = 1_000;

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
  review: Review;
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
  const [pending, setPending] = useState<ReadonlyMap<string, Pending>>(new Map());
  const [problem, setProblem] = useState<ReviewDesk["problem"]>(null);
  const [drafts, setDrafts] = useState<Record<string, Note | undefined>>({});
  const [done, setDone] = useState<readonly Done[]>([]);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const shots = useMemo(
    () =>
      shotsWithVerdict(comparison.shots).map((shot) => {
        const review = pending.get(pairId(shot))?.review;
        return review ? { ...shot, review } : shot;
      }),
    [comparison.shots, pending],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: each reply includes the settled decisions
  useEffect(() => {
    setPending((all) => new Map([...all].filter(([, { settled }]) => !settled)));
  }, [comparison]);

  /** Sends one request after the other, so that an undo never overtakes its decision. */
  const post = (steps: Step[]): Promise<void> => {
    const sent = queue.current.then(() => sendSteps(urls, steps));
    queue.current = sent.catch(() => undefined);
    return sent;
  };

  const record = async (steps: Step[], reviews: Map<string, Review>, retry: () => void) => {
    const put = (settled: boolean) =>
      setPending(
        (all) => new Map([...all, ...[...reviews].map(([id, review]) => [id, { review, settled }] as const)]),
      );
    setProblem(null);
    put(false);
    try {
      await post(steps);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setPending((all) => new Map([...all].filter(([id]) => !reviews.has(id))));
      setProblem({ message: describeFailure(failure), retry: failure.status === 409 ? null : retry });
      if (failure.status === 409) void refresh();
      return false;
    }
    void refresh().then(() => put(true));
    return true;
  };

  const decide: ReviewDesk["decide"] = (chosen, decision, note = NO_NOTE) => {
    const isNews = ({ review }: ShotWithVerdict) => decision === "rejected" || review.state !== decision;
    const able = chosen.filter((shot) => isDecidable(shot) && isNews(shot));
    if (able.length === 0) return null;
    const review: Review = { state: decision, by: login, at: Math.floor(Date.now() / 1000), ...note };
    const sent = record(
      [{ decision, shots: able, ...note }],
      new Map(able.map((shot) => [pairId(shot), review])),
      () => decide(able, decision, note),
    );
    const entry = { shots: able, sent };
    setDone((all) => [...all, entry]);
    void sent.then((ok) => ok || setDone((all) => all.filter((other) => other !== entry)));
    return sent;
  };

  const last = done.at(-1);
  const undo = () => {
    if (!last) return undefined;
    const former = new Map(last.shots.map((shot) => [pairId(shot), shot.review]));
    const restore = async () => {
      setDone((all) => all.filter((other) => other !== last));
      const ok = (await last.sent) && (await record(undoSteps(last.shots), former, restore));
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
  for (const { shots, ...step } of steps) {
    for (let start = 0; start < shots.length; start += MOST_PAIRS) {
      const pairs = shots.slice(start, start + MOST_PAIRS).map(pairOf);
      await send<Decided>("POST", urls.decisions, { ...step, pairs });
    }
  }
}

const describeFailure = ({ status, message }: ApiError): string =>
  status === 409
    ? "This changed since you looked. It is loading again: look at it, then decide."
    : `Not recorded. ${message}`;
