/** The routes of the public API that a run needs. */

import { createHash, randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import * as validate from "./ci/validate.js";
import { CONTRACT } from "./contract.js";
import {
  CallError,
  EXPIRE_FAILED,
  InvalidInputError,
  NotFoundError,
  PayloadTooLargeError,
  QUOTA_REACHED,
  RefusedInputError,
  UnauthorizedError,
  WrongAddressError,
} from "./errors.js";
import type { Marker } from "./forges/forge.js";
import type { ContentType } from "./formats.js";
import { refuseImageAddress, refuseRedirect } from "./image_address.js";
import type { TokenSource } from "./keyless.js";
import {
  type CommentText,
  type Comparison,
  comparedShot,
  type Expired,
  gateIn,
  type HashedShot,
  isCounts,
  isState,
  type Json,
  type Moved,
  objectIn,
  type PullGate,
  type Uploaded,
} from "./replies.js";
import { jsonOf, type Reply, type Sender } from "./sender.js";
import type { Title } from "./shot_names.js";
import { message } from "./statements.js";
import type { Target } from "./target.js";

const HEADERS = { "User-Agent": "prshots-node" };

/** GitHub's limit. Counting UTF-8 bytes satisfies every forge. */
export const MAX_COMMENT_BYTES = 65_536;
/** The shortest comment that the service writes. */
export const MIN_COMMENT_BYTES = 1024;
/** How many shots one request may ask about. */
const MAX_KNOWN_SHOTS = 1000;
const MAX_REASON_CHARACTERS = 300;
const IMAGE_ID = /^[0-9a-f]{32}$/;

/** Routes that answer 404 if they don't find what the request names. Elsewhere, the address is wrong. */
const FINDING_ROUTES = /^\/v1\/(images\/|compare\?|pull$)/;

/** Routes that the service's rate limit counts. */
const UPLOADS = new Set(["/v1/upload", "/v1/baseline", "/v1/staged"]);

/** Errors after which the client uploads every shot, because the service cannot be asked which ones it has. */
const NOT_ASKED = [WrongAddressError, RefusedInputError, PayloadTooLargeError];

/** What the comment shows. */
export const VIEWS = CONTRACT.options.view.choices;
export type View = (typeof VIEWS)[number];

export interface Picture {
  image: Buffer;
  contentType: ContentType;
}

export interface Shot extends Picture {
  name: string;
  viewport: string;
  /** light, dark or empty. */
  theme: string;
  /** What the image showed before. A pull request shows the two as a pair. */
  before?: Picture;
}

export class Service {
  /** How many seconds are left for the command. */
  get secondsLeft(): number {
    return this.sender.secondsLeft;
  }

  #maxImageBytes: Promise<number> | undefined;

  constructor(
    readonly url: string,
    private readonly tokens: TokenSource,
    private readonly sender: Sender,
  ) {}

  /** Upload an image: to a pull request, with its before image if it has one, or as a branch's baseline. */
  async send(shot: Shot, target: Target): Promise<Uploaded> {
    const { path, where } = placeOf(target);
    const image = blobOf(shot);
    const before = shot.before && target.prNumber !== undefined ? blobOf(shot.before) : undefined;
    const { name, viewport, theme } = shot;
    const fields = { name, viewport, ...(theme && { theme }), ...where };
    // Every attempt has the same key. So if a response is lost, the service doesn't store the image twice.
    const headers = { "Idempotency-Key": randomUUID() };
    const reply = await this.#call(path, () => {
      const form = new FormData();
      for (const [field, value] of Object.entries(fields)) form.append(field, String(value));
      form.append("image", image, "image");
      if (before) form.append("before", before, "before");
      return { method: "POST", body: form, headers };
    });
    const { id, view_url: viewUrl, markdown } = reply;
    if (typeof id !== "string" || typeof viewUrl !== "string" || typeof markdown !== "string")
      throw this.#unexpectedReply("id, view_url and markdown");
    return { id, viewUrl, markdown };
  }

  /** Return whether the service has these bytes for this shot. From then on, it has them for this commit. */
  async isKnown({ name, viewport, theme, image }: Shot, target: Target): Promise<boolean> {
    const sha256 = createHash("sha256").update(image).digest("hex");
    return !(await this.missing([{ name, viewport, theme, sha256 }], target)).length;
  }

  /** Give the commit the images whose bytes the service has, and return the other shots, which have to be sent. */
  async missing(shots: HashedShot[], target: Target): Promise<Title[]> {
    const { path, where } = placeOf(target);
    const found: Title[] = [];
    for (let start = 0; start < shots.length; start += MAX_KNOWN_SHOTS) {
      const asked = shots.slice(start, start + MAX_KNOWN_SHOTS);
      try {
        const { missing } = await this.#tell(`${path}/known`, { ...where, shots: asked });
        if (!Array.isArray(missing) || !missing.every((shot) => shot instanceof Object))
          throw this.#unexpectedReply("missing");
        found.push(...missing);
      } catch (error) {
        // An older service does not have this route. Otherwise, the uploads report what is wrong.
        if (!NOT_ASKED.some((kind) => error instanceof kind)) throw error;
        found.push(...asked);
      }
    }
    return found;
  }

  /** Say that a commit's baselines are all there. */
  async completeBaselines(branch: string, commitSha: string): Promise<void> {
    await this.#tell("/v1/baseline/complete", { branch, commit_sha: commitSha });
  }

  /**
   * Compare a pull request's images with the baselines of a branch, and return what is known so far. `commits` are the
   * base's, newest first. With `complete`, a shot that is missing was removed. Decisions about `queuedPulls`, the pull
   * requests ahead in a merge queue, also count.
   */
  async compare(
    prNumber: number,
    commitSha: string,
    base: { branch: string; commits: string[] },
    complete: boolean,
    queuedPulls: number[] = [],
  ): Promise<Comparison> {
    const { branch, commits } = base;
    const queued = queuedPulls.length ? { queued_pulls: queuedPulls } : {};
    const asked = { pr_number: prNumber, commit_sha: commitSha, branch, commits, complete, ...queued };
    return this.#comparisonIn(await this.#tell("/v1/compare", asked));
  }

  /** Return the latest comparison of a pull request; nothing without one. */
  async comparison(prNumber: number): Promise<Comparison | undefined> {
    try {
      return this.#comparisonIn(await this.#call(`/v1/compare?pr_number=${prNumber}`, () => ({})));
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** Return the gate of the newest comparison, and the commit statuses to post. */
  async gate(prNumber: number, noBaseline: "block" | "pass" = "block"): Promise<PullGate> {
    return this.#gateIn(
      await this.#call(`/v1/gate?pr_number=${prNumber}&no_baseline=${noBaseline}`, () => ({})),
    );
  }

  /** Record that a commit's run takes no screenshots, and return the gate. */
  async skip(prNumber: number, commitSha: string, reason: string): Promise<PullGate> {
    const asked = { pr_number: prNumber, commit_sha: commitSha, skip: reason };
    return this.#gateIn(await this.#tell("/v1/gate", asked));
  }

  /** Tell the service about a pull request, and return its page on the dashboard. Throws NotFoundError without images. */
  async describe(prNumber: number, about: Record<string, string>): Promise<string> {
    const { dashboard_url: url } = await this.#tell("/v1/pull", { pr_number: prNumber, ...about });
    return validate.address(url);
  }

  /** Return the pull request's comment in at most this many bytes of markdown. */
  async comment(
    prNumber: number,
    limit = MAX_COMMENT_BYTES,
    marker: Marker = "html",
    view: View = "all",
  ): Promise<CommentText> {
    const asked = new URLSearchParams({ pr_number: String(prNumber), limit: String(limit), marker });
    if (view !== "all") asked.set("view", view);
    const reply = await this.#call(`/v1/comment?${asked}`, () => ({}));
    const { markdown, heading, count, listed, omitted, siblings } = reply;
    if (typeof markdown !== "string" || typeof count !== "number")
      throw this.#unexpectedReply("markdown and count");
    return {
      markdown,
      heading: typeof heading === "string" ? heading : "",
      count,
      listed: Number(listed ?? 0),
      omitted: Number(omitted ?? 0),
      siblings: Number(siblings ?? 0),
    };
  }

  /** Say that the pull request is closed, and as which commit of a branch it was merged, if it was. */
  async expire(prNumber: number, merge: { mergedAs: string; branch: string }): Promise<Expired> {
    const { mergedAs, branch } = merge;
    const merged = mergedAs && branch ? { merged_as: mergedAs, branch } : {};
    const reply = await this.#tell("/v1/expire", { pr_number: prNumber, ...merged });
    const { policy, marked, expired, baselines } = reply;
    if (typeof policy !== "string" || typeof marked !== "number" || typeof expired !== "number")
      throw this.#unexpectedReply("policy, marked and expired");
    return { prNumber, policy, marked, expired, baselines: Number(baselines ?? 0) };
  }

  /**
   * Move what is staged for a branch to its pull request. `repository` is the owner/name that has the branch. `fromFork`:
   * it is not the project's own.
   */
  async moveStaged(branch: string, prNumber: number, repository: string, fromFork: boolean): Promise<Moved> {
    const asked = { branch, pr_number: prNumber, repository, from_fork: fromFork };
    const { moved, kept, reason } = await this.#tell("/v1/staged/move", asked);
    if (typeof moved !== "number" || typeof kept !== "number") throw this.#unexpectedReply("moved and kept");
    return { moved, kept, reason: typeof reason === "string" ? reason : "" };
  }

  /** Delete one image now. Throws NotFoundError. */
  async delete(id: string): Promise<void> {
    if (!IMAGE_ID.test(id)) throw new InvalidInputError(message("invalid_image_id"));
    await this.#call(`/v1/images/${id}`, () => ({ method: "DELETE" }));
  }

  /** Return the size that is too large for an image; Infinity when the service does not say: then its 413 decides. */
  maxImageBytes(): Promise<number> {
    this.#maxImageBytes ??= this.#askForMaxImageBytes();
    return this.#maxImageBytes;
  }

  /** Throws ImageAddressError. */
  async #askForMaxImageBytes(): Promise<number> {
    const once = { tries: 1 };
    const asking = this.sender.send(`${this.url}/v1/limits`, () => ({ headers: HEADERS }), once);
    const reply = await asking.catch(() => undefined); // the upload itself reports what is wrong
    if (reply) refuseImageAddress(this.url, reply);
    if (reply?.status !== 200) return Number.POSITIVE_INFINITY;
    try {
      const bytes = (jsonOf(reply, this.url) as Json | null)?.max_image_bytes;
      return typeof bytes === "number" && bytes > 0 ? bytes : Number.POSITIVE_INFINITY;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  #tell(path: string, asked: Json): Promise<Json> {
    const headers = { "Content-Type": "application/json" };
    return this.#call(path, () => ({ method: "POST", body: JSON.stringify(asked), headers }));
  }

  #comparisonIn(value: Json): Comparison {
    const { state, branch, base_commit: baseCommit, commit_sha: commitSha, counts } = value;
    if (typeof branch !== "string" || typeof commitSha !== "string" || !isState(state) || !isCounts(counts))
      throw this.#unexpectedReply("state and counts");
    const shots = Array.isArray(value.shots) ? value.shots.map(comparedShot) : [];
    if (!shots.every((shot) => shot !== undefined)) throw this.#unexpectedReply("a verdict for each shot");
    return {
      state,
      branch,
      commitSha,
      baseCommit: typeof baseCommit === "string" ? baseCommit : "",
      counts,
      pairs: typeof value.pairs === "number" ? value.pairs : 0,
      shots,
      dashboardUrl: validate.address(value.dashboard_url),
      json: value,
    };
  }

  #gateIn(value: Json): PullGate {
    const gate = gateIn(value);
    if (!gate) throw this.#unexpectedReply("a gate and its statuses");
    return gate;
  }

  #unexpectedReply(missing: string): CallError {
    return new CallError(
      `${this.url} answered without ${missing}: is it a prshots API, and not older than this client?`,
    );
  }

  async #call(path: string, request: () => RequestInit): Promise<Json> {
    const token = await this.tokens.token();
    let reply = await this.#sendOnce(path, request, token);
    if (reply.status === 401) {
      const other = await this.tokens.renew(token);
      if (other) reply = await this.#sendOnce(path, request, other);
    }
    refuseImageAddress(this.url, reply);
    return this.#value(reply, path);
  }

  #sendOnce(path: string, request: () => RequestInit, token: string): Promise<Reply> {
    const own = { ...HEADERS, Authorization: `Bearer ${token}` };
    const signed = () => {
      const { headers, ...rest } = request();
      return { ...rest, headers: { ...(headers as Record<string, string>), ...own } };
    };
    return this.sender.send(this.url + path, signed, { isUpload: UPLOADS.has(path) });
  }

  #value(reply: Reply, path: string): Json {
    const { status } = reply;
    refuseRedirect(this.url, reply);
    const value = objectIn(reply.text);
    if (status === 413 && !value)
      throw new RefusedInputError(message("proxy_refused_size", { url: this.url }));
    if (status === 404 && value && FINDING_ROUTES.test(path))
      throw new NotFoundError(message("answered_why", { who: this.url, status, why: "not found" }));
    if (!value || status === 404 || status === 405) {
      const phrase = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
      const answered = message("answered", { who: this.url, status: phrase });
      if (status >= 500) throw new CallError(answered);
      throw new WrongAddressError(message("is_this_prshots", { answered }));
    }
    if (status === 200 || status === 202) return value;
    if (status === 401) throw new UnauthorizedError(message("wrong_token", { url: this.url }));
    if (value.error === EXPIRE_FAILED) throw new CallError(EXPIRE_FAILED);
    if (value.error === QUOTA_REACHED) throw new CallError(message("quota_reached", { who: this.url }));
    const why = String(value.error ?? STATUS_CODES[status]).slice(0, MAX_REASON_CHARACTERS);
    const words = message("answered_why", { who: this.url, status, why });
    if (status === 413) throw new PayloadTooLargeError(words);
    throw [400, 415].includes(status) ? new RefusedInputError(words) : new CallError(words);
  }
}

/** Return the route that takes a target's images, and the fields that name the target. */
function placeOf({ prNumber, baselineOf, commitSha }: Target): { path: string; where: Json } {
  return prNumber === undefined
    ? { path: "/v1/baseline", where: { branch: baselineOf, commit_sha: commitSha } }
    : { path: "/v1/upload", where: { pr_number: prNumber, commit_sha: commitSha } };
}

function blobOf({ image, contentType }: Picture): Blob {
  return new Blob([new Uint8Array(image)], { type: contentType });
}
