// The client asks which shots the service has, and uploads only the others. The server is real, the clock is fake.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BackgroundUploads } from "../dist/background_uploads.js";
import { Sender } from "../dist/sender.js";
import { Service } from "../dist/service.js";
import { findShots } from "../dist/shots.js";
import { uploadAll } from "../dist/upload.js";
import { PICTURES } from "./support/pictures.js";
import { served } from "./support/servers.js";
import { testCases } from "./support/vectors.js";

const SHA = "0".repeat(40);
const TOKENS = { token: async () => "t", renew: async () => undefined };
const CLOCK = { now: () => 0, pause: async () => {} };

const sha256 = (content) => createHash("sha256").update(content).digest("hex");

/** Run a service that replies as a case says. Return its questions, and the names and keys of uploads. */
async function recorded({ known_replies = [], upload_replies = [] }, use) {
  const [questions, attempts] = [[], []];
  const [knownLeft, uploadsLeft] = [[...known_replies], [...upload_replies]];
  const answer = ({ url, headers }, content) => {
    if (url.endsWith("/known")) {
      questions.push([url, JSON.parse(content)]);
      const [status, said] = knownLeft.shift() ?? [200, { missing: [] }];
      return { status, ...(typeof said === "string" ? { body: said } : { json: said }) };
    }
    if (!["/v1/upload", "/v1/baseline"].includes(url)) return { status: 404 };
    attempts.push([content.match(/name="name"\r\n\r\n(.*)\r\n/)[1], headers["idempotency-key"]]);
    const status = uploadsLeft.shift() ?? 200;
    return status ? { status } : { cut: true }; // the response is lost
  };
  await served(answer, (url) => {
    const sender = new Sender(new AbortController().signal, 5, () => {}, CLOCK);
    return use(new Service(url, TOKENS, sender));
  });
  return { questions, attempts };
}

testCases("known_shots", "uploads", async (vector) => {
  const { pr_number, branch, files } = vector;
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  for (const file of files) writeFileSync(join(folder, file), PICTURES.png);
  const { shots } = await findShots([folder]);
  const target = { commitSha: SHA, ...(branch ? { baselineOf: branch } : { prNumber: pr_number }) };
  const seen = [];
  const { questions, attempts } = await recorded(vector, async (service) => {
    const sending = { jobs: 1, onDone: ({ shot }) => seen.push(shot.name) };
    const outcomes = await uploadAll(service, shots, target, sending);
    for (const [index, { isKnown, uploaded, error }] of outcomes.entries()) {
      const got = isKnown ? "known" : uploaded ? "uploaded" : error;
      assert.ok(got.includes(vector.outcomes[index]), got);
    }
  });
  rmSync(folder, { recursive: true });
  assert.deepEqual(
    seen,
    shots.map(({ name }) => name),
  );
  const hashed = shots.map(({ name, viewport, theme }) => ({
    name,
    viewport,
    theme,
    sha256: sha256(PICTURES.png),
  }));
  const asked = { ...(branch ? { branch } : { pr_number }), commit_sha: SHA, shots: hashed };
  const path = branch ? "/v1/baseline/known" : "/v1/upload/known";
  assert.deepEqual(
    questions,
    vector.known_replies.map(() => [path, asked]),
  );
  assert.deepEqual(
    attempts.map(([name]) => name),
    vector.attempts,
  );
  const keys = new Set(attempts.map(([, key]) => key));
  const sentFiles = new Set(vector.attempts).size; // one key for each
  assert.deepEqual([keys.size, new Set(attempts.map(String)).size], [sentFiles, sentFiles]);
  for (const key of keys) assert.match(key, /^[!-~]{1,64}$/);
});

testCases("known_shots", "batches", async ({ shots, asked }) => {
  const hashed = Array.from({ length: shots }, (_, at) => ({ name: String(at), viewport: "", theme: "" }));
  const { questions } = await recorded({}, async (service) =>
    assert.deepEqual(await service.missing(hashed, { prNumber: 7, commitSha: SHA }), []),
  );
  assert.deepEqual(
    questions.map(([, { shots: some }]) => some.length),
    asked,
  );
});

for (const [target, where] of [
  [{ prNumber: 7, commitSha: SHA }, { pr_number: 7 }],
  [{ baselineOf: "main", commitSha: SHA }, { branch: "main" }],
])
  test(`in the background, each shot is asked about before its upload: ${Object.keys(where)}`, async () => {
    const known_replies = [
      [200, { missing: [] }],
      [200, { missing: [{ name: "two" }] }],
      [404, "<html>"],
    ];
    const { questions, attempts } = await recorded({ known_replies }, async (service) => {
      const uploads = new BackgroundUploads(service, target, 1);
      for (const name of ["one", "two", "three"]) uploads.add({ body: PICTURES.png }, name, "");
      await uploads.finish();
      assert.deepEqual([uploads.uploaded, uploads.known, uploads.problems], [3, 1, []]);
    });
    const shot = { name: "one", viewport: "3x2", theme: "", sha256: sha256(PICTURES.png) };
    assert.deepEqual(questions[0][1], { ...where, commit_sha: SHA, shots: [shot] });
    assert.deepEqual(
      attempts.map(([name]) => name),
      ["two", "three"],
    );
  });

test("a pair is uploaded even if the service has its image", async () => {
  const { questions, attempts } = await recorded({}, async (service) => {
    const uploads = new BackgroundUploads(service, { prNumber: 7, commitSha: SHA });
    uploads.add({ body: PICTURES.png, before: { body: PICTURES.lossy } }, "pair", "");
    await uploads.finish();
    assert.deepEqual([uploads.uploaded, uploads.known], [1, 0]);
  });
  assert.deepEqual([questions.length, attempts.length], [0, 1]);
});
