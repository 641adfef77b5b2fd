/** The uploads of one run, in the background. */
import { readFile, stat } from "node:fs/promises";
import { InvalidInputError, messageOf } from "./errors.js";
import { contentTypeOf, isCutOff, pixelSize } from "./formats.js";
import { Patience } from "./patience.js";
import { Queue } from "./queue.js";
import type { Service, Shot } from "./service.js";
import { type Title, VIEWPORT } from "./shot_names.js";
import { cutOffWarning } from "./shots.js";
import { readableSize } from "./sizes.js";
import { message } from "./statements.js";
import type { Target } from "./target.js";

export const AT_ONCE = 4;
/** An image: its bytes, or the file that has them. */
export interface Picture {
  /** What it showed before, to be shown as a pair. */
  before?: Picture;
  body?: Buffer;
  path?: string;
}

export class BackgroundUploads {
  /** What was not uploaded, one line each. */
  readonly problems: string[] = [];
  /** What was uploaded although it is damaged, one line each. */
  readonly warnings: string[] = [];
  uploaded = 0;
  /** How many of these the service had already. */
  known = 0;
  #notTried = 0;
  readonly #patience = new Patience();
  readonly #queue: Queue;

  constructor(
    private readonly service: Pick<Service, "send" | "isKnown" | "maxImageBytes">,
    private readonly target: Target,
    atOnce = AT_ONCE,
  ) {
    this.#queue = new Queue(atOnce);
  }

  add(picture: Picture, name: string, viewport: string, theme = ""): void {
    this.#queue.add(async () => {
      if (this.#patience.isOver) {
        this.#notTried += 1;
        return;
      }
      try {
        const shot = await shotOf(picture, { name, viewport, theme }, await this.service.maxImageBytes());
        if (isCutOff(shot.image)) this.warnings.push(`${name}: ${cutOffWarning(shot.contentType)}`);
        const earlier = this.target.baselineOf ? undefined : picture.before; // a baseline is never a pair
        const before = earlier && (await this.#before(earlier, shot));
        await this.#send({ ...shot, ...(before && { before }) });
        this.uploaded += 1;
        this.#patience.recordSuccess();
      } catch (error) {
        this.#judge(error, name);
      }
    });
  }

  /** Return what a shot showed before; nothing if it showed the same. Without a readable one, the shot is sent alone. */
  async #before(picture: Picture, { image, name }: Shot): Promise<Shot["before"]> {
    try {
      const before = await imageOf(picture, await this.service.maxImageBytes());
      return before.image.equals(image) ? undefined : before;
    } catch (error) {
      const why = messageOf(error).replace(/^not uploaded: /, "");
      this.warnings.push(`${name}: uploaded without the image to compare it with: ${why}`);
      return undefined;
    }
  }

  /**
   * Send a shot, or only its hash if the service has its bytes. Ask about each shot separately: waiting for more shots
   * would delay the uploads, because tests are slow. A pair is always sent.
   */
  async #send(shot: Shot): Promise<void> {
    if (!shot.before && (await this.service.isKnown(shot, this.target))) this.known += 1;
    else await this.service.send(shot, this.target);
  }

  /** Wait for all uploads. Reports the uploads that were not tried as one problem. */
  async finish(): Promise<void> {
    await this.#queue.idle();
    if (!this.#notTried) return;
    const screenshots = countScreenshots(this.#notTried);
    this.problems.push(message("run_not_uploaded", { screenshots, why: this.#patience.reason }));
  }

  /** Give up if every other upload would fail for the same reason. */
  #judge(error: unknown, name: string): void {
    if (this.#patience.recordFailure(error)) this.#notTried += 1;
    else this.problems.push(`${name}: ${messageOf(error)}`);
  }
}

export function countScreenshots(count: number): string {
  return `${count} ${count === 1 ? "screenshot" : "screenshots"}`;
}

/** Return what to upload. Throws InvalidInputError if the service would refuse it. */
async function shotOf(
  picture: Picture,
  { name, viewport, theme }: Title,
  maxImageBytes: number,
): Promise<Shot> {
  const { image, contentType } = await imageOf(picture, maxImageBytes);
  const size = pixelSize(image);
  if (!viewport && size === undefined)
    throw new InvalidInputError("not uploaded: the image does not contain its size, so it may be broken");
  const shown = viewport || `${size?.width}x${size?.height}`;
  if (!VIEWPORT.test(shown))
    throw new InvalidInputError(`not uploaded: invalid viewport ${shown}: each side takes 1 to 99999`);
  return { image, contentType, name, viewport: shown, theme };
}

async function bytesOf({ body, path }: Picture, maxImageBytes: number): Promise<Buffer> {
  const file = body || !path ? undefined : await stat(path).catch(unreadable);
  if (file && !file.isFile()) throw new InvalidInputError("not uploaded: it is not a file"); // reading a pipe would block
  const size = body?.length ?? file?.size ?? 0;
  if (size >= maxImageBytes)
    throw new InvalidInputError(
      `not uploaded: it has ${readableSize(size)}, and the service takes less than ${readableSize(maxImageBytes)}`,
    );
  return body ?? (path ? await readFile(path).catch(unreadable) : Buffer.alloc(0));
}

function unreadable(error: NodeJS.ErrnoException): never {
  throw new InvalidInputError(`not uploaded: cannot read its file (${error.code})`);
}

async function imageOf(
  picture: Picture,
  maxImageBytes: number,
): Promise<Pick<Shot, "image" | "contentType">> {
  const image = await bytesOf(picture, maxImageBytes);
  const contentType = contentTypeOf(image);
  if (contentType === undefined)
    throw new InvalidInputError("not uploaded: it is not a PNG, JPEG or WebP image");
  return { image, contentType };
}
