// What the event of a job does not name, asked of a server that answers as the forge does.
import assert from "node:assert/strict";
import { NO_JOB } from "../dist/ci/job.js";
import { commitOf, pullRequestOf } from "../dist/lookup.js";
import { Sender } from "../dist/sender.js";
import { served } from "./support/servers.js";
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
      const found = async () => {
        const prNumber = await pullRequestOf(job, sender);
        return [prNumber, prNumber && (await commitOf(job, prNumber, sender))];
      };
      if (expected.error)
        await assert.rejects(
          found(),
          ({ message }) =>
            message.includes(expected.error) &&
            message.includes(isOfHead ? "PRSHOTS_COMMIT" : "PRSHOTS_PR") &&
            !message.includes("secret"),
        );
      else {
        const number = expected.pr_number ?? undefined;
        assert.deepEqual(await found(), [number, number && (expected.commit_sha ?? head)]);
      }
    },
  ),
);
