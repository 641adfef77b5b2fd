// How the reporter calls forges over HTTP. tests/e2e/test_playwright_reporter.py tests it with all forge look-alikes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_JOB } from "../dist/ci/job.js";
import * as errors from "../dist/errors.js";
import { forgeOf } from "../dist/forges/index.js";
import { Composer, post } from "../dist/post_comment.js";
import { Sender } from "../dist/sender.js";
import { served } from "./support/servers.js";

const JOB = { ...NO_JOB, repository: "octo/app", forgeToken: "secret" };
const sender = new Sender(new AbortController().signal, 1);

function forgeAt(url, forge = "github", more = {}) {
  return forgeOf({ ...JOB, forge, forgeApi: url, ...more }, sender);
}

const entry = (id) => ({
  id,
  body: `comment ${id}`,
  user: { login: "ann" },
  html_url: `https://x.test/#${id}`,
});

test("all pages are read, even after an empty one, and only the query of their links is used", async () => {
  const pages = { 1: [entry(1)], 2: [], 3: [entry(2)] };
  const answer = ({ url }) => {
    const page = Number(new URL(url, "http://here").searchParams.get("page") ?? "1");
    const next = `<https://elsewhere.test/x?page=${page + 1}>; rel="next"`;
    return { json: pages[page], headers: page < 3 ? { Link: next } : {} };
  };
  await served(answer, async (url) => {
    const found = await forgeAt(url).comments(7);
    assert.deepEqual(
      found.map(({ id }) => id),
      ["1", "2"],
    );
  });
});

test("a redirect is followed, but not to another host", async () => {
  const asked = [];
  const answer = ({ method, url }) => {
    asked.push(`${method} ${url}`);
    if (url.startsWith("/repos/octo/app/")) return { status: 307, headers: { Location: "/repositories/1" } };
    return { json: entry(5) };
  };
  await served(answer, async (url) => {
    assert.equal((await forgeAt(url).create(7, "text")).id, "5");
  });
  assert.deepEqual(asked, ["POST /repos/octo/app/issues/7/comments", "POST /repositories/1"]);
  await served(
    () => ({ status: 301, headers: { Location: "https://elsewhere.test/" } }),
    (url) => assert.rejects(forgeAt(url).comments(7), /elsewhere\.test, which does not get our token/),
  );
  await served(
    () => ({ status: 301, headers: { Location: "/again" } }),
    (url) => assert.rejects(forgeAt(url).comments(7), /more than 20 times/),
  );
});

test("an error shows the forge's message and what the token needs, but not the token", async () => {
  const answers = [
    [{ status: 401, json: { message: "Bad credentials" } }, errors.ForgeError, /Bad credentials.*expired/],
    [{ status: 403, json: { message: "no" } }, errors.ForgeRefusedError, /no\. In GitHub Actions .*write/],
    [{ status: 403, json: { message: "It is locked." } }, errors.ForgeError, /Unlock the conversation/],
    [
      {
        status: 403,
        json: { error: { message: "lacks scopes.", detail: { required: ["pullrequest:write"] } } },
      },
      errors.ForgeRefusedError,
      /lacks scopes\. \(it requires pullrequest:write\)/,
    ],
    [{ status: 404 }, errors.ForgeError, /no pull request 7 in octo\/app/],
    [{ status: 422, json: { errors: [{ message: "body is too long" }] } }, errors.ForgeError, /too long/],
    [{ status: 500, json: { error: { message: "oops" } } }, errors.ForgeError, /answered 500: oops/],
    [{ body: "<html>" }, errors.ForgeError, /other than JSON/],
    [{ json: {} }, errors.ForgeError, /other than a comment/],
  ];
  for (const [answer, kind, words] of answers)
    await served(
      () => answer,
      (url) =>
        assert.rejects(
          forgeAt(url).create(7, "text"),
          (error) =>
            error instanceof kind && words.test(error.message) && !error.message.includes(JOB.forgeToken),
        ),
    );
});

test("a status has a description that fits, and no empty URL except on Bitbucket, which requires one", async () => {
  const sent = async (forge, status) => {
    let found;
    await served(
      (_request, content) => {
        found = JSON.parse(content);
        return { status: 201, json: found };
      },
      (url) => forgeAt(url, forge).setStatus("a".repeat(40), status),
    );
    return found;
  };
  const long = { context: "prshots", state: "failure", description: "🎉".repeat(300), url: "" };
  assert.deepEqual(await sent("github", long), {
    context: "prshots",
    state: "failure",
    description: `${"🎉".repeat(139)}…`,
  });
  assert.equal((await sent("gitlab", long)).state, "failed");
  assert.equal([...(await sent("gitea", long)).description].length, 255);
  const page = `https://bitbucket.org/octo/app/commits/${"a".repeat(40)}`;
  const name = "prshots/a long name of a project, a long name of a project, web";
  const key = "prshots/a long name of a projec-2f94363d"; // at most 40 characters
  for (const [context, shortened] of [
    ["prshots/web", "prshots/web"],
    [name, key],
  ])
    assert.deepEqual(
      await sent("bitbucket", { context, state: "pending", description: "1 waits", url: "" }),
      {
        key: shortened,
        name: context,
        state: "INPROGRESS",
        description: "1 waits",
        url: page,
      },
    );
});

const PASSED = { context: "prshots", state: "success", description: "", url: "" };

test("a refused status is an error with the forge's reason and advice", async () => {
  const taken = { name: ["has already been taken"] };
  const answers = [
    ["github", 403, { message: "no" }, errors.ForgeRefusedError, /`statuses: write`/],
    [
      "github",
      404,
      { message: "Not Found" },
      errors.ForgeRefusedError,
      /may not set commit statuses: Not Found/,
    ],
    ["github", 422, { errors: [{ message: "too many" }] }, errors.ForgeError, /commit status: too many$/],
    [
      "gitlab",
      400,
      { message: { target_url: ["is too long"] } },
      errors.ForgeError,
      /: target_url is too long$/,
    ],
    ["gitlab", 400, { message: taken }, errors.ForgeError, /job with the same name: rename the job/],
    [
      "gitlab",
      404,
      { message: "404 References for commit Not Found" },
      errors.ForgeRefusedError,
      /in octo\/app itself/,
    ],
    ["gitea", 200, [{ context: "prshots" }], errors.ForgeError, /something other than a commit status/],
    ["bitbucket", 400, { error: { message: "url: no" } }, errors.ForgeError, /commit status: url: no$/],
  ];
  for (const [forge, status, json, kind, words] of answers)
    await served(
      () => ({ status, json }),
      (url) =>
        assert.rejects(
          forgeAt(url, forge).setStatus("a".repeat(40), PASSED),
          (error) => error instanceof kind && words.test(error.message),
        ),
    );
});

test("a missing setting is named", () => {
  assert.throws(() => forgeAt("https://x.test", null), /PRSHOTS_FORGE\) to one of github, gitlab/);
  assert.throws(() => forgeAt("", "gitea"), /PRSHOTS_FORGE_URL/);
  assert.throws(() => forgeAt("https://x.test", "github", { repository: "" }), /PRSHOTS_REPOSITORY/);
  assert.throws(() => forgeAt("https://x.test", "gitlab", { forgeToken: "" }), /PRSHOTS_FORGE_TOKEN\)$/);
  const tokenless = { forgeToken: "" };
  assert.throws(
    () => forgeAt("https://x.test", "github", tokenless),
    /GITHUB_TOKEN: \$\{\{ github\.token \}\}/,
  );
  assert.throws(() => forgeAt("https://x.test", "github", { ...tokenless, fromFork: true }), /workflow_run/);
});

test("a fork's job without write access gets advice, and no empty comment is created", async () => {
  const job = { ...JOB, forge: "gitlab", fromFork: true };
  const forge = {
    label: "GitLab",
    maxCommentBytes: 65_536,
    markerStyle: "html",
    comments: async () => [],
    create: async () => {
      throw new errors.ForgeRefusedError("insufficient_scope");
    },
  };
  const service = (count) => ({ comment: async () => ({ markdown: "<!-- svc:pr-7 -->\n", count }) });
  await assert.rejects(
    post(forge, new Composer(service(1), 7, job)),
    /comes from a fork.*member.*\(insufficient_scope\)/,
  );
  assert.deepEqual(await post(forge, new Composer(service(0), 7, job)), { outcome: "none", url: "" });
});
