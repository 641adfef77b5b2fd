/**
 * Retries and rate limits, by the rules of `prshots upload`.
 *
 * A lost connection or a temporary error is retried after a pause that doubles. A rate limit says how long to wait,
 * and everything that goes through the same sender waits. Uploads also wait if the service says that none are left
 * (`pace.ts`). Nothing waits past the command's deadline.
 */
import { setTimeout as pause } from "node:timers/promises";
import { CallError, PrshotsError, QUOTA_REACHED, RateLimitedError, UnreachableError } from "./errors.js";
import { limitMessage, Pace, rateLimitOf } from "./pace.js";
import { type MessageName, message } from "./statements.js";

/** How often to send a request that gets no response or a temporary error. */
export const TRIES = 5;
const FIRST_PAUSE_SECONDS = 0.5;
const LONGEST_PAUSE_SECONDS = 60;
const LONGEST_LIMIT_SECONDS = 15 * 60;
/** How often one request may run into the rate limit. Other jobs share the limit, so it may take a while. */
const LIMITS = 60;
const TIMEOUT_SECONDS = 60;
const MAX_REPLY_BYTES = 32 * 1024 * 1024;
/** A shorter wait for the limit is not worth a line: near the limit, there is one every second. */
const SAID_FROM_SECONDS = 1;
const TEMPORARY = new Set([408, 500, 502, 503, 504, 507]);
/** GitHub's words, and those of its older Enterprise Servers. */
const SECONDARY_LIMIT = /secondary rate limit|abuse detection/i;
const FIRST_OF_A_PROXY = 520;
const LAST_OF_A_PROXY = 530;

export interface Reply {
  url: string;
  status: number;
  headers: Headers;
  text: string;
}

export interface Clock {
  /** Return the Unix time in seconds. */
  now(): number;
  /** Wait. Rejects when the signal aborts. */
  pause(seconds: number, signal: AbortSignal): Promise<unknown>;
}

const SYSTEM_CLOCK: Clock = {
  now: () => Date.now() / 1000,
  pause: (seconds, signal) => pause(seconds * 1000, undefined, { signal }),
};

/** Prints why a request has to wait, and how long, in a sentence. */
export type Say = (words: string) => void;

export interface SendOptions {
  tries?: number;
  /** The service counts it: it waits while no upload is left. */
  isUpload?: boolean;
}

export class Sender {
  #limitedUntil = 0;
  readonly #pace = new Pace();
  readonly #told = new Map<string, number>();

  constructor(
    private readonly stopped: AbortSignal,
    private readonly tries = TRIES,
    private readonly say: Say = () => {},
    private readonly clock = SYSTEM_CLOCK,
    /** When the command must end, as a Unix time in seconds. */
    private readonly deadline = Number.POSITIVE_INFINITY,
  ) {}

  get secondsLeft(): number {
    return this.deadline - this.clock.now();
  }

  /**
   * Return the response, with its body. A temporary error is returned only after the last try. `request` makes the
   * request again for each try. Throws UnreachableError, RateLimitedError, CallError.
   */
  async send(url: string, request: () => RequestInit, options: SendOptions = {}): Promise<Reply> {
    const { tries = this.tries, isUpload = false } = options;
    let tried = 0;
    let limits = 0;
    for (;;) {
      await this.#waitForTheLimit();
      const reply = await (isUpload ? this.#sendPaced(url, request) : this.#sendOnce(url, request()));
      if (!(reply instanceof PrshotsError)) {
        const asked = limitOf(reply, this.clock.now());
        if (asked !== undefined) {
          limits += 1;
          this.#limit(reply, asked, limits);
          continue;
        }
        if (!isTemporary(reply)) return reply;
      }
      tried += 1;
      if (tried < tries) await this.#pauseAfter(url, reply, tried, tries);
      else if (!(reply instanceof PrshotsError)) return reply;
      else if (tried === 1) throw reply;
      else throw new UnreachableError(message("after_tries", { problem: reply.message, tries: tried }));
    }
  }

  /** Send an upload as soon as the service has room for it. */
  async #sendPaced(url: string, request: () => RequestInit): Promise<Reply | UnreachableError> {
    await this.#waitForAPlace();
    try {
      const reply = await this.#sendOnce(url, request());
      const limit = reply instanceof PrshotsError ? undefined : rateLimitOf(reply.headers);
      const isCounted = !(reply instanceof PrshotsError) && reply.status < 300;
      if (limit || isCounted) this.#pace.update(limit, this.clock.now());
      return reply;
    } finally {
      this.#pace.end();
    }
  }

  /** Return the response, or an error if another try may help. */
  async #sendOnce(url: string, request: RequestInit): Promise<Reply | UnreachableError> {
    const seconds = Math.min(TIMEOUT_SECONDS, Math.max(this.secondsLeft, 0)); // past the deadline, it times out
    const signal = AbortSignal.any([this.stopped, AbortSignal.timeout(Math.ceil(seconds * 1000))]);
    try {
      const reply = await fetch(url, { ...request, redirect: "manual", signal });
      return { url, status: reply.status, headers: reply.headers, text: await textOf(reply) };
    } catch (error) {
      if (error instanceof PrshotsError) throw error;
      if (this.stopped.aborted) throw new UnreachableError(message("stopped"));
      const permanent = permanentError(url, error);
      if (permanent) throw permanent;
      return new UnreachableError(noReplyMessage(url, error));
    }
  }

  #limit(reply: Reply, asked: number, limits: number): void {
    const limit = rateLimitOf(reply.headers);
    const { host } = new URL(reply.url);
    const reason = limit ? limitMessage(limit) : message("limits_the_rate", { host });
    if (limits === LIMITS || asked > LONGEST_LIMIT_SECONDS)
      throw new RateLimitedError(message("asks_to_wait", { reason, seconds: Math.round(asked) }));
    const seconds = Math.max(asked, FIRST_PAUSE_SECONDS);
    this.#tellWait(reason, seconds); // first: no request may wait for a limit that outlasts the deadline
    this.#limitedUntil = Math.max(this.#limitedUntil, this.clock.now() + seconds);
  }

  async #waitForTheLimit(): Promise<void> {
    for (let left = this.#left(); left > 0; left = this.#left()) await this.#pause(left);
  }

  #left(): number {
    return this.#limitedUntil - this.clock.now();
  }

  async #waitForAPlace(): Promise<void> {
    for (;;) {
      const seconds = this.#pace.wait(this.clock.now());
      if (seconds === 0) return this.#pace.start();
      if (seconds === undefined) await this.#pace.otherResponse();
      else {
        if (this.#pace.limit && seconds > SAID_FROM_SECONDS)
          this.#tellWait(limitMessage(this.#pace.limit), seconds);
        await this.#pause(seconds);
      }
    }
  }

  /** Pause, twice as long each time. The random part spreads out jobs that failed at the same moment. */
  async #pauseAfter(
    url: string,
    reply: Reply | UnreachableError,
    tried: number,
    tries: number,
  ): Promise<void> {
    const own = FIRST_PAUSE_SECONDS * 2 ** (tried - 1) * (1 + Math.random() / 2);
    const isError = reply instanceof PrshotsError;
    const asked = isError ? 0 : (retryAfter(reply, this.clock.now()) ?? 0);
    const seconds = Math.max(own, Math.min(asked, LONGEST_PAUSE_SECONDS));
    const { host } = new URL(url);
    const reason = isError ? reply.message : message("answered", { who: host, status: reply.status });
    const words = message("retrying", { reason, seconds: Math.ceil(seconds), tried, tries });
    this.#tell(reason, words, seconds);
    await this.#pause(seconds);
  }

  #tellWait(reason: string, seconds: number): void {
    this.#tell(reason, message("waiting", { reason, seconds: Math.ceil(seconds) }), seconds);
  }

  /**
   * Say why there is a pause once, even if many requests run into it, and the same words never again. Throws
   * UnreachableError if the pause would outlast the deadline.
   */
  #tell(reason: string, words: string, seconds: number): void {
    if (seconds > this.secondsLeft) throw new UnreachableError(message("gave_up", { reason }));
    const now = this.clock.now();
    if ([reason, words].some((key) => now < (this.#told.get(key) ?? 0))) return;
    this.#told.set(reason, now + seconds).set(words, Number.POSITIVE_INFINITY);
    this.say(words);
  }

  async #pause(seconds: number): Promise<void> {
    try {
      await this.clock.pause(seconds, this.stopped);
    } catch {
      throw new UnreachableError(message("stopped"));
    }
  }
}

/** Return the body. Throws CallError instead of filling the memory: a small reply may decompress to gigabytes. */
async function textOf(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of reply.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_REPLY_BYTES)
      throw new CallError(message("reply_too_large", { host: new URL(reply.url).host }));
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function isTemporary({ status, text }: Reply): boolean {
  if (text.includes(QUOTA_REACHED)) return false;
  return TEMPORARY.has(status) || (status >= FIRST_OF_A_PROXY && status <= LAST_OF_A_PROXY);
}

/** Return how many seconds to wait before the next request, if this response reports a rate limit. */
export function limitOf(reply: Pick<Reply, "status" | "headers" | "text">, now: number): number | undefined {
  if (reply.status !== 429 && reply.status !== 403) return undefined;
  // Our service always asks to wait for a minute, and says in RateLimit when there is room again.
  const asked = rateLimitOf(reply.headers)?.seconds ?? retryAfter(reply, now);
  if (asked !== undefined) return asked;
  const header = (name: string) =>
    reply.headers.get(`x-ratelimit-${name}`) ?? reply.headers.get(`ratelimit-${name}`) ?? "";
  const reset = header("reset"); // a Unix time
  if (header("remaining") === "0" && /^\d+(\.\d+)?$/.test(reset)) return Math.max(Number(reset) - now, 0) + 1;
  // GitHub's 403 for a secondary rate limit may say nothing else. GitHub's docs ask to wait a minute.
  const isLimit = reply.status === 429 || SECONDARY_LIMIT.test(reply.text);
  return isLimit ? LONGEST_PAUSE_SECONDS : undefined;
}

/** Return the seconds of a Retry-After header, which may also be a date. */
export function retryAfter(reply: Pick<Reply, "headers">, now: number): number | undefined {
  const given = (reply.headers.get("retry-after") ?? "").trim();
  if (/^[0-9]+$/.test(given)) return Number(given);
  const date = /^[a-z]+, .* GMT$/i.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(date / 1000 - now, 0);
}

/** Return what a response says in JSON. Throws CallError when it is something else. */
export function jsonOf(reply: Reply, whose: string): unknown {
  try {
    return reply.text === "" ? null : JSON.parse(reply.text);
  } catch {
    throw new CallError(
      `${whose} answered ${new URL(reply.url).pathname} with ${reply.status} and no JSON: is the address right?`,
    );
  }
}

/** Return the error to report if no other try can help. */
function permanentError(url: string, error: unknown): CallError | undefined {
  const why = causeOf(error);
  const { origin } = new URL(url);
  // fetch names a cause for every network error. Without one it refuses the request, and its message shows the header.
  if (error instanceof TypeError && error.cause === undefined && /header/.test(error.message))
    return new CallError(`${origin} cannot be called: a header has invalid characters`);
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(why))
    return new UnreachableError(
      `${origin} has an untrusted certificate: ${why}. If your own authority issued it, ` +
        "set NODE_EXTRA_CA_CERTS to the file with the authority's certificate",
    );
  if (/WRONG_VERSION_NUMBER/.test(why))
    return new UnreachableError(`${origin} does not speak TLS: does its address begin with http://?`);
  return undefined;
}

const NO_CONNECTION: Partial<Record<string, MessageName>> = {
  ECONNREFUSED: "connection_refused",
  ENOTFOUND: "host_not_found",
  EAI_AGAIN: "host_not_found",
  ETIMEDOUT: "timed_out",
  UND_ERR_CONNECT_TIMEOUT: "timed_out",
  ENETUNREACH: "network_unreachable",
  EHOSTUNREACH: "network_unreachable",
};

/** Return in plain words why a request got no response. */
export function noReplyMessage(url: string, error: unknown): string {
  const { host } = new URL(url);
  const code = causeOf(error);
  const why = NO_CONNECTION[code];
  if (why) return message("cannot_connect", { host, why: message(why) });
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (isLate || /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)) return message("no_answer", { host });
  return message("lost_connection", { host });
}

/** Return why a request got no response. fetch puts the reason into the cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
