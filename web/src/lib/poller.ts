/**
 * Fetches data, and fetches it again every few seconds while a visible page shows it.
 * While fetching fails, it keeps the old data and retries.
 */

import { ApiError } from "./api";
import { Signal } from "./signal";
import type { LatestComparison } from "./types";

type Connection = "online" | "offline" | "api-down";

/** For the banner: the result of the last call of any poller. */
export const connection = new Signal<Connection>("online");

export const EVERY_MS = 3_000;
/** A reply with hundreds of pairs is large: poll a finished comparison less often, and after each upload. */
export const comparisonPace = (data: Pick<LatestComparison, "comparison"> | undefined): number =>
  data?.comparison && data.comparison.state !== "running" ? 5 * EVERY_MS : EVERY_MS;

const SLOWEST_MS = 10_000;

const shown = new Set<Poller>();

export abstract class Poller {
  error: ApiError | undefined;
  loading = true;

  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;

  /** Fetch the data; with `everything`, all pages at once. True if it changed. */
  protected abstract update(everything: boolean): Promise<boolean>;

  /** Drop the data: it was deleted, or the user lost access. */
  protected abstract forget(): void;

  /** How long to wait until the next poll, unless polling fails. */
  protected get every(): number {
    return EVERY_MS;
  }

  get watched(): boolean {
    return this.#listeners.size > 0;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      shown.add(this);
      void this.poll();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      shown.delete(this);
      clearTimeout(this.#timer);
    };
  }

  poll(): Promise<void> {
    return this.run(() => this.update(false));
  }

  async refresh(): Promise<void> {
    await this.#running; // a running request may have started before the caller's change
    await this.run(() => this.update(true));
  }

  /** Wait until nothing is being fetched. */
  protected async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** One fetch at a time. A second caller waits for the running one. */
  protected run(fetching: () => Promise<boolean>): Promise<void> {
    this.#running ??= this.#attempt(fetching).finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
    return this.#running;
  }

  protected changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  async #attempt(fetching: () => Promise<boolean>): Promise<void> {
    clearTimeout(this.#timer);
    const before = this.error?.message;
    const waited = this.loading;
    let changed = false;
    try {
      changed = await fetching();
      this.error = undefined;
      this.#failures = 0;
      connection.value = "online";
    } catch (failure) {
      this.error = asApiError(failure);
      this.#failures += 1;
      if (this.error.status === 404 || this.error.status === 403) this.forget();
      connection.value = judge(this.error);
    }
    this.loading = false;
    if (changed || waited || this.error?.message !== before) this.changed();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (!shown.has(this) || document.hidden) return;
    this.#timer = setTimeout(() => void this.poll(), pause(this.#failures, this.every));
  }
}

/** Usually 3 s; while failing 6 s, then 10 s. */
export function pause(failures: number, every = EVERY_MS): number {
  return failures === 0 ? every : Math.min(EVERY_MS * 2 ** Math.min(failures, 4), SLOWEST_MS);
}

function judge(error: ApiError): Connection {
  if (error.status !== 0 && error.status !== 502 && error.status !== 504) return "online";
  return navigator.onLine ? "api-down" : "offline";
}

function asApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  return new ApiError(0, failure instanceof Error ? failure.message : String(failure));
}

/** Fetch everything on screen again, after the user changed something. */
export const refreshShown = (): void => {
  for (const poller of shown) void poller.refresh();
};

function wakeAll(): void {
  if (document.hidden) return;
  for (const poller of shown) void poller.poll();
}

if (typeof document !== "undefined") {
  document.addEventListener("visibilitychange", wakeAll);
  window.addEventListener("online", wakeAll);
  window.addEventListener("offline", () => {
    connection.value = "offline";
  });
}
