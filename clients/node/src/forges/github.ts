/** GitHub, .com and Enterprise: the comment belongs to the issue behind the pull request. */
import { ForgeError, NotFoundError } from "../errors.js";
import { message } from "../statements.js";
import {
  type Access,
  type Comment,
  type CommitStatus,
  type Forge,
  type Merge,
  statusFields,
} from "./forge.js";
import { errorMessage, ForgeApi, parseJson, textAt } from "./forge_api.js";
import {
  type AnswersLookups,
  type ForgePullRequest,
  mergeOf,
  pullRequestAt,
  withHead,
} from "./pull_requests.js";

const NEEDS =
  "In GitHub Actions the job needs `permissions: pull-requests: write` for the comment and `statuses: write` for the " +
  "commit status; elsewhere, use a token that may write pull requests and commit statuses of this repository";

const MAX_DESCRIPTION = 140;

const PURGE_SECONDS = 5;

export class GitHub implements Forge, AnswersLookups {
  readonly label = "GitHub";
  readonly maxCommentBytes = 65_536;
  readonly markerStyle = "html";
  readonly #api: ForgeApi;
  readonly #graphql: string;
  readonly #repository: string;
  readonly #issues: string;

  constructor({ api, repository, token, sender }: Access) {
    const headers = {
      Authorization: `Bearer ${token}`,
      Accept: "application/vnd.github+json",
      "X-GitHub-Api-Version": "2022-11-28",
    };
    this.#api = new ForgeApi(this.label, api, headers, sender, NEEDS);
    this.#graphql = `${api.replace(/\/v3$/, "")}/graphql`; // on Enterprise one level above the REST API
    this.#repository = repository;
    this.#issues = `/repos/${repository}/issues`;
  }

  /** Only GraphQL gives an app or a workflow its login. */
  async me(): Promise<string> {
    const query = { query: "query { viewer { login } }" };
    const viewer = parseJson((await this.#api.reply("POST", this.#graphql, { json: query })).text);
    const login = textAt(viewer, "data", "viewer", "login");
    return login || textAt(parseJson((await this.#api.reply("GET", "/user")).text), "login");
  }

  async comments(prNumber: number): Promise<Comment[]> {
    const path = `${this.#issues}/${prNumber}/comments`;
    const entries = await this.#inPullRequest(prNumber, () => this.#api.entries(path, { per_page: "100" }));
    return entries.map((entry) => this.#comment(entry));
  }

  async create(prNumber: number, body: string): Promise<Comment> {
    const path = `${this.#issues}/${prNumber}/comments`;
    return this.#comment(await this.#inPullRequest(prNumber, () => this.#sendOnce("POST", path, body)));
  }

  async update(_prNumber: number, id: string, body: string): Promise<void> {
    await this.#sendOnce("PATCH", `${this.#issues}/comments/${id}`, body);
  }

  delete(_prNumber: number, id: string): Promise<void> {
    return this.#api.remove(`${this.#issues}/comments/${id}`);
  }

  setStatus(commitSha: string, status: CommitStatus): Promise<void> {
    const path = `/repos/${this.#repository}/statuses/${commitSha}`;
    return this.#api.postStatus(path, statusFields(status, MAX_DESCRIPTION), status.context);
  }

  async description(prNumber: number): Promise<string> {
    return textAt(await this.#api.call("GET", `/repos/${this.#repository}/pulls/${prNumber}`), "body");
  }

  async setDescription(prNumber: number, body: string): Promise<void> {
    await this.#api.call("PATCH", `/repos/${this.#repository}/pulls/${prNumber}`, { json: { body } });
  }

  async pullRequestsWithHead(headSha: string): Promise<ForgePullRequest[]> {
    const path = `/repos/${this.#repository}/commits/${headSha}/pulls`;
    const entries = await this.#api.entries(path, { per_page: "100" });
    return withHead(entries, this.#repository, headSha);
  }

  pullRequest(prNumber: number): Promise<ForgePullRequest> {
    return pullRequestAt(this.#api, this.#repository, prNumber);
  }

  mergeOf(prNumber: number): Promise<Merge | undefined> {
    return mergeOf(this.#api, this.#repository, prNumber);
  }

  async proxiedImages(id: string): Promise<string[]> {
    const headers = { Accept: "application/vnd.github.full+json" };
    const rendered = await this.#api.call("GET", `${this.#issues}/comments/${id}`, { headers });
    return proxiedIn(textAt(rendered, "body_html"));
  }

  /** Ask the image proxy, without our token: the proxy is not the API. */
  async purge(url: string): Promise<boolean> {
    const signal = AbortSignal.timeout(PURGE_SECONDS * 1000);
    try {
      return (await fetch(url, { method: "PURGE", redirect: "manual", signal })).ok;
    } catch {
      return false;
    }
  }

  async #sendOnce(method: string, path: string, body: string): Promise<unknown> {
    const reply = await this.#api.reply(method, path, { json: { body } });
    if (reply.status === 403 && errorMessage(reply).includes("locked"))
      throw new ForgeError(`GitHub takes no comment: ${errorMessage(reply)} Unlock the conversation`);
    if (reply.status === 422)
      throw new ForgeError(message("forge_rejects_comment", { forge: this.label, why: errorMessage(reply) }));
    return this.#api.value(reply);
  }

  async #inPullRequest<T>(prNumber: number, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new ForgeError(
        `GitHub shows this token no pull request ${prNumber} in ${this.#repository}: it does not exist, or the ` +
          "repository is private and the token has no access",
      );
    }
  }

  #comment(entry: unknown): Comment {
    return this.#api.checked({
      id: textAt(entry, "id"),
      body: textAt(entry, "body"),
      author: textAt(entry, "user", "login"),
      url: textAt(entry, "html_url"),
      byStranger: isByStranger(entry),
    });
  }
}

function isByStranger(entry: unknown): boolean {
  const isBot = textAt(entry, "user", "type") === "Bot" || textAt(entry, "user", "login").endsWith("[bot]");
  return !isBot && !["", "OWNER", "MEMBER", "COLLABORATOR"].includes(textAt(entry, "author_association"));
}

/** Return the addresses of the images that the proxy serves. They also name the original. */
function proxiedIn(html: string): string[] {
  const tags = html.match(/<img\b(?:"[^"]*"|'[^']*'|[^>"'])*>/gi) ?? [];
  return tags
    .filter((tag) => attribute(tag, "data-canonical-src"))
    .map((tag) => attribute(tag, "src"))
    .filter((address) => /^https?:\/\//.test(address));
}

function attribute(tag: string, name: string): string {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "i").exec(tag);
  const entities: Record<string, string> = { amp: "&", quot: '"', "#39": "'", lt: "<", gt: ">" };
  return (found?.[1] ?? found?.[2] ?? "").replace(
    /&(amp|quot|#39|lt|gt);/g,
    (_, entity) => entities[entity] ?? "",
  );
}
