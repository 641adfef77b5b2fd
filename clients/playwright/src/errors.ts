/** Something could not be done; the message says what, and what to do, in words for people. */
export class CallError extends Error {
  override name = "CallError";
}

/** Nothing else of the kind can succeed either: there is no service there, or it takes none of our tokens. */
export class HopelessError extends CallError {
  override name = "HopelessError";
}

/** What was asked for is not there, or no longer. */
export class GoneError extends CallError {
  override name = "GoneError";
}

/** Our token may not do that. */
export class RefusedError extends CallError {
  override name = "RefusedError";
}

/** Return what went wrong, for a line of the summary. */
export function saidBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
