/** Bitbucket Cloud. It shows HTML as text, so the service writes the comment without any. */
import { ForgeRefusedError, NotFoundError } from "../errors.js";
import {
  type Access,
  type Comment,
  type CommitStatus,
  type Forge,
  NO_PROXY,
  STATUS_NAME,
  statusFields,
} from "./forge.js";
import { ForgeApi, type Json, type Paging, textAt } from "./forge_api.js";

const NEEDS =
  "Bitbucket takes a repository, project or workspace access token with the scope pullrequest:write, or as EMAIL:TOKEN " +
  "an API token with read:user:bitbucket, read:pullrequest:bitbucket and write:pullrequest:bitbucket (write does not " +
  "include read); for commit statuses, it also needs repository or read:repository:bitbucket, and only the token that " +
  "created a status can change it";

const STATES = { success: "SUCCESSFUL", pending: "INPROGRESS", failure: "FAILED" };

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
    await this.#api.postStatus(`/repositories/${this.#repository}/commit/${commitSha}/statuses/build`, {
      key: STATUS_NAME,
      name: STATUS_NAME,
      state: STATES[status.state],
      ...(description && { description }),
      url: status.url || `https://bitbucket.org/${this.#repository}/commits/${commitSha}`, // required
    });
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

/** Return the header's value: an access token as it is, a person's token together with the person's name. */
function credentials(token: string): string {
  return token.includes(":") ? `Basic ${Buffer.from(token).toString("base64")}` : `Bearer ${token}`;
}

function content(body: string): { json: Json } {
  return { json: { content: { raw: body } } };
}
