import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_JOB } from "../dist/ci/job.js";
import { compareWithBase, describe, summary, viewAndPage } from "../dist/compare.js";
import { CallError, NotFoundError } from "../dist/errors.js";
import { Sender } from "../dist/sender.js";
import { Service } from "../dist/service.js";
import { served } from "./support/servers.js";
import { inCamelCase, testCases } from "./support/vectors.js";

const SHA = "0".repeat(40);
const BASE = "b".repeat(40);
// With a base that the CI names, git has nothing to add.
const JOB = { ...NO_JOB, commitSha: SHA, targetBranch: "main", baseSha: BASE };
const ASKED = { prNumber: 7, commitSha: SHA, branch: "", complete: true };
const COMPARED = {
  state: "compared",
  commit_sha: SHA,
  branch: "main",
  base_commit: BASE,
  counts: { changed: 1 },
  dashboard_url: "https://shots.test/prs/7",
};

/** Serve these replies by path, each a list whose last one repeats, and return what `use` was asked. */
async function asked(replies, use) {
  const requests = [];
  const left = Object.fromEntries(Object.entries(replies).map(([path, list]) => [path, [...list]]));
  const answer = ({ method, url }, content) => {
    requests.push([`${method} ${url}`, content]);
    const list = left[`${method} ${url}`] ?? [{ status: 404, json: { error: "not found" } }];
    return list.length > 1 ? list.shift() : list[0];
  };
  await served(answer, async (url) => {
    const tokens = { token: async () => "t", renewed: async () => undefined };
    await use(new Service(url, tokens, new Sender(new AbortController().signal, 1)));
  });
  return requests;
}

async function withoutGit(use) {
  const { GIT_DIR } = process.env;
  process.env.GIT_DIR = "/nowhere";
  try {
    return await use();
  } finally {
    if (GIT_DIR === undefined) delete process.env.GIT_DIR;
    else process.env.GIT_DIR = GIT_DIR;
  }
}

testCases("comparison_summaries", "summaries", ({ summary: words, ...comparison }) => {
  assert.equal(summary(inCamelCase(comparison)), words);
});

test("a comparison that still runs is waited for", () =>
  withoutGit(async () => {
    const running = { ...COMPARED, state: "running" };
    const requests = await asked(
      {
        "POST /v1/compare": [{ status: 202, json: running }],
        "GET /v1/compare?pr_number=7": [{ json: COMPARED }],
      },
      async (service) => {
        const found = await compareWithBase(service, JOB, ASKED, () => assert.fail());
        assert.deepEqual([found.state, found.counts, found.baseCommit], ["compared", { changed: 1 }, BASE]);
      },
    );
    assert.deepEqual(JSON.parse(requests[0][1]), {
      pr_number: 7,
      commit_sha: SHA,
      branch: "main",
      commits: [BASE],
      complete: true,
    });
  }));

test("a run of another commit that takes over is an error", () =>
  withoutGit(() =>
    asked(
      {
        "POST /v1/compare": [{ json: { ...COMPARED, state: "running" } }],
        "GET /v1/compare?pr_number=7": [{ json: { ...COMPARED, commit_sha: BASE } }],
      },
      (service) =>
        assert.rejects(
          compareWithBase(service, JOB, ASKED, () => {}),
          (error) =>
            error instanceof CallError &&
            /was replaced: the latest one is of commit bbbbbbb/.test(error.message),
        ),
    ),
  ));

test("if git does not know the base, the newest baselines are compared, and that is said", () =>
  withoutGit(async () => {
    const told = [];
    const requests = await asked({ "POST /v1/compare": [{ json: COMPARED }] }, (service) =>
      compareWithBase(service, { ...JOB, baseSha: "" }, ASKED, (words) => told.push(words)),
    );
    assert.deepEqual(JSON.parse(requests[0][1]).commits, []);
    assert.match(
      told.at(-1),
      /^Note: git can't find the base of 0000000: .* Compared with the newest baselines of main instead\.$/,
    );
  }));

test("the service is told what the CI knows, and need not accept it", async () => {
  const job = {
    ...JOB,
    prNumber: 7,
    forge: "github",
    repositoryUrl: "https://github.com/octo/app",
    title: "Add a cart",
  };
  const requests = await asked(
    {
      "POST /v1/pull": [
        { json: { dashboard_url: "https://shots.test" } },
        { status: 400, json: { error: "no" } },
      ],
    },
    async (service) => {
      assert.equal(await describe(service, 7, job), "https://shots.test");
      assert.equal(await describe(service, 7, job), "");
    },
  );
  assert.deepEqual(JSON.parse(requests[0][1]), {
    pr_number: 7,
    repository: "https://github.com/octo/app",
    url: "https://github.com/octo/app/pull/7",
    title: "Add a cart",
  });
});

test("a pull request without images has no comparison and no page", () =>
  asked({}, async (service) => {
    assert.equal(await service.comparison(7), undefined);
    await assert.rejects(service.describe(7, {}), NotFoundError);
    assert.deepEqual(await viewAndPage(service, 7, NO_JOB), { view: "latest", dashboardUrl: "" });
  }));
