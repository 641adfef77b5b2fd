// Uploading files: in order, a few at a time, and no longer than it makes sense.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { BackgroundUploads } from "../dist/background_uploads.js";
import * as errors from "../dist/errors.js";
import { findShots } from "../dist/shots.js";
import { NOT_TRIED, uploadAll } from "../dist/upload.js";
import { PICTURES } from "./support/pictures.js";
import { testCases } from "./support/vectors.js";

const SHA = "0".repeat(40);
const UPLOADED = { id: "1", viewUrl: "u", markdown: "m" };
const ERRORS = {
  failed: errors.CallError,
  invalid: errors.InvalidInputError,
  "rate limited": errors.RateLimitedError,
  unauthorized: errors.UnauthorizedError,
  unreachable: errors.UnreachableError,
};
const root = mkdtempSync(join(tmpdir(), "prshots-"));
after(() => rmSync(root, { recursive: true }));

/** Return this many shots: files in a new folder. */
async function shots(count, content = PICTURES.png) {
  const folder = mkdtempSync(join(root, "shots-"));
  for (let number = 0; number < count; number++) writeFileSync(join(folder, `${number}.png`), content);
  return (await findShots([folder])).shots;
}

test("a file that becomes a pipe is not read", async () => {
  const [shot] = await shots(1);
  rmSync(shot.path);
  execFileSync("mkfifo", [shot.path]); // reading it would block forever
  const service = { maxImageBytes: async () => 1000, missing: async (hashed) => hashed };
  for (const target of [
    { prNumber: 7, commitSha: SHA },
    { baselineOf: "main", commitSha: SHA },
  ])
    assert.equal((await uploadAll(service, [shot], target))[0].error, "is not a file");
  const uploads = new BackgroundUploads(service, { prNumber: 7, commitSha: SHA });
  uploads.add({ path: shot.path }, "dot", "");
  await uploads.finish();
  assert.deepEqual(uploads.problems, ["dot: not uploaded: it is not a file"]);
});

testCases("retries", "uploads", async ({ results, tried }) => {
  const left = [...results];
  const service = {
    maxImageBytes: async () => Number.POSITIVE_INFINITY,
    missing: async (hashed) => hashed,
    send: async () => {
      const result = left.shift();
      if (result !== "ok") throw new ERRORS[result](result);
      return UPLOADED;
    },
  };
  const target = { prNumber: 7, commitSha: SHA };
  const outcomes = await uploadAll(service, await shots(results.length), target, { jobs: 1 });
  assert.deepEqual(
    outcomes.map(({ error }) => error || "ok"),
    results.map((result, index) => (index < tried ? result : NOT_TRIED)),
  );
});

test("as many uploads run at a time as asked for, and the outcomes are in the order of the files", async () => {
  let running = 0;
  let three;
  const areThree = new Promise((resolve) => {
    three = resolve;
  });
  const service = {
    maxImageBytes: async () => Number.POSITIVE_INFINITY,
    missing: async (hashed) => hashed,
    send: async () => {
      running += 1;
      assert.ok(running <= 3);
      if (running === 3) three();
      await areThree; // the first three wait for each other
      running -= 1;
      return UPLOADED;
    },
  };
  const done = [];
  const found = await shots(12);
  const sending = { jobs: 3, onDone: ({ shot }) => done.push(shot.name) };
  const outcomes = await uploadAll(service, found, { prNumber: 7, commitSha: SHA }, sending);
  const names = found.map(({ name }) => name);
  assert.deepEqual(
    outcomes.map(({ shot, error }) => error || shot.name),
    names,
  );
  assert.deepEqual(done.sort(), [...names].sort());
});

test("a file that is too large is not sent", async () => {
  const service = {
    maxImageBytes: async () => 10,
    missing: async (hashed) => hashed,
    send: () => assert.fail("it was sent"),
  };
  const [outcome] = await uploadAll(service, await shots(1), { prNumber: 7, commitSha: SHA });
  assert.deepEqual(
    [outcome.error, outcome.isTooLarge, outcome.isFatal],
    ["is 78 B: the service takes less than 10 B", true, false],
  );
});
