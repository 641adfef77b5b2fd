import assert from "node:assert/strict";
import { test } from "node:test";
import { contentTypeOf, isCutOff, pixelSize } from "../dist/formats.js";
import { PICTURES } from "./support/pictures.js";
import { testCases, vectors } from "./support/vectors.js";

test("an image's size is read from its header", () => {
  for (const [kind, picture] of Object.entries(PICTURES)) {
    assert.deepEqual(pixelSize(picture), { width: 3, height: 2 }, kind);
    for (let length = 0; length < 20; length++)
      assert.equal(pixelSize(picture.subarray(0, length)), undefined, kind);
  }
});

testCases("pictures", "pictures", ({ file, type, size }) => {
  const image = Buffer.from(file, "base64");
  assert.equal(contentTypeOf(image) ?? null, type);
  const found = pixelSize(image);
  assert.deepEqual(found ? [found.width, found.height] : null, size);
});

const hex = (digits = "") => Buffer.from(digits, "hex");

/** Apply the changes of a vector to its image. */
function changed({ image, drop = 0, insert_at, insert, replace_at, replace, append }) {
  const whole = Buffer.from(vectors("cut_off_images").images[image], "base64");
  let bytes = whole.subarray(0, whole.length - drop);
  if (insert) bytes = Buffer.concat([bytes.subarray(0, insert_at), hex(insert), bytes.subarray(insert_at)]);
  if (replace) bytes.set(hex(replace), replace_at);
  return Buffer.concat([bytes, hex(append)]);
}

testCases("cut_off_images", "cut_off", (vector) => assert.equal(isCutOff(changed(vector)), vector.cut_off));
testCases("cut_off_images", "not_images", (vector) => assert.equal(isCutOff(hex(vector.hex)), false));
