/** Of a test that is retried, only the last result counts. */
import type { TestCase, TestResult } from "@playwright/test/reporter";

export class LastResults {
  readonly #held = new Map<TestCase, TestResult>();

  constructor(private readonly onLast: (test: TestCase, result: TestResult) => void) {}

  /** Hold a result back if a retry can follow it. */
  add(test: TestCase, result: TestResult): void {
    this.#held.delete(test);
    const isFinal = result.status === test.expectedStatus || result.status === "skipped";
    if (isFinal || result.retry >= test.retries) this.onLast(test, result);
    else this.#held.set(test, result);
  }

  /** The run is over, so what is held back was the last: `maxFailures` ends a run before its retries. */
  end(): void {
    for (const [test, result] of this.#held) this.onLast(test, result);
    this.#held.clear();
  }
}
