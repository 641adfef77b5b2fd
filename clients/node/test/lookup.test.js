// What the event of a job does not name, asked of a server that answers as the forge does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_JOB } from "../dist/ci/job.js";
import { CallError } from "../dist/errors.js";
import { askForge } from "../dist/lookup.js";
import { Sender } from "../dist/sender.js";
import { served, started } from "./support/servers.js";
import { testCases, vectors } from "./support/vectors.js";

const { head } = vectors("lookups");
const sender = new Sender(new AbortController().signal, 1);

testCases("lookups", "asked", ({ forge, lookup, replies, token = "secret", ...expected }) =>
  served(
    ({ url }) => (url in replies ? { json: replies[url] } : { status: 404, json: { message: "Not Found" } }),
    async (url) => {
      const isOfHead = lookup === "head";
      const known = isOfHead ? { prNumber: 12, commitSha: "" } : { commitSha: head };
      const job = {
        ...NO_JOB,
        forge,
        forgeApi: url,
        repository: "octo/app",
        forgeToken: token,
        lookup,
        ...known,
      };
      const finding = askForge(job, undefined, sender, { needsCommit: true });
      if (expected.error)
        await assert.rejects(
          finding,
          ({ message }) =>
            message.includes(expected.error) &&
            message.includes(isOfHead ? "PRSHOTS_COMMIT" : "PRSHOTS_PR") &&
            !message.includes("secret"),
        );
      else {
        const { prNumber, commitSha, targetBranch, alreadyClosed } = await finding;
        assert.equal(prNumber, expected.pr_number ?? undefined);
        assert.equal(commitSha, expected.commit_sha ?? head);
        assert.equal(targetBranch, expected.target_branch ?? targetBranch);
        assert.equal(alreadyClosed, expected.already_closed ?? false);
      }
    },
  ),
);

test("a forge that cannot be reached is a failed call, not an invalid setting", async () => {
  const { url, close } = await started(() => ({}));
  close();
  const job = { ...NO_JOB, forge: "github", forgeApi: url, repository: "octo/app", forgeToken: "secret" };
  const asking = askForge({ ...job, lookup: "pull_request", commitSha: head }, undefined, sender, {});
  await assert.rejects(asking, CallError);
});
