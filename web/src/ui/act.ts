import { useState } from "preact/hooks";
import { ApiError } from "../lib/api";
import { toast } from "./toast";

export interface Act {
  busy: boolean;
  /** Why it failed the last time, where that is to be said in its place. */
  problem: string | undefined;
  /** Runs it, one at a time. A failure is told to the person, and answered with undefined. */
  run<T>(work: () => Promise<T>): Promise<T | undefined>;
}

/** Something a person sets off with a button. A failure is told in a toast, or `inPlace`: beside the field. */
export function useAct({ inPlace = false }: { inPlace?: boolean } = {}): Act {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    if (busy) return undefined;
    setBusy(true);
    setProblem(undefined);
    try {
      return await work();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      if (inPlace) setProblem(failure.message);
      else toast(failure.message, "failed");
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, run };
}
