/** What differs between the forges, in a table. */
import type { ForgeKind } from "./jobs.js";

export interface Comment {
  id: string;
  body: string;
  author: string;
  url: string;
}

export type Json = Record<string, unknown>;

/** What an adapter may ask to find out who we are. */
export interface Asking {
  /** Return what the forge calls the owner of our token; nothing when it does not tell this token. */
  user(key: string): Promise<string | undefined>;
  /** Return what GraphQL answers; nothing when there is none. */
  graphql(query: string): Promise<{ data?: unknown } | undefined>;
}

export interface Adapter {
  label: string;
  /** The root of the API where everybody's is; there is no one Gitea. */
  publicApi: string;
  /** Which token it takes, for whoever has another. */
  needs: string;
  maxCharacters: number;
  headers(token: string): Record<string, string>;
  comments(repository: string, pr: number): string;
  comment(repository: string, pr: number, id: string): string;
  change: "PATCH" | "PUT";
  content(body: string): Json;
  /** Return the comment; nothing for an entry of the list that is none of somebody's. */
  read(entry: Json): Comment | undefined;
  /** Return who we are by our token, as `author` would say; nothing when the forge does not tell. */
  me(api: Asking): Promise<string | undefined>;
  /** Only who wrote a comment may change it: so where the forge does not tell who we are, trying does. */
  onlyAuthorsChange: boolean;
  /** Where a pull request's own address is asked for, if no comment tells its address. */
  pull?(repository: string, pr: number): string;
  marker(pr: number): string;
  written(markdown: string, pr: number): string;
}

const HIDDEN_MARKER = {
  marker: (pr: number) => `<!-- svc:pr-${pr} -->`,
  written: (markdown: string) => markdown,
};

export const ADAPTERS: Record<ForgeKind, Adapter> = {
  github: {
    label: "GitHub",
    publicApi: "https://api.github.com",
    needs:
      "In GitHub Actions the job needs `permissions: pull-requests: write`; elsewhere, a token that may write pull requests of this repository",
    maxCharacters: 65_536,
    headers: (token) => ({
      Authorization: `Bearer ${token}`,
      Accept: "application/vnd.github+json",
      "X-GitHub-Api-Version": "2022-11-28",
    }),
    comments: (repository, pr) => `/repos/${repository}/issues/${pr}/comments`,
    comment: (repository, _pr, id) => `/repos/${repository}/issues/comments/${id}`,
    change: "PATCH",
    content: (body) => ({ body }),
    read: (entry) => commentOf(entry.id, entry.body, text(entry.user, "login"), entry.html_url),
    // The token of a workflow has no /user, but GraphQL tells who it is.
    me: async (api) =>
      text((await api.graphql("query { viewer { login } }"))?.data, "viewer", "login") ||
      (await api.user("login")),
    onlyAuthorsChange: false,
    ...HIDDEN_MARKER,
  },
  gitlab: {
    label: "GitLab",
    publicApi: "https://gitlab.com/api/v4",
    needs:
      "GitLab takes an access token with the scope api, and at least the role Reporter; CI_JOB_TOKEN may not write notes",
    maxCharacters: 1_000_000,
    headers: (token) => ({ Authorization: `Bearer ${token}` }),
    comments: (repository, pr) => `/projects/${encodeURIComponent(repository)}/merge_requests/${pr}/notes`,
    comment: (repository, pr, id) =>
      `/projects/${encodeURIComponent(repository)}/merge_requests/${pr}/notes/${id}`,
    change: "PUT",
    content: (body) => ({ body }),
    read: (entry) =>
      entry.system === true ? undefined : commentOf(entry.id, entry.body, text(entry.author, "username"), ""),
    me: (api) => api.user("username"),
    onlyAuthorsChange: false,
    pull: (repository, pr) => `/projects/${encodeURIComponent(repository)}/merge_requests/${pr}`,
    ...HIDDEN_MARKER,
  },
  gitea: {
    label: "Gitea",
    publicApi: "",
    needs:
      "Gitea and Forgejo take the token of Actions, or an access token with the scopes write:issue, read:repository and read:user",
    maxCharacters: 1_000_000,
    headers: (token) => ({ Authorization: `token ${token}` }),
    comments: (repository, pr) => `/repos/${repository}/issues/${pr}/comments`,
    comment: (repository, _pr, id) => `/repos/${repository}/issues/comments/${id}`,
    change: "PATCH",
    content: (body) => ({ body }),
    read: (entry) => commentOf(entry.id, entry.body, text(entry.user, "login"), entry.html_url),
    me: (api) => api.user("login"),
    onlyAuthorsChange: false,
    ...HIDDEN_MARKER,
  },
  bitbucket: {
    label: "Bitbucket",
    publicApi: "https://api.bitbucket.org/2.0",
    needs:
      "Bitbucket takes an access token that may write pull requests, or a person's API token as EMAIL:TOKEN",
    maxCharacters: 32_768,
    headers: (token) => ({
      Authorization: token.includes(":")
        ? `Basic ${Buffer.from(token).toString("base64")}`
        : `Bearer ${token}`,
    }),
    comments: (repository, pr) => `/repositories/${repository}/pullrequests/${pr}/comments`,
    comment: (repository, pr, id) => `/repositories/${repository}/pullrequests/${pr}/comments/${id}`,
    change: "PUT",
    content: (body) => ({ content: { raw: body } }),
    read: (entry) =>
      entry.deleted === true || entry.inline
        ? undefined
        : commentOf(
            entry.id,
            text(entry.content, "raw"),
            text(entry.user, "uuid"),
            text(entry.links, "html", "href"),
          ),
    me: (api) => api.user("uuid"),
    onlyAuthorsChange: true,
    // Bitbucket shows HTML as it is written; a link that nothing refers to is not seen.
    marker: (pr) => `[//]: # (svc:pr-${pr})`,
    written: (markdown, pr) =>
      markdown
        .replace(`${HIDDEN_MARKER.marker(pr)}\n`, `[//]: # (svc:pr-${pr})\n\n`)
        .replace(/^<details><summary>(.*)<\/summary>$/gm, "**$1**")
        .replace(/^<\/details>\n?/gm, "")
        .replace(/(?<=`)\\\n/g, "\n\n"), // newer markdown's line break
  },
};

function commentOf(id: unknown, body: unknown, author: string, url: unknown): Comment {
  return { id: String(id), body: String(body ?? ""), author, url: typeof url === "string" ? url : "" };
}

export function text(value: unknown, ...keys: string[]): string {
  let found = value;
  for (const key of keys) found = (found as Json | null | undefined)?.[key];
  return typeof found === "string" ? found : "";
}
