/** When to give up on the uploads that are left. */
import {
  CallError,
  messageOf,
  RateLimitedError,
  UnauthorizedError,
  UnreachableError,
  WrongAddressError,
} from "./errors.js";

/** After this many failed requests in a row, the rest is not uploaded. */
const FAILURES_IN_A_ROW = 3;
/** Errors that every other upload would hit as well. */
const HOPELESS = [UnauthorizedError, UnreachableError, RateLimitedError, WrongAddressError];

/** Counts the failures of a run, and knows when no other upload is worth a try. */
export class Patience {
  /** Why it is over; empty while it is not. */
  reason = "";
  #failures = 0;

  get isOver(): boolean {
    return this.reason !== "";
  }

  recordSuccess(): void {
    this.#failures = 0;
  }

  /** Count an error. Return whether every other upload would fail for the same reason. */
  recordFailure(error: unknown): boolean {
    if (error instanceof CallError) this.#failures += 1;
    const isHopeless = HOPELESS.some((kind) => error instanceof kind);
    if (isHopeless || this.#failures >= FAILURES_IN_A_ROW) this.reason ||= messageOf(error);
    return isHopeless;
  }
}
