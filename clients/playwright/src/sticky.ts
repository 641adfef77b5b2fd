/**
 * The one comment that is kept current, by the rules of `prshots comment --post`: found again by its marker, only when
 * we wrote it ourselves; nothing is sent that stands there already; jobs at the same time end with one comment.
 */
import type { Comment } from "./adapters.js";
import { CallError, GoneError, RefusedError } from "./errors.js";

/** What is needed of a forge here. */
export interface Discussion {
  label: string;
  maxCharacters: number;
  onlyAuthorsChange: boolean;
  marker(pr: number): string;
  written(markdown: string, pr: number): string;
  me(): Promise<string | undefined>;
  comments(pr: number): Promise<Comment[]>;
  create(pr: number, body: string): Promise<Comment>;
  update(pr: number, id: string, body: string): Promise<void>;
  remove(pr: number, id: string): Promise<void>;
  addressOf(pr: number, comment: Comment): Promise<string>;
}

export interface Posted {
  done: "created" | "updated" | "unchanged";
  url: string;
}

const ROUNDS = 10;

/**
 * Have our comment say what `render` returns. It goes in rounds: each asks for the text, looks at all comments, and
 * does what is still to be done; the first that finds nothing to do is the last. So whoever wrote looks once more.
 */
export async function posted(forge: Discussion, pr: number, render: () => Promise<string>): Promise<Posted> {
  const ours = new OurComments(forge, pr);
  let done: Posted["done"] = "unchanged";
  let kept: Comment | undefined;
  let written = "";
  for (let round = 0; round < ROUNDS; round++) {
    const body = shortened(await render(), forge.maxCharacters, (markdown) => forge.written(markdown, pr));
    const found = await ours.oldestAlone();
    if (!found) {
      kept = await ours.created(body);
      done = "created";
    } else if (same(found.body, body) || written === `${found.id} ${body}`) {
      return { done, url: await forge.addressOf(pr, found) };
    } else if (await ours.updated(found, body)) {
      kept = found;
      if (done === "unchanged") done = "updated";
    }
    written = `${kept?.id} ${body}`;
  }
  if (!kept)
    throw new CallError(
      `${forge.label} lists our comment, and says that it has gone when it is to be changed`,
    );
  return { done, url: await forge.addressOf(pr, kept) }; // whoever uploads all the time, posts too
}

/** The comments on a pull request that begin with our marker, and that we wrote ourselves. */
class OurComments {
  #me: string | undefined;
  #made: Comment | undefined;
  readonly #gone = new Set<string>();

  constructor(
    private readonly forge: Discussion,
    private readonly pr: number,
  ) {}

  /** Return the oldest, having removed the others: those of jobs that ran at once, or whose reply got lost. */
  async oldestAlone(): Promise<Comment | undefined> {
    const [oldest, ...others] = await this.#all();
    if (this.#me) {
      for (const { id } of others) {
        await this.forge.remove(this.pr, id);
        this.#gone.add(id);
      }
    }
    return oldest;
  }

  async created(body: string): Promise<Comment> {
    this.#made = await this.forge.create(this.pr, body);
    this.#me = this.#made.author || this.#me;
    return this.#made;
  }

  /** Change it, and return whether that was done: it may have gone meanwhile, or not be ours after all. */
  async updated({ id }: Comment, body: string): Promise<boolean> {
    try {
      await this.forge.update(this.pr, id, body);
      return true;
    } catch (error) {
      const isAnothers = error instanceof RefusedError && this.forge.onlyAuthorsChange && !this.#me;
      if (!(error instanceof GoneError) && !isAnothers) throw error;
      this.#gone.add(id);
      return false;
    }
  }

  async #all(): Promise<Comment[]> {
    const marker = this.forge.marker(this.pr);
    const found = (await this.forge.comments(this.pr)).filter(({ body }) =>
      body.trimStart().startsWith(marker),
    );
    if (found.length && !this.#me) this.#me = await this.forge.me();
    const made = this.#made;
    if (made && !found.some(({ id }) => id === made.id)) found.push(made); // a list may be a moment behind
    return found.filter((comment) => !this.#gone.has(comment.id) && this.#isOurs(comment));
  }

  #isOurs({ author }: Comment): boolean {
    return this.#me ? author === this.#me : this.forge.onlyAuthorsChange;
  }
}

/** Whether two texts are the same to a forge, which may end lines differently, or drop the last end. */
function same(one: string, other: string): boolean {
  const normal = (text: string) => text.replaceAll("\r\n", "\n").trim();
  return normal(one) === normal(other);
}

const PICTURE = /^.*\\\n!\[/;

/**
 * Return the comment as the forge takes it, in no more bytes than it takes characters: beyond that the oldest
 * pictures go, whole, and are counted.
 */
export function shortened(markdown: string, limit: number, written: (markdown: string) => string): string {
  const blocks = markdown.trimEnd().split("\n\n");
  const first = blocks.findIndex((block) => PICTURE.test(block));
  for (let leftOut = 0; ; leftOut++) {
    const left = [...blocks.slice(0, Math.max(first, 0)), ...blocks.slice(Math.max(first, 0) + leftOut)];
    if (leftOut)
      left.push(`The oldest ${leftOut} of the pictures are left out here: the comment would be too long.`);
    const text = written(leftOut ? `${left.join("\n\n")}\n` : markdown);
    if (Buffer.byteLength(text) <= limit || first < 0 || !PICTURE.test(blocks[first + leftOut] ?? ""))
      return text;
  }
}
