/** The routes of the public API that a run needs. */
import { CallError, InvalidInputError, UnauthorizedError } from "./errors.js";
import type { Marker } from "./forges/forge.js";
import type { ContentType } from "./formats.js";
import type { TokenSource } from "./keyless.js";
import { jsonOf, type Reply, type Sender } from "./sending.js";

type Json = Record<string, unknown>;

const HEADERS = { "User-Agent": "prshots-playwright" };

export interface Shot {
  image: Buffer;
  contentType: ContentType;
  name: string;
  viewport: string;
  /** light, dark or empty. */
  theme: string;
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

  async upload(shot: Shot, prNumber: number, commitSha: string): Promise<void> {
    const image = new Blob([new Uint8Array(shot.image)], { type: shot.contentType });
    await this.#call("/v1/upload", () => {
      const form = new FormData();
      const fields = {
        name: shot.name,
        pr_number: String(prNumber),
        commit_sha: commitSha,
        viewport: shot.viewport,
        ...(shot.theme && { theme: shot.theme }),
      };
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append("image", image, "image");
      return { method: "POST", body: form };
    });
  }

  /** Return the pull request's comment in at most this many bytes of markdown. */
  async comment(prNumber: number, limit: number, marker: Marker): Promise<CommentText> {
    const asked = new URLSearchParams({ pr_number: String(prNumber), limit: String(limit), marker });
    const { markdown, count } = await this.#call(`/v1/comment?${asked}`, () => ({}));
    if (typeof markdown !== "string" || typeof count !== "number")
      throw new CallError(
        `${this.url} answered without markdown and count: is it a prshots API, and not older than this reporter?`,
      );
    return { markdown, count };
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

  async #call(path: string, request: () => RequestInit): Promise<Json> {
    const token = await this.tokens.token();
    let reply = await this.#sent(path, request, token);
    if (reply.status === 401) {
      const other = await this.tokens.renewed(token);
      if (other) reply = await this.#sent(path, request, other);
    }
    return this.#value(reply);
  }

  #sent(path: string, request: () => RequestInit, token: string): Promise<Reply> {
    const headers = { ...HEADERS, Authorization: `Bearer ${token}` };
    return this.sender.send(this.url + path, () => ({ ...request(), headers }));
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
    if (status === 200) return value;
    const words = `${this.url} answered ${status}: ${value.error ?? "no reason given"}`;
    throw [400, 413, 415].includes(status) ? new InvalidInputError(words) : new CallError(words);
  }
}
