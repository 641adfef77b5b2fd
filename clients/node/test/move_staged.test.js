import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { moveStaged } from "../dist/commands/move_staged.js";
import { served } from "./support/servers.js";

/** Run the command for pull request 7 from the branch `cart`. Return what was asked and said. */
async function moved(reply, { head = "octo/shop", ...variables } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  const event = join(folder, "event.json");
  const pull = { number: 7, head: { ref: "cart", sha: "1".repeat(40), repo: { full_name: head } } };
  const pull_request = { ...pull, base: { ref: "main", repo: { full_name: "octo/shop" } } };
  writeFileSync(event, JSON.stringify({ pull_request }));
  const [asked, said] = [[], []];
  const answer = ({ url }, body) => {
    asked.push([url, JSON.parse(body)]);
    return reply;
  };
  try {
    await served(answer, (url) => {
      const environ = {
        PRSHOTS_URL: url,
        PRSHOTS_TOKEN: `msr_${"0f".repeat(32)}`,
        GITHUB_ACTIONS: "true",
        GITHUB_REPOSITORY: "octo/shop",
        GITHUB_EVENT_NAME: "pull_request",
        GITHUB_EVENT_PATH: event,
        ...variables,
      };
      const say = (words) => said.push(words);
      return moveStaged({}, { environ, say, stopped: new AbortController().signal });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { asked, said };
}

const NONE = { branch: "cart", pr_number: 7, moved: 0, kept: 0, reason: "" };

test("what is staged for the branch moves, and one line says so", async () => {
  const { asked, said } = await moved({ json: { ...NONE, moved: 2, kept: 1, reason: "it is of a fork" } });
  const of = { branch: "cart", pr_number: 7, repository: "octo/shop", from_fork: false };
  assert.deepEqual(asked, [["/v1/staged/move", of]]);
  assert.deepEqual(said, [
    "Note: 2 staged screenshots moved to pull request 7; 1 staged screenshot not moved: it is of a fork.",
  ]);
});

test("on GitLab, the repository is named by its path, as it is staged", async () => {
  const gitlab = {
    GITHUB_ACTIONS: "",
    GITLAB_CI: "true",
    CI_PROJECT_ID: "42",
    CI_PROJECT_URL: "https://gitlab.example.com/octo/web/shop",
    CI_SERVER_URL: "https://gitlab.example.com",
    CI_MERGE_REQUEST_IID: "7",
    CI_MERGE_REQUEST_PROJECT_ID: "42",
    CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "42",
    CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "cart",
  };
  const { asked } = await moved({ json: NONE }, gitlab);
  const of = { branch: "cart", pr_number: 7, repository: "octo/web/shop", from_fork: false };
  assert.deepEqual(asked, [["/v1/staged/move", of]]);
});

test("nothing moves from a fork", async () => {
  const { asked } = await moved({ json: NONE }, { head: "somebody/shop" });
  const [[, { from_fork, repository }]] = asked;
  assert.deepEqual([from_fork, repository], [true, ""]);
});

test("nothing staged is no news", async () => {
  assert.deepEqual((await moved({ json: NONE })).said, []);
});

test("a failure is a warning", async () => {
  const { said } = await moved({ status: 403, json: { error: "not yours" } });
  assert.equal(said.length, 1);
  assert.match(said[0], /^Warning: staged screenshots of cart not moved: .* 403: not yours\.$/);
});

test("the branch of one pull request says nothing about another", async () => {
  assert.deepEqual(await moved({ json: NONE }, { PRSHOTS_PR: "8" }), { asked: [], said: [] });
});
