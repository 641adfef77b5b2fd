/** The uploads of one run, in the background. */
import { readFile, stat } from "node:fs/promises";
import { CallError, HopelessError, saidBy } from "./errors.js";
import type { Attachment } from "./names.js";
import { contentTypeOf, pixelSize } from "./pixels.js";
import { Queue } from "./queue.js";
import type { Service, Shot } from "./service.js";

const AT_ONCE = 4;
const MAX_BYTES = 5 * 1024 * 1024;
const LONGEST_SIDE = 99_999;

export class Uploads {
  /** What could not be uploaded, a line for each. */
  readonly problems: string[] = [];
  uploaded = 0;
  #left = 0;
  #hopeless = "";
  readonly #queue = new Queue(AT_ONCE);

  constructor(
    private readonly service: Service,
    private readonly prNumber: number,
    private readonly commit: string,
  ) {}

  add(attachment: Attachment, name: string, viewport?: string): void {
    this.#queue.add(async () => {
      if (this.#hopeless) {
        this.#left += 1; // it would fail like the others
        return;
      }
      try {
        await this.service.upload(await shotOf(attachment, name, viewport), this.prNumber, this.commit);
        this.uploaded += 1;
      } catch (error) {
        if (error instanceof HopelessError) {
          this.#hopeless ||= error.message;
          this.#left += 1;
        } else {
          this.problems.push(`${name}: ${saidBy(error)}`);
        }
      }
    });
  }

  /** Wait for all; what nothing could be done about is one problem, however many wanted it. */
  async finished(): Promise<void> {
    await this.#queue.idle();
    if (this.#left) this.problems.push(`${screenshots(this.#left)} not uploaded: ${this.#hopeless}`);
  }
}

export function screenshots(count: number): string {
  return `${count} ${count === 1 ? "screenshot" : "screenshots"}`;
}

/** Return what is to be sent. Throws CallError when the service would not take it. */
async function shotOf(attachment: Attachment, name: string, viewport: string | undefined): Promise<Shot> {
  const image = await bytesOf(attachment);
  const contentType = contentTypeOf(image);
  if (contentType === undefined) throw new CallError("not uploaded: it is no PNG, JPEG or WebP");
  const size = pixelSize(image);
  if (size === undefined || Math.max(size.width, size.height) > LONGEST_SIDE)
    throw new CallError("not uploaded: the image does not say its size, or is broken");
  return { image, contentType, name, viewport: viewport ?? `${size.width}x${size.height}` };
}

async function bytesOf({ body, path }: Attachment): Promise<Buffer> {
  const size = body?.length ?? (path ? (await stat(path).catch(gone)).size : 0);
  if (size >= MAX_BYTES)
    throw new CallError(
      `not uploaded: it has ${(size / 1024 / 1024).toFixed(1)} MB, and the service takes less than 5`,
    );
  return body ?? (path ? await readFile(path).catch(gone) : Buffer.alloc(0));
}

function gone(error: NodeJS.ErrnoException): never {
  throw new CallError(`not uploaded: its file cannot be read (${error.code})`);
}
