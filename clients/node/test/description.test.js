import assert from "node:assert/strict";
import { findImages, replaceImages } from "../dist/description.js";
import { testCases } from "./support/vectors.js";

testCases("descriptions", "cases", ({ text, images, deleted, replaced }) => {
  assert.deepEqual(findImages(text), images);
  const gone = new Set(deleted);
  assert.equal(replaceImages(text, gone), replaced);
  assert.equal(replaceImages(replaced, gone), replaced);
});
