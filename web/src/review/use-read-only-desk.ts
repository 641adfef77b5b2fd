import { useMemo } from "preact/hooks";
import { shotsWithVerdict } from "../changes/verdicts";
import type { Comparison } from "../lib/types";
import type { ReviewDesk } from "./use-review-desk";

/** For people who see the reviews and decide nothing. */
export const useReadOnlyDesk = ({ shots }: Comparison): ReviewDesk =>
  useMemo(
    () => ({
      shots: shotsWithVerdict(shots),
      canDecide: false,
      check: null,
      decide: () => null,
      undo: null,
      problem: null,
      draftOf: () => undefined,
      setDraft: () => undefined,
    }),
    [shots],
  );
