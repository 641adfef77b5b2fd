import { useState } from "preact/hooks";
import { ApiError } from "../lib/api";
import { toast } from "./toast";

interface Action {
  busy: boolean;
  /** Why the last run failed; only with `inPlace`. */
  problem: string | undefined;
  /** Runs the work, one at a time. Shows a failure to the user and resolves to undefined. */
  run<T>(work: () => Promise<T>): Promise<T | undefined>;
}

/** An action behind a button. A failure is shown in a toast or, with `inPlace`, beside the field. */
export function useAction({ inPlace = false }: { inPlace?: boolean } = {}): Action {
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
