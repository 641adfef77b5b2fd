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
  "image/png": isCompletePng,
  "image/jpeg": isCompleteJpeg,
  "image/webp": (image) => {
    const end = image.length < 8 ? 0 : 8 + image.readUInt32LE(4);
    return end >= SHORTEST_WEBP && end <= image.length;
  },
};
const SHORTEST_WEBP = 20;

/** Return whether its chunks lead to the last one, IEND. */
function isCompletePng(image: Buffer): boolean {
  let start = 8;
  while (start + 8 <= image.length) {
    const end = start + 12 + image.readUInt32BE(start);
    if (text(image, start + 4) === "IEND") return end <= image.length;
    start = end;
  }
  return false;
}

/** Return whether its segments, with pixels between them, lead to the end marker. */
function isCompleteJpeg(image: Buffer): boolean {
  let at = 2;
  for (;;) {
    at = image.indexOf(0xff, at);
    if (at < 0 || at + 1 >= image.length) return false;
    const marker = image.readUInt8(at + 1);
    if (marker === 0xd9) return true;
    if (marker === 0xff) {
      at += 1; // padding
    } else if (marker === 0x00 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2; // a 0xFF in the pixels, or a marker without a segment
    } else {
      if (at + 4 > image.length) return false;
      at += 2 + image.readUInt16BE(at + 2);
    }
  }
}

/** Return the size in pixels; nothing when the file is truncated, broken or in another format. */
export function pixelSize(image: Buffer): Size | undefined {
  try {
    const size = SIZES[contentTypeOf(image) ?? "none"](image);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // it ends before its size
    throw error;
  }
}

const SIZES: Record<ContentType | "none", (image: Buffer) => Size | undefined> = {
  "image/png": (image) =>
    text(image, 12) === "IHDR"
      ? { width: image.readUInt32BE(16), height: image.readUInt32BE(20) }
      : undefined,
  "image/jpeg": jpegSize,
  "image/webp": webpSize,
  none: () => undefined,
};

/** Return the size from the first frame header, after any number of other segments. */
function jpegSize(image: Buffer): Size | undefined {
  let at = 2;
  for (;;) {
    if (image.readUInt8(at) !== 0xff) return undefined;
    const marker = image.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1; // padding
    } else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2; // a marker without a segment
    } else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) };
    } else {
      const length = image.readUInt16BE(at + 2);
      if (length < 2 || marker === 0xd9 || marker === 0xda) return undefined;
      at += 2 + length;
    }
  }
}

function webpSize(image: Buffer): Size | undefined {
  switch (text(image, 12)) {
    case "VP8 ":
      return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = image.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

function text(image: Buffer, at: number): string {
  return image.toString("latin1", at, at + 4);
}
