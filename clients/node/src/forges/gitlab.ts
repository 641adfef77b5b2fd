/** GitLab, .com and self-managed: the comment is a note on the merge request. */

import { ForgeError, ForgeRefusedError } from "../errors.js";
import { message } from "../statements.js";
import {
  type Access,
  type Comment,
  type CommitStatus,
  type Forge,
  type Merge,
  mergeAt,
  NO_PROXY,
  statusFields,
} from "./forge.js";
import { ForgeApi, type Json, textAt } from "./forge_api.js";

const NEEDS =
  "GitLab takes a project, group or personal access token with the scope api and at least the role Reporter, or " +
  "Developer for commit statuses; the job's own CI_JOB_TOKEN may write neither notes nor commit statuses";

/** How many times to start a status. Another job with our token may start one at the same time. */
const TRIES = 5;

export class GitLab implements Forge {
  readonly label = "GitLab";
  readonly maxCommentBytes = 1_000_000;
  readonly markerStyle = "html";
  readonly #api: ForgeApi;
  readonly #repository: string;
  readonly #mergeRequests: string;
  readonly #statuses: string;
  readonly #pages = new Map<number, string>();

  constructor({ api, repository, token, sender }: Access) {
    // Bearer rather than PRIVATE-TOKEN: it also takes OAuth tokens.
    this.#api = new ForgeApi(this.label, api, { Authorization: `Bearer ${token}` }, sender, NEEDS);
    this.#repository = repository;
    this.#mergeRequests = `/projects/${encodeURIComponent(repository)}/merge_requests`;
    this.#statuses = `/projects/${encodeURIComponent(repository)}/statuses`;
  }

  async me(): Promise<string | undefined> {
    return textAt(await this.#api.call("GET", "/user"), "username") || undefined;
  }

  async comments(prNumber: number): Promise<Comment[]> {
    const asked = { sort: "asc", order_by: "created_at", per_page: "100" };
    const notes = await this.#api.entries(this.#notes(prNumber), asked);
    const people = notes.filter((note) => !note.system); // GitLab's own notes: who assigned whom, and so on
    return people.length ? this.#comments(prNumber, people) : [];
  }

  async create(prNumber: number, body: string): Promise<Comment> {
    await this.#pageOf(prNumber); // first, so that nothing can fail after the note is written
    const made = await this.#api.call("POST", this.#notes(prNumber), { json: { body } });
    const [comment] = await this.#comments(prNumber, [made as Json]);
    return comment as Comment;
  }

  async update(prNumber: number, id: string, body: string): Promise<void> {
    await this.#api.call("PUT", `${this.#notes(prNumber)}/${id}`, { json: { body } });
  }

  delete(prNumber: number, id: string): Promise<void> {
    return this.#api.remove(`${this.#notes(prNumber)}/${id}`);
  }

  async setStatus(commitSha: string, status: CommitStatus): Promise<void> {
    const path = `${this.#statuses}/${commitSha}`;
    const fields = { ...statusFields(status), state: status.state === "failure" ? "failed" : status.state };
    for (let triesLeft = TRIES - 1; ; triesLeft--) {
      try {
        return await this.#api.postStatus(path, fields, status.context);
      } catch (error) {
        if (!(error instanceof ForgeError)) throw error;
        if (!triesLeft || !error.message.includes("Cannot transition"))
          throw this.#explain(error, status.context);
      }
      // GitLab can't change a pending status, not even its description. End it, and start another.
      await this.#api.postStatus(path, { ...fields, state: "canceled" }, status.context);
    }
  }

  async description(prNumber: number): Promise<string> {
    return textAt(await this.#api.call("GET", `${this.#mergeRequests}/${prNumber}`), "description");
  }

  async setDescription(prNumber: number, description: string): Promise<void> {
    await this.#api.call("PUT", `${this.#mergeRequests}/${prNumber}`, { json: { description } });
  }

  #explain(error: ForgeError, name: string): ForgeError {
    if (error.message.includes("References for commit"))
      return new ForgeRefusedError(message("gitlab_has_no_pipeline", { project: this.#repository }));
    if (error.message.includes("already been taken"))
      return new ForgeError(message("gitlab_job_has_status_name", { name }));
    return error;
  }

  async mergeOf(prNumber: number): Promise<Merge | undefined> {
    const found = await this.#api.call("GET", `${this.#mergeRequests}/${prNumber}`);
    if (textAt(found, "state") !== "merged") return undefined;
    // A fast-forward has neither a merge commit nor, without squashing, another commit than the head.
    const names = ["merge_commit_sha", "squash_commit_sha", "sha"];
    const sha = names.map((name) => textAt(found, name)).find(Boolean) ?? "";
    return mergeAt(sha, textAt(found, "target_branch"));
  }

  proxiedImages = NO_PROXY.proxiedImages;
  purge = NO_PROXY.purge;

  #notes(prNumber: number): string {
    return `${this.#mergeRequests}/${prNumber}/notes`;
  }

  async #comments(prNumber: number, notes: Json[]): Promise<Comment[]> {
    const page = await this.#pageOf(prNumber);
    return notes.map((note) =>
      this.#api.checked({
        id: textAt(note, "id"),
        body: textAt(note, "body"),
        author: textAt(note, "author", "username"),
        url: `${page}#note_${textAt(note, "id")}`,
      }),
    );
  }

  /** Return the merge request's address for people, which no note has. */
  async #pageOf(prNumber: number): Promise<string> {
    const known = this.#pages.get(prNumber);
    if (known !== undefined) return known;
    const page = textAt(await this.#api.call("GET", `${this.#mergeRequests}/${prNumber}`), "web_url");
    this.#pages.set(prNumber, page);
    return page;
  }
}
