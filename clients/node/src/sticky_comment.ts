/**
 * The sticky comment: one comment per pull request, always current, even if several jobs write at once.
 *
 * The update works in rounds. Each round lists all comments, requests the text, and makes one change. The first round
 * with nothing to change is the last. A job that wrote therefore checks again: another job may have created a second
 * comment, or the text may be outdated. The last job to write always leaves the current text.
 *
 * Forges notify people of a new comment, not of an edit. So a text with a higher notice than our comment's becomes a new
 * comment, and the next round deletes the older one. The text is requested after the list, so its notice is never lower
 * than that of a listed comment.
 */
import { ForgeError, NotFoundError } from "./errors.js";
import { type Comment, type Forge, markerLine } from "./forges/forge.js";
import { message } from "./statements.js";

export interface Posted {
  outcome: "created" | "updated" | "unchanged" | "none";
  url: string;
}

const ROUNDS = 10;

/** The line after the marker's, in HTML or as a link. */
const NOTICE = /^\s*\S[^\n]*\n(?:<!-- |\[\/\/\]: # \()svc:notice-(\d{1,15})\b/;

/**
 * Make our comment equal to the result of `render`, which is called again after every change. If `creating`, called after
 * `render`, returns false, only an existing comment is changed. Throws ForgeError, UnreachableError, RateLimitedError.
 */
export async function keepCurrent(
  forge: Forge,
  prNumber: number,
  render: () => Promise<string>,
  creating = () => true,
): Promise<Posted> {
  const ours = new OurComments(forge, prNumber);
  let posted: Posted = { outcome: "unchanged", url: "" };
  let written = "";
  for (let round = 0; round < ROUNDS; round++) {
    let kept = await ours.keepOne();
    const text = await render();
    if ((!kept || noticeOf(text) > noticeOf(kept.body)) && creating()) {
      kept = await ours.create(text);
      posted = { outcome: "created", url: kept.url };
    } else if (!kept) {
      return { outcome: "none", url: "" };
    } else if (isSame(kept.body, text) || written === JSON.stringify([kept.id, text])) {
      return { outcome: posted.outcome, url: kept.url };
    } else if ((await ours.update(kept, text)) && posted.outcome === "unchanged") {
      posted = { outcome: "updated", url: kept.url };
    }
    written = JSON.stringify([kept.id, text]);
  }
  if (posted.outcome === "unchanged")
    throw new ForgeError(message("listed_but_gone", { forge: forge.label }));
  return posted; // the text keeps changing: every job that uploads also posts
}

/** The comments on a pull request that start with our marker and that we wrote. */
export class OurComments {
  #me: string | undefined;
  #made: Comment | undefined;
  readonly #gone = new Set<string>();

  constructor(
    private readonly forge: Forge,
    private readonly prNumber: number,
  ) {}

  /**
   * Return the comment with the highest notice, the oldest of equals, and delete the others. New notices, concurrent jobs
   * and lost replies create them.
   */
  async keepOne(): Promise<Comment | undefined> {
    const found = await this.all();
    const [kept] = [...found].sort((one, other) => noticeOf(other.body) - noticeOf(one.body));
    // Until we know who we are, the others may not be ours.
    for (const { id } of this.#me ? found.filter((each) => each !== kept) : []) {
      await this.forge.delete(this.prNumber, id);
      this.#gone.add(id);
    }
    return kept;
  }

  async create(text: string): Promise<Comment> {
    this.#made = await this.forge.create(this.prNumber, text);
    this.#me = this.#made.author || this.#me;
    return this.#made;
  }

  /** Change the comment. Return false if it no longer exists or isn't ours. */
  async update({ id }: Comment, text: string): Promise<boolean> {
    try {
      await this.forge.update(this.prNumber, id, text);
      return true;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      this.#gone.add(id);
      return false;
    }
  }

  /** Return the comments, oldest first. */
  async all(): Promise<Comment[]> {
    const marker = markerLine(this.forge.markerStyle, this.prNumber);
    const comments = await this.forge.comments(this.prNumber);
    const found = comments.filter(({ body }) => body.replace(/^[\ufeff \t\r\n]+/, "").startsWith(marker));
    if (found.length && !this.#me) this.#me = await this.forge.me();
    const made = this.#made;
    if (made && !found.some(({ id }) => id === made.id)) found.push(made); // the list may lag behind
    return found.filter((comment) => !this.#gone.has(comment.id) && this.#isOurs(comment));
  }

  #isOurs({ id, author }: Comment): boolean {
    const isKnown = this.#me !== "" && author === this.#me;
    return this.#me === undefined || isKnown || id === this.#made?.id;
  }
}

/** Return the number in the line after the marker's; 0 without one. */
function noticeOf(body: string): number {
  return Number(NOTICE.exec(body)?.[1] ?? 0);
}

/** Return whether the texts are equal, apart from line endings and outer whitespace. */
function isSame(body: string, text: string): boolean {
  const normal = (given: string) => given.replaceAll("\r\n", "\n").trim();
  return normal(body) === normal(text);
}
