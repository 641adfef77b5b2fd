/**
 * The sticky comment, by the rules of `prshots comment --post`: found again, kept current, and never a second one,
 * however many jobs write at the same time.
 *
 * It works in rounds. Each round asks for the text, looks at all comments, and does what is left to do. The first round
 * that finds nothing to do is the last. So a job that wrote looks once more: whether another job has written a comment
 * too, and whether there is something new to say. The last job to write always leaves the current text.
 */
import { ForgeError, NotFoundError } from "./errors.js";
import { type Comment, type Forge, markerLine } from "./forges/forge.js";
import { message } from "./statements.js";

export interface Posted {
  outcome: "created" | "updated" | "unchanged" | "none";
  url: string;
}

const ROUNDS = 10;

/**
 * Make our comment say what `render` returns. `render` is called again after every write. If `creating`, called after
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
    const text = await render();
    let kept = await ours.oldestAlone();
    if (!kept) {
      if (!creating()) return { outcome: "none", url: "" };
      kept = await ours.create(text);
      posted = { outcome: "created", url: kept.url };
    } else if (isSame(kept.body, text) || written === JSON.stringify([kept.id, text])) {
      return { outcome: posted.outcome, url: kept.url };
    } else if ((await ours.update(kept, text)) && posted.outcome === "unchanged") {
      posted = { outcome: "updated", url: kept.url };
    }
    written = JSON.stringify([kept.id, text]);
  }
  if (posted.outcome === "unchanged")
    throw new ForgeError(message("listed_but_gone", { forge: forge.label }));
  return posted; // there is something new to say each time; the job that uploads it posts it too
}

/** The comments on a pull request that begin with our marker and that we wrote. */
export class OurComments {
  #me: string | undefined;
  #made: Comment | undefined;
  readonly #gone = new Set<string>();

  constructor(
    private readonly forge: Forge,
    private readonly prNumber: number,
  ) {}

  /** Return the oldest, and delete the others: other jobs wrote them, or their response got lost. */
  async oldestAlone(): Promise<Comment | undefined> {
    const [oldest, ...others] = await this.all();
    // Until we know who we are, the others may not be ours.
    for (const { id } of this.#me ? others : []) {
      await this.forge.delete(this.prNumber, id);
      this.#gone.add(id);
    }
    return oldest;
  }

  async create(text: string): Promise<Comment> {
    this.#made = await this.forge.create(this.prNumber, text);
    this.#me = this.#made.author || this.#me;
    return this.#made;
  }

  /** Change it. Return false if it does not exist anymore, or is not ours after all. */
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

  /** Return them, oldest first. */
  async all(): Promise<Comment[]> {
    const marker = markerLine(this.forge.markerStyle, this.prNumber);
    const comments = await this.forge.comments(this.prNumber);
    const found = comments.filter(({ body }) => body.replace(/^[\ufeff \t\r\n]+/, "").startsWith(marker));
    if (found.length && !this.#me) this.#me = await this.forge.me();
    const made = this.#made;
    if (made && !found.some(({ id }) => id === made.id)) found.push(made); // a list may lag behind
    return found.filter((comment) => !this.#gone.has(comment.id) && this.#isOurs(comment));
  }

  #isOurs({ id, author }: Comment): boolean {
    const isKnown = this.#me !== "" && author === this.#me;
    return this.#me === undefined || isKnown || id === this.#made?.id;
  }
}

/** Return whether the body is what a forge makes of the text: some change line ends, or drop the last one. */
function isSame(body: string, text: string): boolean {
  const normal = (given: string) => given.replaceAll("\r\n", "\n").trim();
  return normal(body) === normal(text);
}
