/**
 * Sending again what did not arrive, and waiting as long as a limit asks for, by the rules of prshots' own client:
 * a dropped connection or a 5xx is tried again after a pause that doubles; a rate limit says how long to wait, and
 * then everything that goes through this sender waits.
 */
import { setTimeout as pause } from "node:timers/promises";
import { CallError, HopelessError } from "./errors.js";

export const TRIES = 5;
const FIRST_PAUSE_SECONDS = 0.5;
const LONGEST_PAUSE_SECONDS = 60;
const LONGEST_LIMIT_SECONDS = 15 * 60;
/** How often one request may find the limit used up: others share it, so its turn may take a while. */
const LIMITS = 60;
const TIMEOUT_SECONDS = 60;
const TEMPORARY = new Set([
  408,
  500,
  502,
  503,
  504,
  507,
  ...Array.from({ length: 11 }, (_, index) => 520 + index),
]);
/** An untrusted certificate stays so, however often it is looked at. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/;

export interface Reply {
  url: string;
  status: number;
  headers: Headers;
  text: string;
}

export class Sender {
  #limitedUntil = 0;

  constructor(
    private readonly stopped: AbortSignal,
    private readonly tries = TRIES,
  ) {}

  /** Return the reply, read whole; a 5xx only when it stayed one. The request is made anew each time. */
  async send(url: string, request: () => RequestInit): Promise<Reply> {
    let tries = 0;
    let limits = 0;
    for (;;) {
      await this.#limitOver();
      const reply = await this.#sentOnce(url, request(), ++tries);
      if (reply === undefined) {
        await this.#pause(pauseBefore(tries));
        continue;
      }
      const asked = limitOf(reply);
      if (asked !== undefined) {
        tries -= 1;
        limits += 1;
        if (limits === LIMITS || asked > LONGEST_LIMIT_SECONDS)
          throw new HopelessError(
            `${new URL(url).host} limits the rate, and asks for ${Math.round(asked)} s`,
          );
        this.#limitedUntil = Math.max(this.#limitedUntil, Date.now() + asked * 1000);
      } else if (!TEMPORARY.has(reply.status) || tries >= this.tries) {
        return reply;
      } else {
        await this.#pause(
          Math.max(pauseBefore(tries), Math.min(retryAfter(reply) ?? 0, LONGEST_PAUSE_SECONDS)),
        );
      }
    }
  }

  /** Return the reply; nothing when the connection was lost and there is a try left. */
  async #sentOnce(url: string, request: RequestInit, tries: number): Promise<Reply | undefined> {
    const signal = AbortSignal.any([this.stopped, AbortSignal.timeout(TIMEOUT_SECONDS * 1000)]);
    try {
      const reply = await fetch(url, { ...request, redirect: "manual", signal });
      return { url, status: reply.status, headers: reply.headers, text: await reply.text() };
    } catch (error) {
      if (this.stopped.aborted) throw new HopelessError("stopped");
      const why = causeOf(error);
      if (tries < this.tries && !UNTRUSTED.test(why)) return undefined;
      throw new HopelessError(`${new URL(url).origin} cannot be reached: ${why}`);
    }
  }

  async #limitOver(): Promise<void> {
    for (let left = this.#limitedUntil - Date.now(); left > 0; left = this.#limitedUntil - Date.now())
      await this.#pause(left / 1000);
  }

  async #pause(seconds: number): Promise<void> {
    try {
      await pause(seconds * 1000, undefined, { signal: this.stopped });
    } catch {
      throw new HopelessError("stopped");
    }
  }
}

/** Return how long to wait before the next request, if this reply says that there were too many. */
export function limitOf(reply: Pick<Reply, "status" | "headers">): number | undefined {
  if (reply.status !== 429 && reply.status !== 403) return undefined;
  const asked = retryAfter(reply);
  if (asked !== undefined) return asked;
  const header = (name: string) =>
    reply.headers.get(`x-ratelimit-${name}`) ?? reply.headers.get(`ratelimit-${name}`);
  const reset = header("reset"); // when it begins anew, as a Unix time
  if (header("remaining") === "0" && reset !== null && /^\d+$/.test(reset))
    return Math.max(Number(reset) - Date.now() / 1000, 0) + 1;
  return reply.status === 429 ? LONGEST_PAUSE_SECONDS : undefined;
}

/** Return the seconds of a Retry-After, which may also be a date. */
export function retryAfter(reply: Pick<Reply, "headers">): number | undefined {
  const given = (reply.headers.get("retry-after") ?? "").trim();
  if (/^\d+$/.test(given)) return Number(given);
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max((date - Date.now()) / 1000, 0);
}

/** Return what a reply says in JSON. Throws CallError when it says something else. */
export function jsonOf(reply: Reply, whose: string): unknown {
  try {
    return reply.text === "" ? null : JSON.parse(reply.text);
  } catch {
    throw new CallError(`${whose} answered ${new URL(reply.url).pathname} with ${reply.status}, not in JSON`);
  }
}

/** Return a pause that doubles each time, and differs between those who were cut off together. */
function pauseBefore(tries: number): number {
  return FIRST_PAUSE_SECONDS * 2 ** (tries - 1) * (1 + Math.random() / 2);
}

/** Return why a request got no answer: what fetch has to say stands in its cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
