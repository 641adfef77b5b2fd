import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { jobAtForge, settingsOf } from "../dist/playwright/settings.js";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const ENVIRON = {
  PRSHOTS_URL: "https://shots.test/",
  PRSHOTS_PR: "8",
  PRSHOTS_COMMIT: SHA,
  PRSHOTS_TOKEN: "t",
};

test("options override variables, and variables override the CI", () => {
  const { url, job, token } = settingsOf({ prNumber: 9 }, ENVIRON);
  assert.deepEqual([url, job.prNumber, job.commitSha, token], ["https://shots.test", 9, SHA, "t"]);
  const gitlab = { GITLAB_CI: "true", CI_MERGE_REQUEST_IID: "7", CI_COMMIT_SHA: "f".repeat(40) };
  assert.equal(settingsOf({}, { ...gitlab, ...ENVIRON }).job.prNumber, 8);
  const ofCi = settingsOf({}, { ...gitlab, PRSHOTS_URL: "https://shots.test", PRSHOTS_PR: "" });
  assert.deepEqual([ofCi.job.prNumber, ofCi.job.commitSha], [7, "f".repeat(40)]);
});

test("without a service, or without a pull request and a branch, there is nothing to do", () => {
  assert.equal(settingsOf({}, { ...ENVIRON, PRSHOTS_URL: "" }), undefined);
  assert.equal(settingsOf({}, { ...ENVIRON, PRSHOTS_PR: "" }), undefined);
  const ofMain = { GITLAB_CI: "true", CI_COMMIT_BRANCH: "main", CI_DEFAULT_BRANCH: "main" };
  assert.equal(settingsOf({}, { ...ofMain, ...ENVIRON, PRSHOTS_PR: "" }).job.branch, "main");
});

test("what the CI says about its own pull request and commit says nothing about another one", () => {
  const ofCi = {
    GITLAB_CI: "true",
    CI_MERGE_REQUEST_IID: "7",
    CI_MERGE_REQUEST_TITLE: "Add a cart",
    CI_MERGE_REQUEST_DIFF_BASE_SHA: SHA,
    CI_COMMIT_SHA: "f".repeat(40),
    PRSHOTS_URL: "https://shots.test",
  };
  const { job: own } = settingsOf({}, ofCi);
  assert.deepEqual([own.title, own.baseSha], ["Add a cart", SHA]);
  const { job: other } = settingsOf({ prNumber: 8, commit: SHA }, ofCi);
  assert.deepEqual([other.title, other.baseSha], ["", ""]);
  const ofMain = { GITLAB_CI: "true", CI_COMMIT_BRANCH: "main", CI_DEFAULT_BRANCH: "main" };
  assert.equal(settingsOf({}, { ...ofMain, ...ENVIRON }).job.branch, ""); // PRSHOTS_PR names a pull request
});

test("a comment on a closed pull request says nothing about another one", () => {
  const folder = mkdtempSync(join(tmpdir(), "event-"));
  try {
    const event = join(folder, "event.json");
    writeFileSync(
      event,
      JSON.stringify({ issue: { number: 7, state: "closed", pull_request: { url: "…" } } }),
    );
    const ofCi = { ...ENVIRON, GITHUB_ACTIONS: "true", GITHUB_EVENT_PATH: event };
    const isClosed = (prNumber) => settingsOf({ prNumber }, ofCi).job.alreadyClosed;
    assert.deepEqual([isClosed(7), isClosed(8)], [true, false]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("only failed tests are not compared", () => {
  assert.deepEqual(
    [settingsOf({}, ENVIRON).compare, settingsOf({ only: "failed" }, ENVIRON).compare],
    [true, false],
  );
});

test("an invalid setting is named", () => {
  const refused = (options, words) => assert.throws(() => settingsOf(options, ENVIRON), words);
  refused({ prNumber: "seven" }, /PRSHOTS_PR\) takes a number; got "seven"/);
  refused({ commit: "HEAD" }, /PRSHOTS_COMMIT\) takes 7 to 40 hex digits; got "HEAD"/);
  refused({ only: "some" }, /"all" or "failed"/);
  refused({ branch: "my branch" }, /PRSHOTS_BRANCH\) takes the name of a branch; got "my branch"/);
  refused({ view: "some" }, /view takes one of all, latest, changes; got "some"/);
  refused(
    { name: "{file}/{browser}" },
    /name takes a template with \{file\}, .*\{project\}; got "\{browser\}"/,
  );
  refused({ name: 7 }, /name takes a function, or a template/);
  refused({ url: "shots.test" }, /such as https:/);
  refused({ url: "https://ann:hunter2@shots.test" }, (error) => !error.message.includes("hunter2"));
});

test("with another forge set, nothing is taken from the CI's forge", () => {
  const environ = {
    ...ENVIRON,
    GITHUB_ACTIONS: "true",
    GITHUB_REPOSITORY: "octocat/shop",
    GITHUB_TOKEN: "g",
  };
  const { job } = settingsOf({}, environ);
  const mirrored = jobAtForge(job, { forge: "gitlab", repository: "group/shop" }, environ);
  assert.deepEqual(
    [mirrored.forge, mirrored.repository, mirrored.forgeApi, mirrored.forgeToken],
    ["gitlab", "group/shop", "https://gitlab.com/api/v4", ""],
  );
  assert.throws(() => jobAtForge(job, { forge: "svn" }, environ), /github, gitlab, gitea, bitbucket/);
});
