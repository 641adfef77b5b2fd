import assert from "node:assert/strict";
import { NO_JOB } from "../dist/ci/job.js";
import { Sender } from "../dist/sender.js";
import { describeTarget, targetOfJob } from "../dist/target.js";
import { inCamelCase, testCases } from "./support/vectors.js";

const SHA = "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d";
const sender = new Sender(new AbortController().signal, 1);

testCases("upload_targets", "targets", async ({ job, branch = "", target }) => {
  const found = await targetOfJob({ ...NO_JOB, commitSha: SHA, ...inCamelCase(job) }, branch, sender);
  assert.deepEqual(found, target ? { commitSha: SHA, ...inCamelCase(target) } : undefined);
  if (target) assert.ok(describeTarget(found).includes(target.baseline_of ?? "pull request 7"));
});
