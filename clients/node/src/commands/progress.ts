/** What the user sees while files are uploaded: a line per failure, and how far the upload is if it takes long. */
import { message } from "../statements.js";
import { NOT_TRIED, type UploadOutcome } from "../upload.js";
import { formatNumber } from "../wording.js";
import type { Context } from "./types.js";

/** How often the user gets a progress line. */
const TELL_SECONDS = 10;

export class Progress {
  #count = 0;
  #toldAt: number;
  readonly #failures = new Set<string>();

  constructor(
    private readonly total: number,
    private readonly context: Context,
    private readonly now = () => Date.now() / 1000,
  ) {
    this.#toldAt = now();
    context.stopped.addEventListener("abort", () =>
      this.#fail(message("interrupted", { count: this.#count, total })),
    );
  }

  done(outcome: UploadOutcome): void {
    this.#count += 1;
    this.#tellFailure(outcome);
    if (this.now() - this.#toldAt < TELL_SECONDS || this.#count === this.total) return;
    this.#toldAt = this.now();
    this.context.say(
      message("uploading", { count: formatNumber(this.#count), total: formatNumber(this.total) }),
    );
  }

  /** A failure that stops all uploads names no file, and is told once. Files that were not tried get no line. */
  #tellFailure({ shot, error, isFatal }: UploadOutcome): void {
    if (!error || error === NOT_TRIED) return;
    const words = isFatal ? error : `${shot.path}: ${error}`;
    if (this.#failures.has(words)) return;
    this.#failures.add(words);
    this.#fail(words);
  }

  #fail(words: string): void {
    (this.context.fail ?? this.context.say)(words);
  }
}
