/** What a forge can do, whichever it is. */
import type { Sender } from "../sending.js";

export interface Comment {
  id: string;
  body: string;
  /** The name that `Forge.me` returns for the same account. */
  author: string;
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
   * Return the account that our token belongs to; empty when the forge does not say. Undefined where an attempt tells:
   * only its author may change a comment, and `update` throws NotFoundError for someone else's.
   */
  me(): Promise<string | undefined>;
  /** Return all comments on a pull request, oldest first. */
  comments(prNumber: number): Promise<Comment[]>;
  create(prNumber: number, body: string): Promise<Comment>;
  /** Change a comment's text. Throws NotFoundError when the comment does not exist anymore. */
  update(prNumber: number, id: string, body: string): Promise<void>;
  /** Delete a comment. It is no error if it does not exist anymore. */
  delete(prNumber: number, id: string): Promise<void>;
}

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
