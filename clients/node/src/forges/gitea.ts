/** Gitea and Forgejo: the comment belongs to the issue behind the pull request. */

import {
  type Access,
  type Comment,
  type CommitStatus,
  type Forge,
  type Merge,
  NO_PROXY,
  statusFields,
} from "./forge.js";
import { ForgeApi, textAt } from "./forge_api.js";
import {
  type AnswersLookups,
  type ForgePullRequest,
  mergeOf,
  pullRequestAt,
  withHead,
} from "./pull_requests.js";

const NEEDS =
  "Gitea and Forgejo take the token of Actions where it may write, or an access token with the scopes write:issue " +
  "and read:user, and write:repository for commit statuses";

export class Gitea implements Forge, AnswersLookups {
  readonly label = "Gitea";
  readonly maxCommentBytes = 1_000_000; // Gitea has no limit
  readonly markerStyle = "html";
  readonly #api: ForgeApi;
  readonly #repository: string;
  readonly #issues: string;

  constructor({ api, repository, token, sender }: Access) {
    this.#api = new ForgeApi(this.label, api, { Authorization: `token ${token}` }, sender, NEEDS);
    this.#repository = repository;
    this.#issues = `/repos/${repository}/issues`;
  }

  /** The Actions token can ask. Guessing isn't safe: writers can change other people's comments. */
  async me(): Promise<string | undefined> {
    return textAt(await this.#api.call("GET", "/user"), "login") || undefined;
  }

  async comments(prNumber: number): Promise<Comment[]> {
    const entries = await this.#api.entries(`${this.#issues}/${prNumber}/comments`, {});
    return entries.map((entry) => this.#comment(entry));
  }

  async create(prNumber: number, body: string): Promise<Comment> {
    const path = `${this.#issues}/${prNumber}/comments`;
    return this.#comment(await this.#api.call("POST", path, { json: { body } }));
  }

  async update(_prNumber: number, id: string, body: string): Promise<void> {
    await this.#api.call("PATCH", `${this.#issues}/comments/${id}`, { json: { body } });
  }

  delete(_prNumber: number, id: string): Promise<void> {
    return this.#api.remove(`${this.#issues}/comments/${id}`);
  }

  setStatus(commitSha: string, status: CommitStatus): Promise<void> {
    const path = `/repos/${this.#repository}/statuses/${commitSha}`;
    return this.#api.postStatus(path, statusFields(status), status.context);
  }

  /** As an issue, the pull request has the same scope as its comments. */
  async description(prNumber: number): Promise<string> {
    return textAt(await this.#api.call("GET", `${this.#issues}/${prNumber}`), "body");
  }

  async setDescription(prNumber: number, body: string): Promise<void> {
    await this.#api.call("PATCH", `${this.#issues}/${prNumber}`, { json: { body } });
  }

  /** Gitea has no list by commit. */
  async pullRequestsWithHead(headSha: string): Promise<ForgePullRequest[]> {
    const path = `/repos/${this.#repository}/pulls`;
    const entries = await this.#api.entries(path, { state: "open", limit: "50" });
    return withHead(entries, this.#repository, headSha);
  }

  pullRequest(prNumber: number): Promise<ForgePullRequest> {
    return pullRequestAt(this.#api, this.#repository, prNumber);
  }

  mergeOf(prNumber: number): Promise<Merge | undefined> {
    return mergeOf(this.#api, this.#repository, prNumber);
  }

  proxiedImages = NO_PROXY.proxiedImages;
  purge = NO_PROXY.purge;

  #comment(entry: unknown): Comment {
    return this.#api.checked({
      id: textAt(entry, "id"),
      body: textAt(entry, "body"),
      author: textAt(entry, "user", "login"),
      url: textAt(entry, "html_url"),
    });
  }
}
