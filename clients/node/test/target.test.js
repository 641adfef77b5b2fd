import assert from "node:assert/strict";
import { NO_JOB } from "../dist/ci/job.js";
import { ClosedPullRequestError } from "../dist/errors.js";
import { describeTarget, targetOf, targetOfJob } from "../dist/target.js";
import { inCamelCase, testCases } from "./support/vectors.js";

const SHA = "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d";

testCases("upload_targets", "targets", async ({ job, branch = "", target }) => {
  const ofCi = { ...NO_JOB, commitSha: SHA, ...inCamelCase(job) };
  if (target === "closed") {
    await assert.rejects(targetOfJob(ofCi, branch), ClosedPullRequestError);
    await assert.rejects(
      targetOf(ofCi, { pr: 7, commit: "", branch }),
      /Pull request 7 is closed, so nothing/,
    );
    assert.equal((await targetOf(ofCi, { pr: 8, commit: "", branch })).prNumber, 8);
    return;
  }
  const found = await targetOfJob(ofCi, branch);
  assert.deepEqual(found, target ? { commitSha: SHA, ...inCamelCase(target) } : undefined);
  if (target) assert.ok(describeTarget(found).includes(target.baseline_of ?? "pull request 7"));
});
