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
import type { Service, Shot } from "./service.js";
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

type Api = Pick<Service, "upload" | "baseline" | "missingBaselines" | "maxImageBytes">;

/** Return an outcome of which nothing else is known. */
export function outcomeOf(shot: ShotFile, known: Partial<UploadOutcome> = {}): UploadOutcome {
  return { shot, error: "", note: shot.note, isFatal: false, isTooLarge: false, isKnown: false, ...known };
}

/**
 * Upload a job's screenshots to its pull request, or as the baselines of its branch, and return the outcomes in the same
 * order. One failure does not stop the others, unless they would fail too. Of a baseline whose bytes the service has,
 * only the hash is sent.
 */
export async function uploadAll(
  service: Api,
  shots: readonly ShotFile[],
  target: Target,
  sending: Sending = {},
): Promise<UploadOutcome[]> {
  const { prNumber, baselineOf = "", commitSha } = target;
  const { onDone = () => {} } = sending;
  if (!shots.length) return [];
  const maxBytes = await service.maxImageBytes();
  if (prNumber !== undefined) {
    const send = (shot: Shot) => service.upload(shot, prNumber, commitSha);
    return new FileUploads(send, maxBytes, sending).run(shots);
  }
  const known = await knownBaselines(service, baselineOf, commitSha, sentAsTheyAre(shots, maxBytes, sending));
  const outcomes = new Map<string, UploadOutcome>();
  for (const shot of shots.filter((each) => known.has(keyOf(each)))) {
    const outcome = outcomeOf(shot, { isKnown: true });
    outcomes.set(keyOf(shot), outcome);
    onDone(outcome);
  }
  const missing = shots.filter((shot) => !known.has(keyOf(shot)));
  const send = (shot: Shot) => service.baseline(shot, baselineOf, commitSha);
  for (const outcome of await new FileUploads(send, maxBytes, sending).run(missing))
    outcomes.set(keyOf(outcome.shot), outcome);
  return shots.map((shot) => outcomes.get(keyOf(shot)) as UploadOutcome);
}

/** The uploads of one command. */
class FileUploads {
  readonly #patience = new Patience();
  /** The service's 413 decides if its limit is not known. Shrinking needs a number. */
  readonly #shrinkFrom: number;
  #shrinking: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly send: (shot: Shot) => Promise<Uploaded>,
    private readonly maxBytes: number,
    private readonly sending: Sending,
  ) {
    const limit = Number.isFinite(maxBytes) ? maxBytes : MAX_IMAGE_BYTES;
    this.#shrinkFrom = sending.shrink ? limit : Number.POSITIVE_INFINITY;
  }

  async run(shots: readonly ShotFile[]): Promise<UploadOutcome[]> {
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

  async #outcome(shot: ShotFile): Promise<UploadOutcome> {
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
    return outcomeOf(shot, { uploaded: await this.send({ ...shot, image }) });
  }

  async #uploadShrunk(shot: ShotFile, limit: number): Promise<UploadOutcome> {
    // One at a time: a decoded image takes a lot of memory.
    const turn = this.#shrinking.then(async () => shrink(await contentOf(shot), limit));
    this.#shrinking = turn.catch(() => {});
    const { image, contentType, label } = await turn;
    const sizes = { before: readableSize(shot.size), after: readableSize(image.length) };
    const note = message("shrunk", { ...sizes, format: label });
    return outcomeOf(shot, { uploaded: await this.send({ ...shot, image, contentType }), note });
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

/** Return the shots whose file is sent unchanged, so that its hash identifies it. */
function sentAsTheyAre(shots: readonly ShotFile[], maxBytes: number, { shrink }: Sending): ShotFile[] {
  const limit = Number.isFinite(maxBytes) ? maxBytes : MAX_IMAGE_BYTES;
  return shots.filter((shot) => !shrink || shot.size < limit);
}

/** Return the keys of the shots whose bytes the service has. It has recorded them for this commit. */
async function knownBaselines(
  service: Api,
  branch: string,
  commitSha: string,
  shots: ShotFile[],
): Promise<Set<string>> {
  const hashed: HashedShot[] = [];
  for (const shot of shots) {
    const sha256 = await sha256Of(shot.path);
    const { name, viewport, theme } = shot;
    if (sha256) hashed.push({ name, viewport, theme, sha256 });
  }
  const missing = await service.missingBaselines(branch, commitSha, hashed);
  const known = new Set(hashed.map(keyOf));
  for (const shot of missing) known.delete(keyOf(shot));
  return known;
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
