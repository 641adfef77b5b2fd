/** What a forge can do, whichever it is. */
import * as validate from "../ci/validate.js";
import type { GateStatus } from "../replies.js";
import type { Sender } from "../sender.js";

export interface Comment {
  id: string;
  body: string;
  /** The name that `Forge.me` returns for the same account. */
  author: string;
  /** The forge says that the author has no part in the repository. */
  byStranger?: boolean;
  url: string;
}

/** How the service marks the comment: `link` is for forges that show HTML as text. */
export type Marker = "html" | "link";

/** One repository on one forge. Every method throws ForgeError, UnreachableError and RateLimitedError. */
export interface Forge {
  /** The name for people, such as GitHub. */
  readonly label: string;
  /** How many bytes a comment may have. */
  readonly maxCommentBytes: number;
  readonly markerStyle: Marker;
  /**
   * Return the account that our token belongs to; empty if the forge doesn't say. Undefined if only an attempt shows it:
   * only its author may change a comment, and `update` throws NotFoundError for someone else's.
   */
  me(): Promise<string | undefined>;
  /** Return all comments on a pull request, oldest first. */
  comments(prNumber: number): Promise<Comment[]>;
  create(prNumber: number, body: string): Promise<Comment>;
  /** Change a comment's text. Throws NotFoundError when the comment does not exist anymore. */
  update(prNumber: number, id: string, body: string): Promise<void>;
  /** Delete a comment. Not an error if it no longer exists. */
  delete(prNumber: number, id: string): Promise<void>;
  /**
   * Set a status of the commit. Setting an equal one again is not an error. `commitSha` has 40 characters. Throws
   * ForgeRefusedError if the token may not set the status, or the repository doesn't have the commit.
   */
  setStatus(commitSha: string, status: CommitStatus): Promise<void>;
  /** Return the text that opens the pull request. */
  description(prNumber: number): Promise<string>;
  /** Change the pull request's text. Forges don't say if somebody changed it in the meantime. */
  setDescription(prNumber: number, text: string): Promise<void>;
  /** Return how the pull request was merged; undefined if it was not, or if the forge doesn't say. */
  mergeOf(prNumber: number): Promise<Merge | undefined>;
  /** Return the addresses of the comment's images on the forge's image proxy. */
  proxiedImages(id: string): Promise<string[]>;
  /** Ask the image proxy to drop its copy. Return whether it did. */
  purge(url: string): Promise<boolean>;
}

/** A commit's status on a forge. `url` is the page that shows more, `context` is the status's name. */
export interface CommitStatus extends GateStatus {
  url: string;
}

/** Return the fields of a status. `most` is the longest description that the forge accepts. */
export function statusFields(
  { context, state, description, url }: CommitStatus,
  most = 255,
): Record<string, string> {
  const letters = [...description];
  const beginning = letters.slice(0, most - 1).join("");
  const words = letters.length > most ? `${beginning.trimEnd()}…` : description;
  const fields = { context, state, description: words, target_url: url };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value)); // an empty URL is invalid
}

/** The commit that a pull request became, and the branch that it is on. */
export interface Merge {
  commitSha: string;
  branch: string;
}

/** Return the merge, if the forge names all of it. */
export function mergeAt(commitSha: string, branch: string): Merge | undefined {
  const [sha, name] = [validate.fullCommit(commitSha), validate.branch(branch)];
  return sha && name ? { commitSha: sha, branch: name } : undefined;
}

/** For a forge without an image proxy. */
export const NO_PROXY: Pick<Forge, "proxiedImages" | "purge"> = {
  proxiedImages: async () => [],
  purge: async () => false,
};

/** Return the line that our comment begins with. The service writes it. */
export function markerLine(marker: Marker, prNumber: number): string {
  return marker === "link" ? `[//]: # (svc:pr-${prNumber})` : `<!-- svc:pr-${prNumber} -->`;
}

/** Where to send requests, and with which token. */
export interface Access {
  api: string;
  repository: string;
  token: string;
  sender: Sender;
}
