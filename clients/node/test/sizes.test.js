// Sizes for people, the same in every language.
import assert from "node:assert/strict";
import { readableSize } from "../dist/sizes.js";
import { testCases } from "./support/vectors.js";

testCases("sizes", "sizes", ({ bytes, words }) => {
  assert.equal(readableSize(bytes), words);
});
