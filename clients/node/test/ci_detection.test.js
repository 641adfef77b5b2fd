import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { detectJob } from "../dist/ci/detection.js";
import { apiRoot, pullRequestPage, repositoryOfRemote } from "../dist/ci/forge_addresses.js";
import { NO_JOB } from "../dist/ci/job.js";
import { withForge } from "../dist/ci/overrides.js";
import { forgeOf } from "../dist/forges/index.js";
import { Sender } from "../dist/sender.js";
import { inCamelCase, testCases, vectors } from "./support/vectors.js";

const { variables } = vectors("ci_detection");
const folder = mkdtempSync(join(tmpdir(), "prshots-"));
after(() => rmSync(folder, { recursive: true }));

/** Return the job's fields that a vector names, and the vector's expected values. */
function compared(job, expected) {
  const fields = inCamelCase(expected);
  const known = { ...job, prUrl: pullRequestPage(job.forge, job.repositoryUrl, job.prNumber) };
  return [Object.fromEntries(Object.keys(fields).map((key) => [key, known[key]])), fields];
}

/** Return a case's variables. The event of GitHub Actions is written to a file. */
function variablesOf({ variables_of, changed, event, event_text, event_text_repeated }) {
  const environ = { ...variables[variables_of], ...changed };
  const [part, times] = event_text_repeated ?? [];
  const text = event === undefined ? (event_text ?? part?.repeat(times)) : JSON.stringify(event);
  if (text !== undefined) {
    environ.GITHUB_EVENT_PATH = join(folder, "event.json");
    writeFileSync(environ.GITHUB_EVENT_PATH, text);
  }
  return inEnvironment(environ);
}

function inEnvironment(environ) {
  return Object.fromEntries(Object.entries(environ).filter(([, value]) => value !== null));
}

testCases("ci_detection", "detected", (vector) => {
  const [found, expected] = compared(detectJob(variablesOf(vector)), vector.job);
  assert.deepEqual(found, expected);
});

testCases("ci_detection", "remotes", ({ remote, forge, url, repository }) => {
  const place = repositoryOfRemote(remote);
  assert.deepEqual([place.kind, place.url, place.repository], [forge ?? undefined, url, repository]);
});

testCases("ci_detection", "api_roots", ({ forge, url, api }) => {
  assert.equal(apiRoot(forge ?? undefined, url), api);
});

testCases("ci_detection", "overrides", (vector) => {
  const made = () =>
    withForge({ ...NO_JOB, ...inCamelCase(vector.job) }, vector.variables ?? {}, vector.given);
  if (vector.refused) {
    const [option] = Object.keys(inCamelCase({ [vector.refused.replaceAll(" ", "_")]: 0 }));
    assert.throws(made, ({ message }) => message.includes(option) && !message.includes("hunter2"));
  } else {
    const [found, expected] = compared(made(), vector.expected);
    assert.deepEqual(found, expected);
  }
});

testCases("ci_detection", "forge_tokens", (vector) => {
  const environ = variablesOf(vector);
  const job = withForge(detectJob(environ), environ, vector.given);
  const made = () => forgeOf(job, new Sender(new AbortController().signal));
  assert.ok(job.forgeToken);
  const [option] = Object.keys(inCamelCase({ [vector.refused.replaceAll(" ", "_")]: 0 }));
  if (vector.refused) assert.throws(made, ({ message }) => message.includes(option));
  else assert.doesNotThrow(made);
});

test("an event file that is missing, too large or not JSON is ignored", () => {
  const path = (name) => join(folder, name);
  writeFileSync(path("binary"), Buffer.from([0xff, 0xfe, 0x00, 0x80]));
  writeFileSync(path("huge"), '{"pull_request": {"number": 99}}');
  truncateSync(path("huge"), 32 * 1024 * 1024 + 1);
  execFileSync("mkfifo", [path("pipe")]); // reading it would block forever
  for (const name of ["binary", "huge", "pipe", "missing", "", "no\0path"]) {
    const job = detectJob({ ...variables.github, GITHUB_EVENT_PATH: path(name) });
    assert.equal(job.prNumber, 12, name);
  }
});
