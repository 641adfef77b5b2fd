/** An image's format and size in pixels, from its first bytes. */

export type ContentType = "image/png" | "image/jpeg" | "image/webp";

/** The formats' names for people. */
export const LABELS: Record<ContentType, string> = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/webp": "WEBP",
};

export interface Size {
  width: number;
  height: number;
}

/** Return the format by the leading bytes; the file's name does not count. */
export function contentTypeOf(image: Buffer): ContentType | undefined {
  if (image.subarray(0, 8).equals(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"))) return "image/png";
  if (image.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return "image/jpeg";
  if (text(image, 0) === "RIFF" && text(image, 8) === "WEBP") return "image/webp";
  return undefined;
}

/** Return whether an image file ends before its format says so. Bytes after that end are fine. */
export function isCutOff(image: Buffer): boolean {
  const contentType = contentTypeOf(image);
  return contentType !== undefined && !IS_COMPLETE[contentType](image);
}

const IS_COMPLETE: Record<ContentType, (image: Buffer) => boolean> = {
  "image/png": (image) => {
    const last = firstOf(pngChunks(image), ({ kind }) => kind === "IEND");
    return last !== undefined && last.end + CHECKSUM_BYTES <= image.length;
  },
  "image/jpeg": (image) => firstOf(jpegSegments(image), ({ kind }) => kind === END_OF_IMAGE) !== undefined,
  "image/webp": (image) => {
    const end = image.length < 8 ? 0 : 8 + image.readUInt32LE(4);
    return end >= SHORTEST_WEBP && end <= image.length;
  },
};
const SHORTEST_WEBP = 20;
const CHECKSUM_BYTES = 4;

/** A segment of a JPEG, or a chunk of a PNG or WebP. The content may end after the file. */
interface Part<Kind> {
  kind: Kind;
  start: number;
  end: number;
}

const [END_OF_IMAGE, START_OF_SCAN, APP1] = [0xd9, 0xda, 0xe1];
const WITHOUT_LENGTH = [0x01, 0xd8, END_OF_IMAGE];

/** Yield the segments up to the image's end. Like decoders, skip the bytes between them, which are the pixels. */
function* jpegSegments(image: Buffer): Generator<Part<number>> {
  for (let at = image.indexOf(0xff, 2); at >= 0; at = image.indexOf(0xff, at)) {
    const [kind, start] = [image[at + 1] ?? 0, at + 2];
    if (kind === 0 || kind === 0xff || (kind >= 0xd0 && kind <= 0xd7)) {
      at += 1; // a 0xFF in the pixels, padding, or a restart
    } else {
      const hasLength = !WITHOUT_LENGTH.includes(kind) && start + 2 <= image.length;
      at = start + (hasLength ? image.readUInt16BE(start) : 0);
      yield { kind, start: start + 2, end: at };
      if (kind === END_OF_IMAGE) return;
    }
  }
}

function* pngChunks(image: Buffer): Generator<Part<string>> {
  for (let start = 16; start <= image.length; ) {
    const [kind, end] = [text(image, start - 4), start + image.readUInt32BE(start - 8)];
    yield { kind, start, end };
    if (kind === "IEND") return;
    start = end + CHECKSUM_BYTES + 8;
  }
}

/** Yield the chunks up to where the file says that it ends. */
function* webpChunks(image: Buffer): Generator<Part<string>> {
  const whole = Math.min(image.length, 8 + image.readUInt32LE(4));
  for (let start = 20; start <= whole; ) {
    const end = start + image.readUInt32LE(start - 4);
    yield { kind: text(image, start - 8), start, end };
    start = end + (end % 2) + 8;
  }
}

/** Return the first part that matches, but none after `last`. */
function firstOf<Kind>(
  parts: Iterable<Part<Kind>>,
  matches: (part: Part<Kind>) => boolean,
  last?: Kind,
): Part<Kind> | undefined {
  for (const part of parts) {
    if (matches(part)) return part;
    if (part.kind === last) break;
  }
  return undefined;
}

/** Return the size that the image is shown in; nothing when the file is truncated, broken or in another format. */
export function pixelSize(image: Buffer): Size | undefined {
  const size = unlessCutOff(() => SIZES[contentTypeOf(image) ?? "none"](image));
  if (!size?.width || !size.height) return undefined;
  return isRotated(image) ? { width: size.height, height: size.width } : size;
}

function unlessCutOff<Found>(read: () => Found): Found | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const SIZES: Record<ContentType | "none", (image: Buffer) => Size | undefined> = {
  "image/png": (image) =>
    text(image, 12) === "IHDR"
      ? { width: image.readUInt32BE(16), height: image.readUInt32BE(20) }
      : undefined,
  "image/jpeg": (image) => {
    const frame = firstOf(jpegSegments(image), ({ kind }) => isFrame(kind), START_OF_SCAN);
    return (
      frame && { height: image.readUInt16BE(frame.start + 1), width: image.readUInt16BE(frame.start + 3) }
    );
  },
  "image/webp": webpSize,
  none: () => undefined,
};

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function webpSize(image: Buffer): Size | undefined {
  switch (text(image, 12)) {
    case "VP8 ":
      if (image.readUIntBE(23, 3) !== 0x9d012a) return undefined;
      return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      if (image.readUInt8(20) !== 0x2f) return undefined;
      const bits = image.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

const EXIF = "Exif\0\0";
const ORIENTATION = 0x0112;
const SHORT = 3;

/** Return whether the EXIF orientation shows the file's rows as columns. */
function isRotated(image: Buffer): boolean {
  const found = exifOf(image);
  const exif = startsWith(found, EXIF) ? found.subarray(EXIF.length) : found;
  const isLittleEndian = startsWith(exif, "II*\0");
  if (!isLittleEndian && !startsWith(exif, "MM\0*")) return false;
  const short = (at: number) => (isLittleEndian ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const long = (at: number) => (isLittleEndian ? exif.readUInt32LE(at) : exif.readUInt32BE(at));
  const orientation = unlessCutOff(() => {
    const first = long(4) + 2;
    const end = Math.min(first + 12 * short(first - 2), exif.length);
    for (let at = first; at + 12 <= end; at += 12)
      if (short(at) === ORIENTATION) return short(at + 2) === SHORT && long(at + 4) === 1 ? short(at + 8) : 0;
    return 0;
  });
  return orientation !== undefined && orientation >= 5 && orientation <= 8;
}

/** Return the EXIF metadata where decoders look for it: before the pixels, or anywhere in an extended WebP. */
function exifOf(image: Buffer): Buffer {
  const found = EXIF_PARTS[contentTypeOf(image) ?? "none"](image);
  return image.subarray(found?.start ?? 0, found?.end ?? 0);
}

const EXIF_FLAG = 8;
const EXIF_PARTS: Record<ContentType | "none", (image: Buffer) => Part<unknown> | undefined> = {
  "image/png": (image) => firstOf(pngChunks(image), ({ kind }) => kind === "eXIf", "IDAT"),
  "image/jpeg": (image) =>
    firstOf(
      jpegSegments(image),
      ({ kind, start, end }) => kind === APP1 && startsWith(image.subarray(start, end), EXIF),
      START_OF_SCAN,
    ),
  "image/webp": (image) =>
    text(image, 12) === "VP8X" && image.readUInt8(20) & EXIF_FLAG
      ? firstOf(webpChunks(image), ({ kind }) => kind === "EXIF")
      : undefined,
  none: () => undefined,
};

function startsWith(bytes: Buffer, start: string): boolean {
  return bytes.toString("latin1", 0, start.length) === start;
}

function text(image: Buffer, at: number): string {
  return image.toString("latin1", at, at + 4);
}
