/**
 * Shrink images that are too large to upload: without loss, then with fewer shades, then with fewer pixels.
 *
 * Node has no encoder for JPEG or WebP, so this shrinks PNG only, which is what screenshots are. The same file always
 * shrinks to the same bytes: it stays equal to its baseline.
 */
import { InvalidInputError } from "./errors.js";
import { type ContentType, contentTypeOf, LABELS } from "./formats.js";
import { type Bitmap, decode, encode } from "./png.js";
import { readableSize } from "./sizes.js";
import { message } from "./statements.js";

/** About 400 MB when decoded. Larger images are not decoded. */
const MAX_PIXELS = 100_000_000;
const MAX_FILE_BYTES = 200 * 1024 * 1024;
/** Bits per channel to keep. With 4, gradients have visible steps. */
const SHADES = [8, 5, 4];
/** Fewer shades seldom save more than this factor. Then half the pixels are the next try. */
const HOPELESS = 4;

export interface Shrunk {
  image: Buffer;
  contentType: ContentType;
  label: string;
}

/** Return the image in less than `limit` bytes. Throws InvalidInputError if that is not possible. */
export async function shrink(image: Buffer, limit: number): Promise<Shrunk> {
  const contentType = contentTypeOf(image);
  if (contentType !== "image/png")
    throw new InvalidInputError(
      `cannot be shrunk: only PNG can, not ${contentType ? LABELS[contentType] : "this format"}. Take the screenshot as a PNG, ` +
        "or upload with the Python client (pip install 'prshots[shrink]')",
    );
  if (image.length > MAX_FILE_BYTES)
    throw new InvalidInputError(message("too_large_to_shrink", { limit: readableSize(MAX_FILE_BYTES) }));
  let bitmap = await decode(image, MAX_PIXELS);
  for (;;) {
    for (const bits of SHADES) {
      const attempt = await encode(withShades(bitmap, bits));
      if (attempt.length < limit) return { image: attempt, contentType, label: LABELS[contentType] };
      if (attempt.length > HOPELESS * limit) break;
    }
    if (bitmap.width === 1 && bitmap.height === 1)
      throw new InvalidInputError(message("cannot_shrink_enough"));
    bitmap = halve(bitmap);
  }
}

/** Keep the upper bits of each channel. Black stays black, and white stays white. */
function withShades(bitmap: Bitmap, bits: number): Bitmap {
  if (bits === 8) return bitmap;
  const most = 2 ** bits - 1;
  const shades = Uint8Array.from({ length: 256 }, (_, value) =>
    Math.round((Math.round((value * most) / 255) * 255) / most),
  );
  return { ...bitmap, pixels: Buffer.from(bitmap.pixels.map((value) => shades[value] ?? 0)) };
}

/** Return the image with half the width and height. Each pixel is the mean of up to four. */
function halve({ width, height, channels, pixels, exif }: Bitmap): Bitmap {
  const [half, rows] = [Math.ceil(width / 2), Math.ceil(height / 2)];
  const reduced = Buffer.alloc(half * rows * channels);
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < half; x++)
      for (let channel = 0; channel < channels; channel++) {
        const [left, right] = [2 * x, Math.min(2 * x + 1, width - 1)];
        const [top, bottom] = [2 * y, Math.min(2 * y + 1, height - 1)];
        const at = (column: number, row: number) => pixels[(row * width + column) * channels + channel] ?? 0;
        const sum = at(left, top) + at(right, top) + at(left, bottom) + at(right, bottom);
        reduced[(y * half + x) * channels + channel] = (sum + 2) >> 2;
      }
  return { width: half, height: rows, channels, pixels: reduced, exif };
}
