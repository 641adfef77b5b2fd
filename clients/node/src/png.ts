/** Decodes and encodes PNG with 8 bits per channel and without interlacing, as browsers and phones write it. */
import { promisify } from "node:util";
import { constants, deflate, inflate } from "node:zlib";
import { InvalidInputError } from "./errors.js";
import { message } from "./statements.js";
import { formatNumber } from "./wording.js";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const EIGHT_BITS = 8;
const PALETTE = 3;
/** Samples of a pixel, by color type: gray, RGB, palette, gray with alpha, RGB with alpha. */
const SAMPLES: Record<number, number> = { 0: 1, 2: 3, [PALETTE]: 1, 4: 2, 6: 4 };
const COLOR_TYPES: Record<number, number> = { 1: 0, 2: 4, 3: 2, 4: 6 };
const FILTERS = [0, 1, 2, 4]; // 3, the mean, rarely is the best for screenshots
const LEVEL = 6;

/** Decoded pixels: `channels` bytes each (gray, gray with alpha, RGB or RGBA), row by row. */
export interface Bitmap {
  width: number;
  height: number;
  channels: number;
  pixels: Buffer;
  /** Kept as it is, because it may say how to turn the image. */
  exif: Buffer;
}

interface Chunks {
  exif: Buffer;
  header: Buffer;
  palette: Buffer;
  alpha: Buffer;
  data: Buffer;
}

/** Throws InvalidInputError for another kind of PNG, and for a damaged one. */
export async function decode(image: Buffer, maxPixels: number): Promise<Bitmap> {
  const { header, palette, alpha, data, exif } = chunksOf(image);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const colorType = header.readUInt8(9);
  const samples = SAMPLES[colorType];
  if (header.readUInt8(8) !== EIGHT_BITS || !samples || header.readUInt8(12) !== 0)
    throw new InvalidInputError("cannot be shrunk: it is interlaced, or has other than 8 bits per channel");
  if (width * height > maxPixels)
    throw new InvalidInputError(message("too_many_pixels", { limit: formatNumber(maxPixels) }));
  const stride = width * samples;
  const filtered = await inflated(data, (stride + 1) * height);
  const pixels = unfiltered(filtered, stride, height, samples);
  if (colorType !== PALETTE) return { width, height, channels: samples, pixels, exif };
  return { width, height, exif, ...withoutPalette(pixels, palette, alpha) };
}

function chunksOf(image: Buffer): Chunks {
  const found: Chunks = {
    header: Buffer.alloc(0),
    palette: Buffer.alloc(0),
    alpha: Buffer.alloc(0),
    exif: Buffer.alloc(0),
    data: Buffer.alloc(0),
  };
  const data: Buffer[] = [];
  for (let at = SIGNATURE.length; at + 12 <= image.length; at += 12 + image.readUInt32BE(at)) {
    const content = image.subarray(at + 8, at + 8 + image.readUInt32BE(at));
    const name = image.toString("latin1", at + 4, at + 8);
    if (name === "IHDR" && content.length === 13) found.header = content;
    else if (name === "PLTE") found.palette = content;
    else if (name === "tRNS") found.alpha = content;
    else if (name === "eXIf" && !data.length) found.exif = content;
    else if (name === "IDAT") data.push(content);
  }
  if (!found.header.length || !data.length) throw damaged();
  return { ...found, data: Buffer.concat(data) };
}

async function inflated(data: Buffer, bytes: number): Promise<Buffer> {
  try {
    const filtered = await promisify(inflate)(data, { maxOutputLength: bytes + 1 });
    if (filtered.length !== bytes) throw damaged();
    return filtered;
  } catch {
    throw damaged();
  }
}

function damaged(): InvalidInputError {
  return new InvalidInputError("cannot be shrunk: the file is damaged");
}

function unfiltered(filtered: Buffer, stride: number, height: number, samples: number): Buffer {
  const pixels = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const [from, to] = [row * (stride + 1) + 1, row * stride];
    const filter = filtered[from - 1] ?? 0;
    for (let x = 0; x < stride; x++) {
      const left = x >= samples ? (pixels[to + x - samples] ?? 0) : 0;
      const up = row > 0 ? (pixels[to + x - stride] ?? 0) : 0;
      const corner = row > 0 && x >= samples ? (pixels[to + x - stride - samples] ?? 0) : 0;
      pixels[to + x] = (filtered[from + x] ?? 0) + predicted(filter, left, up, corner);
    }
  }
  return pixels;
}

/** Return what a filter expects a byte to be. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const toLeft = Math.abs(up - corner);
      const toUp = Math.abs(left - corner);
      const toCorner = Math.abs(left + up - 2 * corner);
      if (toLeft <= toUp && toLeft <= toCorner) return left;
      return toUp <= toCorner ? up : corner;
    }
    default:
      return 0;
  }
}

function withoutPalette(
  indexes: Buffer,
  palette: Buffer,
  alpha: Buffer,
): Pick<Bitmap, "channels" | "pixels"> {
  const channels = alpha.length ? 4 : 3;
  const pixels = Buffer.alloc(indexes.length * channels);
  indexes.forEach((index, at) => {
    palette.copy(pixels, at * channels, index * 3, index * 3 + 3);
    if (channels === 4) pixels[at * 4 + 3] = alpha[index] ?? 255;
  });
  return { channels, pixels };
}

/** Encode. A better compression would take several times as long, for a few percent. */
export async function encode({ width, height, channels, pixels, exif }: Bitmap): Promise<Buffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(EIGHT_BITS, 8);
  header.writeUInt8(COLOR_TYPES[channels] ?? 0, 9);
  const filtered = filteredRows(pixels, width * channels, height, channels);
  const data = await promisify(deflate)(filtered, { level: LEVEL, memLevel: constants.Z_MAX_MEMLEVEL });
  const metadata = exif.length ? [chunk("eXIf", exif)] : [];
  const chunks = [chunk("IHDR", header), ...metadata, chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...chunks]);
}

/** Filter each row with the filter that leaves the smallest numbers. */
function filteredRows(pixels: Buffer, stride: number, height: number, samples: number): Buffer {
  const filtered = Buffer.alloc((stride + 1) * height);
  const attempt = Buffer.alloc(stride + 1);
  for (let row = 0; row < height; row++) {
    let least = Number.POSITIVE_INFINITY;
    for (const filter of FILTERS) {
      const sum = filterRow(attempt, filter, pixels, row, stride, samples);
      if (sum >= least) continue;
      least = sum;
      attempt.copy(filtered, row * (stride + 1));
    }
  }
  return filtered;
}

/** Write the filtered row, and return the sum of its numbers without their signs. */
function filterRow(
  into: Buffer,
  filter: number,
  pixels: Buffer,
  row: number,
  stride: number,
  samples: number,
): number {
  const from = row * stride;
  let sum = 0;
  into[0] = filter;
  for (let x = 0; x < stride; x++) {
    const left = x >= samples ? (pixels[from + x - samples] ?? 0) : 0;
    const up = row > 0 ? (pixels[from + x - stride] ?? 0) : 0;
    const corner = row > 0 && x >= samples ? (pixels[from + x - stride - samples] ?? 0) : 0;
    const rest = ((pixels[from + x] ?? 0) - predicted(filter, left, up, corner)) & 0xff;
    into[x + 1] = rest;
    sum += rest < 128 ? rest : 256 - rest;
  }
  return sum;
}

function chunk(name: string, content: Buffer): Buffer {
  const framed = Buffer.alloc(12 + content.length);
  framed.writeUInt32BE(content.length, 0);
  framed.write(name, 4, "latin1");
  content.copy(framed, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, 8 + content.length)), 8 + content.length);
  return framed;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Node's own zlib.crc32 came with 20.15. */
function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
