import assert from "node:assert/strict";
import { test } from "node:test";
import { jobAtForge, settingsOf } from "../dist/settings.js";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const ENVIRON = {
  PRSHOTS_URL: "https://shots.test/",
  PRSHOTS_PR: "8",
  PRSHOTS_COMMIT: SHA,
  PRSHOTS_TOKEN: "t",
};

test("options override variables, and variables override the CI", () => {
  const { url, prNumber, commitSha, token } = settingsOf({ prNumber: 9 }, ENVIRON);
  assert.deepEqual([url, prNumber, commitSha, token], ["https://shots.test", 9, SHA, "t"]);
  const gitlab = { GITLAB_CI: "true", CI_MERGE_REQUEST_IID: "7", CI_COMMIT_SHA: "f".repeat(40) };
  assert.equal(settingsOf({}, { ...gitlab, ...ENVIRON }).prNumber, 8);
  const ofCi = settingsOf({}, { ...gitlab, PRSHOTS_URL: "https://shots.test", PRSHOTS_PR: "" });
  assert.deepEqual([ofCi.prNumber, ofCi.commitSha], [7, "f".repeat(40)]);
});

test("without a service or a pull request there is nothing to do", () => {
  assert.equal(settingsOf({}, { ...ENVIRON, PRSHOTS_URL: "" }), undefined);
  assert.equal(settingsOf({}, { ...ENVIRON, PRSHOTS_PR: "" }), undefined);
});

test("an invalid setting is named", () => {
  const refused = (options, words) => assert.throws(() => settingsOf(options, ENVIRON), words);
  refused({ prNumber: "seven" }, /PRSHOTS_PR\) takes a number; got "seven"/);
  refused({ commit: "HEAD" }, /PRSHOTS_COMMIT\) takes 7 to 40 hex digits; got "HEAD"/);
  refused({ only: "some" }, /"all" or "failed"/);
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
