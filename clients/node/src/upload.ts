/** Upload many files concurrently, and report on each. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { CONTRACT } from "./contract.js";
import { InvalidInputError, messageOf, PayloadTooLargeError, PrshotsError } from "./errors.js";
import { reasonOf } from "./file_search.js";
import { Patience } from "./patience.js";
import { Queue } from "./queue.js";
import type { HashedShot, Uploaded } from "./replies.js";
import type { Service } from "./service.js";
import { keyOf, requireFile, type ShotFile } from "./shots.js";
import { shrink } from "./shrink.js";
import { readableSize } from "./sizes.js";
import { message } from "./statements.js";
import type { Target } from "./target.js";

export const NOT_TRIED = message("not_tried");
/** How many uploads run at a time by default. */
export const DEFAULT_CONCURRENCY = CONTRACT.options.jobs.default;
/** The service's limit by default. Used only if the service doesn't report its own. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/** The result for one screenshot: `uploaded`, or an `error`. */
export interface UploadOutcome {
  shot: ShotFile;
  uploaded?: Uploaded;
  /** Empty if it is uploaded. */
  error: string;
  /** For the user. */
  note: string;
  /** Every other upload would fail too. */
  isFatal: boolean;
  /** Shrinking the image would help. */
  isTooLarge: boolean;
  /** The service has the bytes already, so none were sent. */
  isKnown: boolean;
}

export interface Sending {
  jobs?: number;
  /** Recompress images that are too large. */
  shrink?: boolean;
  /** Gets each outcome as soon as it is known. */
  onDone?(outcome: UploadOutcome): void;
}

type Api = Pick<Service, "send" | "isKnown" | "missing" | "maxImageBytes">;

/** Return an outcome of which nothing else is known. */
export function outcomeOf(shot: ShotFile, known: Partial<UploadOutcome> = {}): UploadOutcome {
  return { shot, error: "", note: shot.note, isFatal: false, isTooLarge: false, isKnown: false, ...known };
}

/**
 * Upload a job's screenshots to its pull request, or as the baselines of its branch, and return the outcomes in the same
 * order. One failure does not stop the others, unless they would also fail. If the service has a file, only its
 * hash is sent.
 */
export async function uploadAll(
  service: Api,
  shots: readonly ShotFile[],
  target: Target,
  sending: Sending = {},
): Promise<UploadOutcome[]> {
  if (!shots.length) return [];
  return new FileUploads(service, target, await service.maxImageBytes(), sending).run(shots);
}

/** The uploads of one command. */
class FileUploads {
  readonly #patience = new Patience();
  /** The service's 413 decides if its limit is not known. Shrinking needs a number. */
  readonly #shrinkFrom: number;
  #shrinking: Promise<unknown> = Promise.resolve();
  /** The keys of the shots that the service has. */
  #known = new Set<string>();

  constructor(
    private readonly service: Api,
    private readonly target: Target,
    private readonly maxBytes: number,
    private readonly sending: Sending,
  ) {
    const limit = Number.isFinite(maxBytes) ? maxBytes : MAX_IMAGE_BYTES;
    this.#shrinkFrom = sending.shrink ? limit : Number.POSITIVE_INFINITY;
  }

  async run(shots: readonly ShotFile[]): Promise<UploadOutcome[]> {
    try {
      await this.#findKnown(shots);
    } catch (error) {
      if (!(error instanceof PrshotsError)) throw error;
      return this.#noneTried(shots, error.message);
    }
    const outcomes: UploadOutcome[] = [];
    const queue = new Queue(this.sending.jobs ?? DEFAULT_CONCURRENCY);
    for (const [index, shot] of shots.entries())
      queue.add(async () => {
        const outcome = await this.#outcome(shot);
        outcomes[index] = outcome;
        this.sending.onDone?.(outcome);
      });
    await queue.idle();
    return outcomes;
  }

  /** Ask about all files that are sent unchanged. */
  async #findKnown(shots: readonly ShotFile[]): Promise<void> {
    const hashed: HashedShot[] = [];
    for (const { path, name, viewport, theme, size } of shots) {
      const sha256 = size < this.#shrinkFrom ? await sha256Of(path) : "";
      if (sha256) hashed.push({ name, viewport, theme, sha256 });
    }
    this.#known = new Set(hashed.map(keyOf));
    for (const shot of await this.service.missing(hashed, this.target)) this.#known.delete(keyOf(shot));
  }

  /** Return the outcomes of an error that every upload would hit. */
  #noneTried(shots: readonly ShotFile[], why: string): UploadOutcome[] {
    const outcomes = shots.map((shot, index) =>
      outcomeOf(shot, { error: index ? NOT_TRIED : why, isFatal: true }),
    );
    for (const outcome of outcomes) this.sending.onDone?.(outcome);
    return outcomes;
  }

  async #outcome(shot: ShotFile): Promise<UploadOutcome> {
    if (this.#known.has(keyOf(shot))) return outcomeOf(shot, { isKnown: true });
    if (this.#patience.isOver) return outcomeOf(shot, { error: NOT_TRIED, isFatal: true });
    try {
      const outcome = await this.#uploadFile(shot);
      this.#patience.recordSuccess();
      return outcome;
    } catch (error) {
      this.#patience.recordFailure(error);
      const words = error instanceof PrshotsError ? error.message : `failed: ${messageOf(error)}`;
      const isTooLarge = error instanceof PayloadTooLargeError;
      return outcomeOf(shot, { error: words, isFatal: this.#patience.isOver, isTooLarge });
    }
  }

  async #uploadFile(shot: ShotFile): Promise<UploadOutcome> {
    if (shot.size >= this.#shrinkFrom) return this.#uploadShrunk(shot, this.#shrinkFrom);
    if (shot.size >= this.maxBytes)
      throw new PayloadTooLargeError(
        message("too_large", { size: readableSize(shot.size), limit: readableSize(this.maxBytes) }),
      );
    const image = await contentOf(shot);
    return outcomeOf(shot, { uploaded: await this.service.send({ ...shot, image }, this.target) });
  }

  async #uploadShrunk(shot: ShotFile, limit: number): Promise<UploadOutcome> {
    // One at a time: a decoded image takes a lot of memory.
    const turn = this.#shrinking.then(async () => shrink(await contentOf(shot), limit));
    this.#shrinking = turn.catch(() => {});
    const { image, contentType, label } = await turn;
    const sizes = { before: readableSize(shot.size), after: readableSize(image.length) };
    const note = message("shrunk", { ...sizes, format: label });
    const sent = { ...shot, image, contentType };
    // Ask one by one: all contents together could exceed the memory.
    if (await this.service.isKnown(sent, this.target)) return outcomeOf(shot, { isKnown: true, note });
    return outcomeOf(shot, { uploaded: await this.service.send(sent, this.target), note });
  }
}

async function contentOf(shot: ShotFile): Promise<Buffer> {
  try {
    await requireFile(shot.path);
    return await readFile(shot.path);
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new InvalidInputError(message("cannot_read", { why: reasonOf(error) }));
  }
}

/** Return the hash of a file; empty if it cannot be read: sending it reports the error. */
async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    await requireFile(path);
    await pipeline(createReadStream(path), hash);
    return hash.digest("hex");
  } catch {
    return "";
  }
}
