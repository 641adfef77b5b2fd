/**
 * The sticky comment: one comment per project, always current, even if several jobs write at once.
 *
 * The update works in rounds. Each round lists all comments, requests the text, and makes one change. The first round
 * with nothing to change is the last. A job that wrote therefore checks again: another job may have created a second
 * comment, or the text may be outdated. The last job to write always leaves the current text.
 *
 * Forges notify people of a new comment, not of an edit. So a text with a higher notice than our comment's becomes a new
 * comment, and the next round deletes the older one. The text is requested after the list, so its notice is never lower
 * than that of a listed comment.
 *
 * The text's second line names its project. If another account has written a comment with this line, we write none. If
 * both have, the comment with the highest notice stays, the oldest of equals. Each account chooses the same one and
 * deletes only its own others, so one is always left.
 */
import { ForgeError, NotFoundError } from "./errors.js";
import { type Comment, type Forge, markerLine } from "./forges/forge.js";
import { message } from "./statements.js";

export interface Posted {
  /** What was done. `kept`: another account keeps the comment current, so nothing was written. */
  outcome: "created" | "updated" | "unchanged" | "kept" | "none";
  url: string;
  /** A kept comment shows something else than the text. */
  isOlder?: boolean;
}

const ROUNDS = 10;

const PROJECT = /^[^\n]*\n((?:<!-- |\[\/\/\]: # \()prshots:\S+)/;
const NOTICE =
  /^[^\n]*\n(?:(?:<!-- |\[\/\/\]: # \()prshots:[^\n]*\n)?(?:<!-- |\[\/\/\]: # \()svc:notice-(\d{1,15})\b/;
const INVISIBLE = /(?:(?:<!-- |\[\/\/\]: # \()[^\n]*\s*)+/;
const URLS = /https?:\/\/[^\s()<>"]+/g;

/**
 * Make our comment equal to the result of `render`, which is called again after every change. If `creating`, called after
 * `render`, returns false, only an existing comment is changed. A comment without a project's line counts only if
 * `isAlone`, called after `render`, returns true: no other project takes part in the pull request. Throws ForgeError,
 * UnreachableError, RateLimitedError.
 */
export async function keepCurrent(
  forge: Forge,
  prNumber: number,
  render: () => Promise<string>,
  creating = () => true,
  isAlone = () => true,
): Promise<Posted> {
  const ours = new OurComments(forge, prNumber);
  let posted: Posted = { outcome: "unchanged", url: "" };
  let written = "";
  for (let round = 0; round < ROUNDS; round++) {
    const found = await ours.find();
    const text = await render();
    const { comment, isOurs } = await ours.keepOne(found, text, isAlone());
    let kept = comment;
    if (kept && !isOurs) return { outcome: "kept", url: kept.url, isOlder: isOlder(kept.body, text) };
    if ((!kept || noticeIn(text) > noticeIn(kept.body)) && creating()) {
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

/** Return whether a prshots client wrote the comment, with any account and for any project. */
export function hasMarker({ body }: Comment, marker: string): boolean {
  return withoutBlank(body).startsWith(marker);
}

/** The comments on a pull request that start with our marker. */
class OurComments {
  #me: string | undefined;
  #made: Comment | undefined;
  readonly #gone = new Set<string>();

  constructor(
    private readonly forge: Forge,
    private readonly prNumber: number,
  ) {}

  /** Return the comments with our marker, oldest first, whoever wrote them. */
  async find(): Promise<Comment[]> {
    const marker = markerLine(this.forge.markerStyle, this.prNumber);
    const comments = await this.forge.comments(this.prNumber);
    const found = comments.filter((each) => hasMarker(each, marker));
    if (found.length && !this.#me) this.#me = await this.forge.me();
    const made = this.#made;
    if (made && !found.some(({ id }) => id === made.id)) found.push(made); // the list may lag behind
    return found;
  }

  /**
   * Return the project's comment, and whether it is ours. Delete our other ones: new notices, concurrent jobs and lost
   * replies create them.
   */
  async keepOne(
    all: Comment[],
    text: string,
    isAlone: boolean,
  ): Promise<{ comment: Comment | undefined; isOurs: boolean }> {
    const found = all.filter((each) => isOfProject(each, text, isAlone));
    const ours = found.filter((each) => this.#isOurs(each));
    let theirs = found.filter((each) => projectIn(each.body) && this.#isTheirs(each));
    if (this.#me === undefined && ours.length) theirs = []; // only an attempt to change ours tells who we are
    const either = found.filter((each) => ours.includes(each) || theirs.includes(each));
    const [kept] = either.sort((one, other) => noticeIn(other.body) - noticeIn(one.body));
    // Until we know who we are, the others may not be ours.
    for (const { id } of this.#me ? ours.filter((each) => each !== kept) : []) {
      await this.forge.delete(this.prNumber, id);
      this.#gone.add(id);
    }
    return { comment: kept, isOurs: !kept || !theirs.includes(kept) };
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

  #isOurs({ id, author }: Comment): boolean {
    const isByUs =
      this.#me === undefined || id === this.#made?.id || (this.#me !== "" && author === this.#me);
    return isByUs && !this.#gone.has(id);
  }

  /** Return whether another account keeps it current. A deleted account or a stranger doesn't. */
  #isTheirs({ id, author, byStranger = false }: Comment): boolean {
    if (this.#me === undefined) return this.#gone.has(id); // the forge refused our change
    return this.#me !== "" && ![this.#me, ""].includes(author) && !byStranger;
  }
}

/**
 * Return whether the comment is about the text's project. If `isAlone`, it doesn't need to say so. The text itself names none
 * only in the specification's view, if there is no other project.
 */
function isOfProject({ body }: Comment, text: string, isAlone: boolean): boolean {
  const [found, own] = [projectIn(body), projectIn(text)];
  return found === own || !own || (isAlone && !found);
}

/** Return the number in the line below the marker and the project; 0 without one. */
function noticeIn(body: string): number {
  return Number(NOTICE.exec(withoutBlank(body))?.[1] ?? 0);
}

/** Return the beginning of the line after the marker if it names a project; otherwise nothing. */
function projectIn(body: string): string {
  return PROJECT.exec(withoutBlank(body))?.[1] ?? "";
}

function withoutBlank(body: string): string {
  return body.replace(/^[\ufeff \t\r\n]+/, "");
}

function normal(text: string): string {
  return text.replaceAll("\r\n", "\n").trim();
}

/** Return whether the texts are equal, apart from line endings and outer whitespace. */
function isSame(body: string, text: string): boolean {
  return normal(body) === normal(text);
}

/** Return whether the comment lacks the text. Signed addresses may differ, and a template surrounds it. */
function isOlder(body: string, text: string): boolean {
  const [shown, current] = [body, text].map((each) => normal(each).replace(URLS, "")) as [string, string];
  return !shown.includes(current.replace(INVISIBLE, "").trim());
}
