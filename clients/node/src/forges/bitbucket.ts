/** Bitbucket Cloud. It shows HTML as text, so the service writes the comment without any. */

import { createHash } from "node:crypto";
import { ForgeRefusedError, NotFoundError } from "../errors.js";
import { type Access, type Comment, type CommitStatus, type Forge, NO_PROXY, statusFields } from "./forge.js";
import { ForgeApi, type Json, type Paging, textAt } from "./forge_api.js";

const NEEDS =
  "Bitbucket takes a repository, project or workspace access token with the scope pullrequest:write, or as EMAIL:TOKEN " +
  "an API token with read:user:bitbucket, read:pullrequest:bitbucket and write:pullrequest:bitbucket (write does not " +
  "include read); for commit statuses, it also needs repository or read:repository:bitbucket, and only the token that " +
  "created a status can change it";

const STATES = { success: "SUCCESSFUL", pending: "INPROGRESS", failure: "FAILED" };

/** The longest key of a commit status. */
const MAX_KEY = 40;

/** Bitbucket names the next page in the list itself. */
const PAGING: Paging = {
  page: (value) => (value as Json | null)?.values,
  next: (_reply, value) => textAt(value, "next"),
};

export class Bitbucket implements Forge {
  readonly label = "Bitbucket";
  readonly maxCommentBytes = 32_768;
  readonly markerStyle = "link";
  readonly #api: ForgeApi;
  readonly #repository: string;
  readonly #pullRequests: string;
  #me = "";
  #hasAsked = false;

  constructor({ api, repository, token, sender }: Access) {
    this.#api = new ForgeApi(this.label, api, { Authorization: credentials(token) }, sender, NEEDS);
    this.#repository = repository;
    this.#pullRequests = `/repositories/${repository}/pullrequests`;
  }

  /**
   * Return our account; undefined for an access token, which belongs to no account that we can ask for. Then an attempt
   * shows which comment is ours: only its author may change it.
   */
  async me(): Promise<string | undefined> {
    if (!this.#me && !this.#hasAsked) {
      this.#hasAsked = true;
      const reply = await this.#api.reply("GET", "/user");
      if (reply.status !== 401 && reply.status !== 403) this.#me = textAt(this.#api.value(reply), "uuid");
    }
    return this.#me || undefined;
  }

  async comments(prNumber: number): Promise<Comment[]> {
    const entries = await this.#api.entries(this.#comments(prNumber), { pagelen: "100" }, PAGING);
    return entries.filter((entry) => !entry.deleted && !entry.inline).map((entry) => this.#comment(entry));
  }

  async create(prNumber: number, body: string): Promise<Comment> {
    const made = this.#comment(await this.#api.call("POST", this.#comments(prNumber), content(body)));
    this.#me ||= made.author;
    return made;
  }

  async update(prNumber: number, id: string, body: string): Promise<void> {
    try {
      const changed = await this.#api.call("PUT", `${this.#comments(prNumber)}/${id}`, content(body));
      this.#me ||= this.#comment(changed).author;
    } catch (error) {
      if (!(error instanceof ForgeRefusedError) || (await this.me()) !== undefined) throw error;
      throw new NotFoundError(`${this.label} says that comment ${id} is not ours`);
    }
  }

  delete(prNumber: number, id: string): Promise<void> {
    return this.#api.remove(`${this.#comments(prNumber)}/${id}`);
  }

  async setStatus(commitSha: string, status: CommitStatus): Promise<void> {
    const { description } = statusFields(status);
    const fields = {
      key: keyOf(status.context),
      name: status.context,
      state: STATES[status.state],
      ...(description && { description }),
      url: status.url || `https://bitbucket.org/${this.#repository}/commits/${commitSha}`, // required
    };
    const path = `/repositories/${this.#repository}/commit/${commitSha}/statuses/build`;
    await this.#api.postStatus(path, fields, status.context);
  }

  async description(prNumber: number): Promise<string> {
    return textAt(await this.#api.call("GET", `${this.#pullRequests}/${prNumber}`), "description");
  }

  /** Change the text of an open pull request: Bitbucket doesn't change a closed one. */
  async setDescription(prNumber: number, description: string): Promise<void> {
    const path = `${this.#pullRequests}/${prNumber}`;
    const title = textAt(await this.#api.call("GET", path), "title"); // required
    await this.#api.call("PUT", path, { json: { title, description } });
  }

  /** Bitbucket abbreviates the commit, so it can't be used. */
  async mergeOf(): Promise<undefined> {
    return undefined;
  }

  proxiedImages = NO_PROXY.proxiedImages;
  purge = NO_PROXY.purge;

  #comments(prNumber: number): string {
    return `${this.#pullRequests}/${prNumber}/comments`;
  }

  #comment(entry: unknown): Comment {
    return this.#api.checked({
      id: textAt(entry, "id"),
      body: textAt(entry, "content", "raw"),
      author: textAt(entry, "user", "uuid"),
      url: textAt(entry, "links", "html", "href"),
    });
  }
}

/** Return the key of a commit status. A name that is too long for one ends with a hash. */
function keyOf(name: string): string {
  const letters = [...name];
  if (letters.length <= MAX_KEY) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${letters.slice(0, MAX_KEY - 9).join("")}-${hash}`;
}

/** Return the header's value: an access token as it is, a person's token together with the person's name. */
function credentials(token: string): string {
  return token.includes(":") ? `Basic ${Buffer.from(token).toString("base64")}` : `Bearer ${token}`;
}

function content(body: string): { json: Json } {
  return { json: { content: { raw: body } } };
}
