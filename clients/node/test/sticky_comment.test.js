import assert from "node:assert/strict";
import { ForgeError, ForgeRefusedError } from "../dist/errors.js";
import { keepCurrent } from "../dist/sticky_comment.js";
import { MemoryForge } from "./support/memory_forge.js";
import { testCases } from "./support/vectors.js";

const ERRORS = { failed: ForgeError, refused: ForgeRefusedError };

testCases("sticky_comment", "cases", async (vector) => {
  const forge = new MemoryForge(vector.comments, vector.forge);
  const texts = [...vector.texts];
  const render = async () => (texts.length > 1 ? texts.shift() : texts[0]);
  const creating = () => vector.creating ?? true;
  const posting = keepCurrent(forge, 7, render, creating, () => !vector.siblings);
  if (vector.error) await assert.rejects(posting, ERRORS[vector.error]);
  else {
    const url = vector.kept ? `https://forge.example/7#${vector.kept}` : "";
    const { isOlder = false, ...posted } = await posting;
    assert.deepEqual(posted, { outcome: vector.outcome, url });
    assert.equal(isOlder, vector.is_older ?? false);
  }
  assert.deepEqual(forge.writes, vector.writes);
  assert.deepEqual(
    forge.left.map(({ author, body }) => ({ author, body })),
    vector.left,
  );
  if ("asks_who_we_are" in vector) assert.equal(forge.askedWhoWeAre, vector.asks_who_we_are);
});
