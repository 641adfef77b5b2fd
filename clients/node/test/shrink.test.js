import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidInputError } from "../dist/errors.js";
import { pixelSize } from "../dist/formats.js";
import { decode, encode } from "../dist/png.js";
import { shrink } from "../dist/shrink.js";
import { PICTURES } from "./support/pictures.js";

const MANY = 1e8;

/** Pixels that hardly compress, the same in every run. */
function noise(width, height, channels) {
  let state = 1;
  const next = () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state >> 16;
  };
  const pixels = Buffer.from({ length: width * height * channels }).map(next);
  return { width, height, channels, pixels, exif: Buffer.alloc(0) };
}

for (const channels of [1, 2, 3, 4])
  test(`a PNG with ${channels} channels is decoded and encoded without loss`, async () => {
    const bitmap = noise(33, 21, channels);
    assert.deepEqual(await decode(await encode(bitmap), MANY), bitmap);
  });

test("a PNG of Pillow is decoded", async () => {
  const { width, height, channels, pixels } = await decode(PICTURES.png, MANY);
  assert.deepEqual([width, height, channels, pixels.length], [3, 2, 3, 18]);
});

test("an image is shrunk until it fits, always to the same bytes", async () => {
  const image = await encode(noise(64, 48, 3));
  const lossless = await shrink(image, image.length + 1);
  assert.deepEqual(await decode(lossless.image, MANY), noise(64, 48, 3));
  assert.deepEqual([lossless.contentType, lossless.label], ["image/png", "PNG"]);
  const { image: fewerShades } = await shrink(image, image.length);
  assert.deepEqual(pixelSize(fewerShades), { width: 64, height: 48 });
  const { image: smaller } = await shrink(image, 1_000);
  assert.ok(smaller.length < 1_000);
  assert.deepEqual(pixelSize(smaller), { width: 16, height: 12 });
  assert.deepEqual((await shrink(image, 1_000)).image, smaller);
  await assert.rejects(shrink(image, 10), /cannot be shrunk enough/);
});

test("a turned image stays turned", async () => {
  const exif = Buffer.from("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0", "latin1");
  const image = await encode({ ...noise(64, 48, 3), exif });
  assert.deepEqual(pixelSize(image), { width: 48, height: 64 });
  assert.deepEqual(pixelSize((await shrink(image, 1_000)).image), { width: 12, height: 16 });
});

test("black and white stay what they are", async () => {
  const bitmap = noise(64, 48, 3);
  const striped = {
    ...bitmap,
    pixels: bitmap.pixels.map((value, at) => (at < 192 ? 255 * (at % 2) : value)),
  };
  const image = await encode(striped);
  const fewerShades = await decode((await shrink(image, image.length)).image, MANY);
  assert.deepEqual(fewerShades.pixels.subarray(0, 192), striped.pixels.subarray(0, 192));
});

test("what cannot be shrunk is refused with a reason", async () => {
  const refused = (image, why) =>
    assert.rejects(
      shrink(image, 10),
      (error) => error instanceof InvalidInputError && why.test(error.message),
    );
  await refused(PICTURES.jpeg, /only PNG can, not JPEG\. Take the screenshot as a PNG/);
  await refused(PICTURES.lossy, /not WEBP/);
  await refused(PICTURES.png.subarray(0, 40), /damaged/);
  const interlaced = Buffer.from(PICTURES.png);
  interlaced[28] = 1;
  await refused(interlaced, /interlaced/);
  const huge = Buffer.from(PICTURES.png);
  huge.writeUInt32BE(99_999, 16);
  huge.writeUInt32BE(99_999, 20);
  await refused(huge, /has more than 100,000,000 pixels/);
});
