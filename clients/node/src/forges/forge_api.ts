/** JSON over HTTP with a forge: one way to call it, to page through lists, and to report errors. */
import { ForgeError, ForgeRefusedError, NotFoundError } from "../errors.js";
import type { Reply, Sender } from "../sender.js";
import { called, message } from "../statements.js";
import type { Comment } from "./forge.js";

const MAX_PAGES = 1000;
const MAX_REDIRECTS = 20;

export type Json = Record<string, unknown>;
export interface Content {
  json?: Json;
  headers?: Record<string, string>;
  params?: Record<string, string> | URLSearchParams;
}

/** A forge's API, by its root address. `needs` says which token it takes. */
export class ForgeApi {
  constructor(
    readonly label: string,
    private readonly url: string,
    private readonly headers: Record<string, string>,
    private readonly sender: Sender,
    private readonly needs: string,
  ) {}

  /** Return the response with any status. A repository may have moved, so redirects are followed. */
  async reply(method: string, path: string, content: Content = {}): Promise<Reply> {
    let [asked, json, verb] = [this.#address(path, content.params), content.json, method];
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const reply = await this.#sendOnce(verb, asked, json, content.headers);
      const target = reply.status >= 300 && reply.status < 400 ? reply.headers.get("location") : null;
      if (target === null) return reply;
      asked = this.#sameOrigin(new URL(target, asked));
      // As browsers do: only 307 and 308 repeat the request with its body.
      if (reply.status === 303 || reply.status === 302 || (reply.status === 301 && verb === "POST"))
        [verb, json] = ["GET", undefined];
    }
    throw new ForgeError(`${this.label} redirects ${path} more than ${MAX_REDIRECTS} times`);
  }

  /** Return the response's JSON. Throws NotFoundError, ForgeRefusedError, ForgeError. */
  async call(method: string, path: string, content: Content = {}): Promise<unknown> {
    return this.value(await this.reply(method, path, content));
  }

  value(reply: Reply): unknown {
    const { pathname } = new URL(reply.url);
    if (reply.status === 404 || reply.status === 410)
      throw new NotFoundError(`${this.label} has nothing at ${pathname}, or the token has no access to it`);
    if (reply.status < 200 || reply.status >= 300) throw this.#error(reply);
    if (reply.text === "") return null;
    const value = parseJson(reply.text);
    if (value === undefined)
      throw new ForgeError(message("forge_sent_no_json", { forge: this.label, path: pathname }));
    return value;
  }

  /** Set a commit's status. A 404 may mean that the token lacks a permission. */
  async postStatus(path: string, json: Json, context: string): Promise<void> {
    const reply = await this.reply("POST", path, { json });
    const { label: forge, needs } = this;
    const why = errorMessage(reply);
    if (reply.status === 400 || reply.status === 422)
      throw new ForgeError(message("forge_rejects_status", { forge, why }));
    if (reply.status === 404) {
      const { pathname } = new URL(reply.url);
      throw new ForgeRefusedError(message("forge_has_no_commit", { forge, path: pathname, why, needs }));
    }
    if (!Object.values(this.value(reply) ?? {}).includes(context)) throw this.#unlike("commit status");
  }

  #error(reply: Reply): ForgeError {
    const { label: forge, needs } = this;
    const { status } = reply;
    const why = errorMessage(reply);
    if (status === 401) return new ForgeError(message("forge_refused_token", { forge, why, needs }));
    if (status === 403) return new ForgeRefusedError(message("forge_does_not_allow", { forge, why, needs }));
    return new ForgeError(message("answered_why", { who: forge, status, why }));
  }

  /**
   * Return all entries of a list. `next` finds the address of the next page. Only its query is used, because a forge
   * behind a proxy may not know its own address.
   */
  async entries(
    path: string,
    params: Record<string, string>,
    { next, page: entriesOf }: Paging = LINKED,
  ): Promise<Json[]> {
    const found: Json[] = [];
    let asked: Record<string, string> | URLSearchParams = params;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const reply = await this.reply("GET", path, { params: asked });
      const value = this.value(reply);
      const page = entriesOf(value);
      if (!Array.isArray(page) || !page.every((entry) => typeof entry === "object" && entry !== null))
        throw new ForgeError(message("forge_sent_no_list", { forge: this.label, path }));
      found.push(...(page as Json[]));
      const following = next(reply, value);
      if (!following) return found; // an empty page may not be the last: GitLab leaves out what we may not see
      asked = new URL(following, this.url).searchParams;
    }
    throw new ForgeError(`${this.label} has more than ${MAX_PAGES} pages of comments`);
  }

  async remove(path: string): Promise<void> {
    try {
      await this.call("DELETE", path);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Return the comment. Throws ForgeError if it has no id: then this is not the forge. */
  checked(comment: Comment): Comment {
    if (!comment.id) throw this.#unlike("comment");
    return comment;
  }

  #unlike(what: string): ForgeError {
    return new ForgeError(
      `${this.label} answered with something other than a ${what}: is this the address of ${this.label}?`,
    );
  }

  #sendOnce(method: string, url: string, json: Json | undefined, more: Content["headers"]): Promise<Reply> {
    const headers = {
      "User-Agent": "prshots",
      Accept: "application/json",
      ...this.headers,
      ...more,
      ...(json && { "Content-Type": "application/json" }),
    };
    return this.sender.send(url, () => ({ method, headers, ...(json && { body: JSON.stringify(json) }) }));
  }

  /** Never send our token to another address, even if the forge links or redirects there. */
  #sameOrigin(target: URL): string {
    const here = new URL(this.url).origin;
    if (target.origin !== here)
      throw new ForgeError(
        `${this.label} at ${here} redirects to ${target.origin}, which does not get our token: ` +
          `if the API is there, set ${called("--forge-url")} to that address`,
      );
    return target.href;
  }

  #address(path: string, params: Content["params"]): string {
    const query = new URLSearchParams(params).toString();
    const address = path.startsWith("/") ? this.url + path : this.#sameOrigin(new URL(path));
    return query ? `${address}?${query}` : address;
  }
}

/** How a forge splits a list into pages. */
export interface Paging {
  page(value: unknown): unknown;
  next(reply: Reply, value: unknown): string | undefined;
}

/** GitHub, GitLab and Gitea name the next page in a Link header. */
const LINKED: Paging = {
  page: (value) => value,
  next: (reply) => /<([^>]*)>\s*;\s*rel="?next"?/.exec(reply.headers.get("link") ?? "")?.[1],
};

/** Return the text or number at the end of these keys; empty where there is none. */
export function textAt(value: unknown, ...keys: string[]): string {
  let found = value;
  for (const key of keys) found = (found as Json | null | undefined)?.[key];
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

/** Return the forge's own message, shortened. */
export function errorMessage(reply: Reply): string {
  const value = parseJson(reply.text);
  const words =
    objections(value) ||
    textAt(value, "message") ||
    textAt(value, "error_description") ||
    textAt(value, "error", "message");
  return ((words || textAt(value, "error") || "no reason given") + scopes(value)).slice(0, 300);
}

/** Return the validation errors: a list on GitHub, by field on GitLab. */
function objections(value: unknown): string {
  const { errors, message: fields } = (value ?? {}) as { errors?: unknown; message?: unknown };
  const found = Array.isArray(errors)
    ? errors.map((error) => textAt(error, "message"))
    : Object.entries(typeof fields === "object" ? (fields ?? {}) : {}).map(([name, why]) => `${name} ${why}`);
  return found.filter(Boolean).join("; ");
}

/** Return the scopes that Bitbucket requires, where its error lists them. */
function scopes(value: unknown): string {
  const { error } = (value ?? {}) as { error?: { detail?: { required?: unknown } } | null };
  const required = error?.detail?.required;
  return Array.isArray(required) ? message("required_scopes", { scopes: required.join(", ") }) : "";
}

/** Return what JSON says; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
