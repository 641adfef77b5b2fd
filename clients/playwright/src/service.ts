/** The two routes of prshots' public API that a run needs. */
import { CallError, HopelessError } from "./errors.js";
import type { TokenSource } from "./keyless.js";
import type { ContentType } from "./pixels.js";
import { jsonOf, type Reply, type Sender } from "./sending.js";

export interface Shot {
  image: Buffer;
  contentType: ContentType;
  name: string;
  viewport: string;
}

export class Service {
  constructor(
    private readonly url: string,
    private readonly tokens: TokenSource,
    private readonly sender: Sender,
  ) {}

  async upload(shot: Shot, prNumber: number, commit: string): Promise<void> {
    const image = new Blob([new Uint8Array(shot.image)], { type: shot.contentType });
    await this.#call("/v1/upload", () => {
      const form = new FormData();
      const fields = {
        name: shot.name,
        pr_number: String(prNumber),
        commit_sha: commit,
        viewport: shot.viewport,
      };
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append("image", image, "image");
      return { method: "POST", body: form };
    });
  }

  /** Return the pull request's comment, in markdown. */
  async comment(prNumber: number): Promise<string> {
    const { markdown } = await this.#call(`/v1/comment?pr_number=${prNumber}`, () => ({}));
    if (typeof markdown !== "string") throw new CallError(`${this.url} answered without a comment`);
    return markdown;
  }

  async #call(path: string, request: () => RequestInit): Promise<Record<string, unknown>> {
    const token = await this.tokens.token();
    let reply = await this.#sent(path, request, token);
    if (reply.status === 401) {
      const other = await this.tokens.renewed(token);
      if (other) reply = await this.#sent(path, request, other);
    }
    return this.#value(reply);
  }

  #sent(path: string, request: () => RequestInit, token: string): Promise<Reply> {
    const headers = { Authorization: `Bearer ${token}`, "User-Agent": "prshots-playwright" };
    return this.sender.send(this.url + path, () => ({ ...request(), headers }));
  }

  #value(reply: Reply): Record<string, unknown> {
    if (reply.status === 401)
      throw new HopelessError(`${this.url} refused the token: it is wrong, revoked, or of another service`);
    if (reply.status >= 300 && reply.status < 400)
      throw new HopelessError(
        `${this.url} has moved to ${reply.headers.get("location")}: set that as PRSHOTS_URL`,
      );
    const value = jsonOf(reply, this.url) as { error?: unknown } | null;
    if (value === null || typeof value !== "object") throw new CallError(`${this.url} is no prshots API`);
    if (reply.status !== 200)
      throw new CallError(`${this.url} answered ${reply.status}: ${value.error ?? "no reason"}`);
    return value as Record<string, unknown>;
  }
}
