/** Pace uploads by what the service says about its rate limit, so that it does not have to refuse any. */
import { message } from "./statements.js";
import { formatNumber } from "./wording.js";

const WINDOW_SECONDS = 60;
const ITEM = /(?:^|,)\s*"(uploads|project)"((?:\s*;\s*[a-z]+=(?:[0-9]+|"[^"]*"|:[^:]*:))*)\s*(?=,|$)/g;
const NUMBER = /;\s*([a-z]+)=([0-9]{1,15})(?=\s*(?:;|$))/g;

/** How many uploads a project may make in a minute, how many are left, and in how many seconds more will be left. */
export interface RateLimit {
  policy: "uploads" | "project";
  quota: number;
  remaining: number;
  seconds: number;
}

/**
 * Return what a response's `RateLimit` and `RateLimit-Policy` fields say (draft-ietf-httpapi-ratelimit-headers-11).
 * Nothing without a limit of a prshots service, or if it is malformed.
 */
export function rateLimitOf(headers: Headers): RateLimit | undefined {
  const policies = items(headers.get("ratelimit-policy"));
  for (const [policy, { r, t }] of items(headers.get("ratelimit"))) {
    const { q, w } = policies.get(policy) ?? {};
    if (r !== undefined && t !== undefined && q !== undefined && w === WINDOW_SECONDS)
      return { policy, quota: q, remaining: r, seconds: t };
  }
  return undefined;
}

/** Return the numbers of each of our policies in a list of Structured Fields. */
function items(field: string | null): Map<RateLimit["policy"], Partial<Record<string, number>>> {
  const numbersIn = (parameters: string) =>
    Object.fromEntries([...parameters.matchAll(NUMBER)].map(([, key, value]) => [key, Number(value)]));
  const found = [...(field ?? "").matchAll(ITEM)];
  return new Map(
    found.map(([, name, parameters = ""]) => [name as RateLimit["policy"], numbersIn(parameters)]),
  );
}

export function limitMessage({ policy, quota }: RateLimit): string {
  const whose = policy === "project" ? message("projects_own_limit") : "PRSHOTS_UPLOADS_PER_MINUTE";
  return message("limit_of_uploads", { quota: formatNumber(quota), whose });
}

/**
 * How many uploads may be sent now.
 *
 * An upload on its way may be counted already or not. So there is room for another only if more are left than are on
 * their way. At the limit, one upload at a time finds out whether there is room again.
 */
export class Pace {
  limit: RateLimit | undefined;
  #until = 0;
  #onTheirWay = 0;
  #waiting: (() => void)[] = [];

  /** Return the seconds until the next upload may be sent. Nothing: first another one needs its response. */
  wait(now: number): number | undefined {
    if (!this.limit || this.limit.remaining > this.#onTheirWay) return 0;
    return this.#onTheirWay ? undefined : Math.max(0, this.#until - now);
  }

  /** Wait until another upload has its response. */
  otherResponse(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  start(): void {
    this.#onTheirWay += 1;
  }

  end(): void {
    this.#onTheirWay -= 1;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /**
   * Take note of a response's limit. Nothing: the service does not count uploads now.
   *
   * Responses may come out of order. Until more uploads are left, the lowest number holds.
   */
  update(limit: RateLimit | undefined, now: number): void {
    const holds = limit && this.limit && limit.remaining > this.limit.remaining && now < this.#until;
    if (holds) return;
    this.limit = limit;
    this.#until = now + (limit?.seconds ?? 0);
  }
}
