/** The routes of the public API that a run needs. */
import { createHash } from "node:crypto";
import { CallError, InvalidInputError, ServiceTooOldError, UnauthorizedError } from "./errors.js";
import type { Marker } from "./forges/forge.js";
import type { ContentType } from "./formats.js";
import type { TokenSource } from "./keyless.js";
import { jsonOf, type Reply, type Sender } from "./sending.js";

type Json = Record<string, unknown>;

const HEADERS = { "User-Agent": "prshots-playwright" };

/** Routes that an older service does not have. Without them, uploads and comments work as before. */
const NEW_ROUTES = /^\/v1\/(baseline|compare|pull|staged)\b/;

/** What the comment shows. */
export const VIEWS = ["all", "latest", "changes"] as const;
export type View = (typeof VIEWS)[number];

export type State = "compared" | "no_baseline" | "incomplete" | "failed" | "running";

export interface Comparison {
  state: State;
  branch: string;
  commitSha: string;
  baseCommit: string;
  counts: Record<string, number>;
  /** How many shots were compared with the before that was uploaded with them. */
  pairs: number;
  dashboardUrl: string;
}

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

/** How many staged images are the pull request's now, how many stay staged, and why. */
export interface Moved {
  moved: number;
  kept: number;
  reason: string;
}

export interface CommentText {
  markdown: string;
  /** How many screenshots the pull request has. */
  count: number;
}

export class Service {
  #maxImageBytes: Promise<number> | undefined;

  constructor(
    private readonly url: string,
    private readonly tokens: TokenSource,
    private readonly sender: Sender,
  ) {}

  /** Upload an image of a pull request, with its before if it has one. */
  async upload(shot: Shot, prNumber: number, commitSha: string): Promise<void> {
    await this.#sendImage(
      "/v1/upload",
      shot,
      { pr_number: String(prNumber), commit_sha: commitSha },
      shot.before,
    );
  }

  /** Upload an image as a branch's baseline. Throws ServiceTooOldError. */
  async baseline(shot: Shot, branch: string, commitSha: string): Promise<void> {
    await this.#sendImage("/v1/baseline", shot, { branch, commit_sha: commitSha });
  }

  /** Return whether the service has these bytes for this shot. Then it has recorded them for this commit. */
  async isKnownBaseline(shot: Shot, branch: string, commitSha: string): Promise<boolean> {
    const { name, viewport, theme, image } = shot;
    const sha256 = createHash("sha256").update(image).digest("hex");
    const shots = [{ name, viewport, theme, sha256 }];
    const { missing } = await this.#tell("/v1/baseline/known", { branch, commit_sha: commitSha, shots });
    if (!Array.isArray(missing)) throw this.#unlike("missing");
    return missing.length === 0;
  }

  /** Say that a commit's baselines are all there. Throws ServiceTooOldError. */
  async completeBaselines(branch: string, commitSha: string): Promise<void> {
    await this.#tell("/v1/baseline/complete", { branch, commit_sha: commitSha });
  }

  /**
   * Compare a pull request's images with the baselines of a branch, and return what is known so far. `commits` are the
   * base's, newest first. With `complete`, a shot that is missing was removed. Throws ServiceTooOldError.
   */
  async compare(
    prNumber: number,
    commitSha: string,
    base: { branch: string; commits: string[] },
    complete: boolean,
  ): Promise<Comparison> {
    const { branch, commits } = base;
    const asked = { pr_number: prNumber, commit_sha: commitSha, branch, commits, complete };
    return this.#comparisonIn(await this.#tell("/v1/compare", asked));
  }

  /** Return the latest comparison of a pull request; nothing without one, or if the service is too old. */
  async comparison(prNumber: number): Promise<Comparison | undefined> {
    try {
      return this.#comparisonIn(await this.#call(`/v1/compare?pr_number=${prNumber}`, () => ({})));
    } catch (error) {
      if (error instanceof ServiceTooOldError) return undefined;
      throw error;
    }
  }

  /** Tell the service about a pull request, and return its page on the dashboard. Throws ServiceTooOldError. */
  async describe(prNumber: number, about: Record<string, string>): Promise<string> {
    const { dashboard_url: url } = await this.#tell("/v1/pull", { pr_number: prNumber, ...about });
    return typeof url === "string" ? url : "";
  }

  /** Return the pull request's comment in at most this many bytes of markdown. */
  async comment(
    prNumber: number,
    limit: number,
    marker: Marker,
    view: View = "all", // the default, also of a service that has no views
  ): Promise<CommentText> {
    const asked = new URLSearchParams({ pr_number: String(prNumber), limit: String(limit), marker });
    if (view !== "all") asked.set("view", view);
    const { markdown, count } = await this.#call(`/v1/comment?${asked}`, () => ({}));
    if (typeof markdown !== "string" || typeof count !== "number") throw this.#unlike("markdown and count");
    return { markdown, count };
  }

  /**
   * Move what is staged for a branch to its pull request. `repository` is the owner/name that has the branch. `fromFork`:
   * it is not the project's own. Throws ServiceTooOldError.
   */
  async moveStaged(branch: string, prNumber: number, repository: string, fromFork: boolean): Promise<Moved> {
    const asked = { branch, pr_number: prNumber, repository, from_fork: fromFork };
    const { moved, kept, reason } = await this.#tell("/v1/staged/move", asked);
    if (typeof moved !== "number" || typeof kept !== "number") throw this.#unlike("moved and kept");
    return { moved, kept, reason: typeof reason === "string" ? reason : "" };
  }

  /** Return the size that is too large for an image; Infinity when the service does not say: then its 413 decides. */
  maxImageBytes(): Promise<number> {
    this.#maxImageBytes ??= this.#askForMaxImageBytes();
    return this.#maxImageBytes;
  }

  async #askForMaxImageBytes(): Promise<number> {
    try {
      const reply = await this.sender.send(`${this.url}/v1/limits`, () => ({ headers: HEADERS }), 1);
      const bytes =
        reply.status === 200 ? (jsonOf(reply, this.url) as Json | null)?.max_image_bytes : undefined;
      return typeof bytes === "number" && bytes > 0 ? bytes : Number.POSITIVE_INFINITY;
    } catch {
      return Number.POSITIVE_INFINITY; // the upload itself reports what is wrong
    }
  }

  async #sendImage(
    path: string,
    shot: Shot,
    where: Record<string, string>,
    beforeOfPair?: Picture,
  ): Promise<void> {
    const image = blobOf(shot);
    const before = beforeOfPair && blobOf(beforeOfPair);
    const { name, viewport, theme } = shot;
    const fields = { name, viewport, ...(theme && { theme }), ...where };
    await this.#call(path, () => {
      const form = new FormData();
      for (const [field, value] of Object.entries(fields)) form.append(field, value);
      form.append("image", image, "image");
      if (before) form.append("before", before, "before");
      return { method: "POST", body: form };
    });
  }

  #tell(path: string, asked: Json): Promise<Json> {
    const headers = { "Content-Type": "application/json" };
    return this.#call(path, () => ({ method: "POST", body: JSON.stringify(asked), headers }));
  }

  #comparisonIn(value: Json): Comparison {
    const { state, branch, base_commit: baseCommit, commit_sha: commitSha, counts } = value;
    const isOne = typeof state === "string" && typeof branch === "string" && typeof commitSha === "string";
    if (!isOne || typeof counts !== "object" || counts === null) throw this.#unlike("state and counts");
    return {
      state: state as State,
      branch,
      commitSha,
      baseCommit: typeof baseCommit === "string" ? baseCommit : "",
      counts: counts as Record<string, number>,
      pairs: typeof value.pairs === "number" ? value.pairs : 0,
      dashboardUrl: typeof value.dashboard_url === "string" ? value.dashboard_url : "",
    };
  }

  #unlike(missing: string): CallError {
    return new CallError(
      `${this.url} answered without ${missing}: is it a prshots API, and not older than this reporter?`,
    );
  }

  async #call(path: string, request: () => RequestInit): Promise<Json> {
    const token = await this.tokens.token();
    let reply = await this.#sent(path, request, token);
    if (reply.status === 401) {
      const other = await this.tokens.renewed(token);
      if (other) reply = await this.#sent(path, request, other);
    }
    if (NEW_ROUTES.test(path) && [404, 405].includes(reply.status))
      throw new ServiceTooOldError(
        `${this.url} answered ${reply.status} to ${path}: the service is too old ${path.startsWith("/v1/staged") ? "to stage screenshots" : "to compare"}. Update it`,
      );
    return this.#value(reply);
  }

  #sent(path: string, request: () => RequestInit, token: string): Promise<Reply> {
    const own = { ...HEADERS, Authorization: `Bearer ${token}` };
    return this.sender.send(this.url + path, () => {
      const { headers, ...rest } = request();
      return { ...rest, headers: { ...(headers as Record<string, string>), ...own } };
    });
  }

  #value(reply: Reply): Json {
    const { status } = reply;
    if (status === 401)
      throw new UnauthorizedError(
        `${this.url} refused the token: it is wrong, revoked, or for another service`,
      );
    if (status >= 300 && status < 400)
      throw new CallError(
        `${this.url} redirects to ${reply.headers.get("location")}: set url (PRSHOTS_URL) to that address`,
      );
    const value = jsonOf(reply, this.url) as Json | null;
    if (value === null || typeof value !== "object" || status === 404)
      throw new CallError(`${this.url} answered ${status}: is it the address of a prshots API?`);
    if (status === 200 || status === 202) return value;
    const words = `${this.url} answered ${status}: ${value.error ?? "no reason given"}`;
    throw [400, 413, 415].includes(status) ? new InvalidInputError(words) : new CallError(words);
  }
}

function blobOf({ image, contentType }: Picture): Blob {
  return new Blob([new Uint8Array(image)], { type: contentType });
}
