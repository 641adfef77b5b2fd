/** One repository at one forge: how our comment is found, written and changed there. */
import { ADAPTERS, type Adapter, type Asking, type Comment, type Json, text } from "./adapters.js";
import { CallError, GoneError, RefusedError } from "./errors.js";
import type { Job } from "./jobs.js";
import { jsonOf, type Reply, type Sender } from "./sending.js";

const MAX_PAGES = 1000;

/** Calls one forge's API, by the root of its address. */
class ForgeApi implements Asking {
  constructor(
    readonly adapter: Adapter,
    private readonly url: string,
    private readonly token: string,
    private readonly sender: Sender,
    private readonly refusedBecause: string,
  ) {}

  async call(method: string, path: string, json?: Json): Promise<unknown> {
    return this.#value(await this.#reply(method, this.url + path, json));
  }

  /** Return all entries of a list. Of a link to more, only what it asks for is taken: our token stays here. */
  async list(path: string): Promise<Json[]> {
    const found: Json[] = [];
    let query: string | undefined = "?per_page=100&pagelen=100&sort=asc&order_by=created_at";
    for (let pages = 0; query !== undefined && pages < MAX_PAGES; pages++) {
      const reply = await this.#reply("GET", this.url + path + query);
      const value = this.#value(reply);
      const page = Array.isArray(value) ? value : (value as Json | null)?.values;
      if (!Array.isArray(page))
        throw new CallError(`${this.adapter.label} answered ${path} with something else than a list`);
      found.push(...(page as Json[]));
      const link =
        /<([^>]*)>\s*;\s*rel="?next"?/.exec(reply.headers.get("link") ?? "")?.[1] ?? (value as Json).next;
      query = page.length && typeof link === "string" ? new URL(link, this.url).search : undefined;
    }
    return found;
  }

  async user(key: string): Promise<string | undefined> {
    const reply = await this.#reply("GET", `${this.url}/user`);
    if ([401, 403, 404].includes(reply.status)) return undefined; // not everybody's token may ask
    return text(this.#value(reply), key) || undefined;
  }

  async graphql(query: string): Promise<{ data?: unknown } | undefined> {
    const reply = await this.#reply("POST", `${this.url.replace(/\/v3$/, "")}/graphql`, { query });
    return reply.status === 200 ? (jsonOf(reply, this.adapter.label) as { data?: unknown }) : undefined;
  }

  #reply(method: string, url: string, json?: Json): Promise<Reply> {
    const headers = {
      "User-Agent": "prshots",
      Accept: "application/json",
      ...this.adapter.headers(this.token),
      ...(json && { "Content-Type": "application/json" }),
    };
    return this.sender.send(url, () => ({ method, headers, ...(json && { body: JSON.stringify(json) }) }));
  }

  #value(reply: Reply): unknown {
    const { label, needs } = this.adapter;
    const { pathname } = new URL(reply.url);
    if (reply.status === 404 || reply.status === 410)
      throw new GoneError(`${label} has nothing at ${pathname}, or the token may not see it`);
    if (reply.status === 401)
      throw new CallError(`${label} refused the token: it is wrong, has expired, or was revoked. ${needs}`);
    if (reply.status === 403)
      throw new RefusedError(
        `${label} does not let this token do it: ${saidBy(reply)}. ${this.refusedBecause || needs}`,
      );
    if (reply.status < 200 || reply.status >= 300)
      throw new CallError(`${label} answered ${reply.status}: ${saidBy(reply)}`);
    return jsonOf(reply, label);
  }
}

/** One repository at one forge. */
export class Forge {
  #page: string | undefined;

  constructor(
    private readonly adapter: Adapter,
    private readonly api: ForgeApi,
    private readonly repository: string,
  ) {}

  get label(): string {
    return this.adapter.label;
  }

  get maxCharacters(): number {
    return this.adapter.maxCharacters;
  }

  get onlyAuthorsChange(): boolean {
    return this.adapter.onlyAuthorsChange;
  }

  marker(pr: number): string {
    return this.adapter.marker(pr);
  }

  written(markdown: string, pr: number): string {
    return this.adapter.written(markdown, pr);
  }

  me(): Promise<string | undefined> {
    return this.adapter.me(this.api);
  }

  /** Return all comments on a pull request, the oldest first. */
  async comments(pr: number): Promise<Comment[]> {
    const entries = await this.api.list(this.adapter.comments(this.repository, pr));
    return entries.map(this.adapter.read).filter((comment) => comment !== undefined);
  }

  async create(pr: number, body: string): Promise<Comment> {
    const path = this.adapter.comments(this.repository, pr);
    const made = this.adapter.read((await this.api.call("POST", path, this.adapter.content(body))) as Json);
    if (!made) throw new CallError(`${this.label} answered with something else than a comment`);
    return made;
  }

  async update(pr: number, id: string, body: string): Promise<void> {
    await this.api.call(
      this.adapter.change,
      this.adapter.comment(this.repository, pr, id),
      this.adapter.content(body),
    );
  }

  /** Remove a comment; one that has gone already is no error. */
  async remove(pr: number, id: string): Promise<void> {
    try {
      await this.api.call("DELETE", this.adapter.comment(this.repository, pr, id));
    } catch (error) {
      if (!(error instanceof GoneError)) throw error;
    }
  }

  /** Return where people see a comment. */
  async addressOf(pr: number, { id, url }: Comment): Promise<string> {
    if (url || !this.adapter.pull) return url;
    this.#page ??= text(await this.api.call("GET", this.adapter.pull(this.repository, pr)), "web_url");
    return `${this.#page}#note_${id}`;
  }
}

/** Return the repository that the job works on. Throws CallError when something is not known. */
export function forgeOf(job: Job, token: string, sender: Sender): Forge {
  if (!job.forge)
    throw new CallError("which forge? Set forge or PRSHOTS_FORGE, one of github, gitlab, gitea, bitbucket");
  const adapter = ADAPTERS[job.forge];
  const url = (job.forgeApi ?? adapter.publicApi).replace(/\/+$/, "");
  if (!job.repository)
    throw new CallError(`which repository of ${adapter.label}? Set PRSHOTS_REPOSITORY, such as owner/name`);
  if (!URL.canParse(url))
    throw new CallError(`where is ${adapter.label}? Set PRSHOTS_FORGE_URL to the root of its API`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new CallError(
      `no token to comment on ${adapter.label} with: set PRSHOTS_FORGE_TOKEN; ` +
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is GitHub's way to write it
        "in GitHub's and Gitea's Actions, env: GITHUB_TOKEN: ${{ github.token }} in the step",
    );
  const api = new ForgeApi(adapter, url, token, sender, job.fromFork ? FROM_FORK : "");
  return new Forge(adapter, api, job.repository);
}

const FROM_FORK =
  "The pull request comes from a fork, whose jobs may only read: post the comment from a workflow_run, " +
  "or give a bot's token as PRSHOTS_FORGE_TOKEN";

/** Return the forge's own words for what went wrong, short. */
function saidBy(reply: Reply): string {
  let value: unknown;
  try {
    value = JSON.parse(reply.text);
  } catch {
    return "it does not say why";
  }
  const words = text(value, "message") || text(value, "error_description") || text(value, "error", "message");
  return (words || text(value, "error") || "it does not say why").slice(0, 300);
}
