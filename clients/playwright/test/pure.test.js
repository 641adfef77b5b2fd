import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ADAPTERS } from "../dist/adapters.js";
import { detected, forgeTokenOf } from "../dist/jobs.js";
import { Names, shortened as shortName, titleOf } from "../dist/names.js";
import { contentTypeOf, pixelSize } from "../dist/pixels.js";
import { limitOf, retryAfter } from "../dist/sending.js";
import { settingsOf } from "../dist/settings.js";
import { shortened } from "../dist/sticky.js";

const SHA = "0123456789abcdef0123456789abcdef01234567";

const base64 = (text) => Buffer.from(text, "base64");
// Made by Pillow: 3x2 pixels each; the JPEG has a comment before its size.
const PICTURES = {
  png: base64(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAFUlEQVR4nGNkYGhgYGBgYGBgYoABAAi8AIR6moFQAAAAAElFTkSuQmCC",
  ),
  jpeg: base64(
    "/9j/4AAQSkZJRgABAQAAAQABAAD//gAHbm90ZXP/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////////////wAARCAACAAMDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwCpRRRWwj//2Q==",
  ),
  lossless: base64("UklGRhwAAABXRUJQVlA4TA8AAAAvAkAAAAcQUcD+ByKi/wEA"),
  lossy: base64("UklGRjgAAABXRUJQVlA4ICwAAABwAQCdASoDAAIAAUAmJaACdAFAAAD+/HaP/7B3//nAf/84D+mDyzOFefAAAA=="),
};

test("a picture's size is in its header", () => {
  for (const [kind, picture] of Object.entries(PICTURES)) {
    assert.deepEqual(pixelSize(picture), { width: 3, height: 2 }, kind);
    for (let length = 0; length < 20; length++)
      assert.equal(pixelSize(picture.subarray(0, length)), undefined, kind);
  }
  const extended = Buffer.from("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\x04\0\x1f\x03\0", "latin1");
  assert.deepEqual(pixelSize(extended), { width: 1280, height: 800 });
  assert.equal(contentTypeOf(Buffer.from("GIF89a")), undefined);
  assert.equal(pixelSize(Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0])), undefined);
});

function titled(name, { path, project = "chromium", several = false, retry = 0, repeatEachIndex = 0 } = {}) {
  const titlePath = () => ["", project, "shop/cart.spec.ts", "empty", "says so"];
  return titleOf(
    { titlePath, repeatEachIndex },
    { retry },
    { name, path, contentType: "image/png" },
    several,
  );
}

test("a screenshot is named after its test, and what it was attached as", () => {
  assert.deepEqual(titled("cart.png"), { name: "shop/cart/empty/says so/cart" });
  assert.deepEqual(titled("cart@390x844"), { name: "shop/cart/empty/says so/cart", viewport: "390x844" });
  assert.equal(titled("screenshot", { path: "/out/test-finished-1.png" }).name, "shop/cart/empty/says so");
  assert.equal(
    titled("screenshot", { path: "/out/test-failed-1.png" }).name,
    "failed/shop/cart/empty/says so",
  );
  assert.equal(titled("a\nb", { several: true }).name, "chromium/shop/cart/empty/says so/a b");
  assert.equal(
    titled("a", { retry: 1, repeatEachIndex: 2 }).name,
    "shop/cart/empty/says so (repeat 2, retry 1)/a",
  );
  const long = shortName("\u{1f525}".repeat(300));
  assert.equal(Array.from(long).length, 200);
  assert.notEqual(long, shortName("\u{1f525}".repeat(301)));
  const names = new Names();
  assert.deepEqual(
    [{ name: "a" }, { name: "a" }, { name: "a", viewport: "1x1" }].map((title) => names.own(title)),
    ["a", "a-2", "a"],
  );
});

function event(about) {
  const path = join(mkdtempSync(join(tmpdir(), "prshots-")), "event.json");
  writeFileSync(path, typeof about === "string" ? about : JSON.stringify(about));
  return path;
}

const pull = {
  number: 7,
  head: { sha: SHA, repo: { full_name: "mona/shop" } },
  base: { repo: { full_name: "octocat/shop" } },
};

test("the CI says which pull request it is", () => {
  const github = {
    GITHUB_ACTIONS: "true",
    GITHUB_API_URL: "https://api.github.com",
    GITHUB_REPOSITORY: "octocat/shop",
  };
  const path = event({ pull_request: pull });
  const job = detected({ ...github, GITHUB_SHA: "f".repeat(40), GITHUB_EVENT_PATH: path });
  assert.deepEqual([job.prNumber, job.commit, job.fromFork, job.forge], [7, SHA, true, "github"]);
  for (const broken of ["", "[]", "null", '{"pull_request": {"number": "x", "head": null}}'])
    assert.equal(detected({ ...github, GITHUB_EVENT_PATH: event(broken) }).prNumber, undefined);

  const gitea = detected({
    ...github,
    GITEA_ACTIONS: "true",
    GITHUB_SERVER_URL: "https://git.test",
    GITHUB_EVENT_PATH: path,
  });
  assert.deepEqual([gitea.forge, gitea.forgeApi], ["gitea", "https://git.test/api/v1"]);

  const gitlab = {
    GITLAB_CI: "true",
    CI_API_V4_URL: "https://gitlab.test/api/v4",
    CI_PROJECT_ID: "9",
    CI_COMMIT_SHA: SHA,
    CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: "",
  };
  const branch = detected({ ...gitlab, CI_OPEN_MERGE_REQUESTS: "group/app!12,group/app!13" });
  assert.deepEqual([branch.prNumber, branch.commit, branch.repository], [12, SHA, "9"]);
  assert.equal(detected({}).ci, "");
});

test("what is set by hand comes first, and what is wrong is said", () => {
  const environ = {
    PRSHOTS_URL: "https://shots.test/",
    PRSHOTS_PR: "8",
    PRSHOTS_COMMIT: SHA,
    PRSHOTS_TOKEN: "t",
  };
  const settings = settingsOf({ prNumber: 9 }, environ);
  assert.deepEqual(
    [settings.url, settings.prNumber, settings.commit, settings.token],
    ["https://shots.test", 9, SHA, "t"],
  );
  assert.equal(settingsOf({}, { ...environ, PRSHOTS_URL: "" }), undefined);
  assert.equal(settingsOf({}, { ...environ, PRSHOTS_PR: "" }), undefined);
  assert.throws(() => settingsOf({ prNumber: "seven" }, environ), /PRSHOTS_PR takes a number; got "seven"/);
  assert.throws(() => settingsOf({ only: "some" }, environ), /"all" or "failed"/);
  assert.throws(() => settingsOf({ url: "shots.test" }, environ), /such as https:/);
  assert.throws(() => settingsOf({ forge: "svn" }, environ), /github, gitlab, gitea, bitbucket/);
  const elsewhere = { ...environ, GITHUB_ACTIONS: "true", GITHUB_REPOSITORY: "octocat/shop" };
  const mirrored = settingsOf({ forge: "gitlab", repository: "group/shop" }, elsewhere).job;
  assert.deepEqual(
    [mirrored.forge, mirrored.repository, mirrored.forgeApi],
    ["gitlab", "group/shop", undefined],
  );
  const onGitea = { GITHUB_API_URL: "https://git.test/api/v1", GITHUB_TOKEN: "g" };
  assert.deepEqual([forgeTokenOf("gitea", onGitea), forgeTokenOf("github", onGitea)], ["g", ""]);
  assert.equal(forgeTokenOf("gitlab", { CI_JOB_TOKEN: "j", GITHUB_TOKEN: "g", GITLAB_TOKEN: " l " }), "l");
});

test("a limit says how long to wait", () => {
  const reply = (status, headers) => ({ status, headers: new Headers(headers) });
  assert.equal(limitOf(reply(429, { "Retry-After": "7" })), 7);
  assert.equal(limitOf(reply(429, {})), 60);
  assert.equal(limitOf(reply(403, {})), undefined);
  const reset = String(Math.ceil(Date.now() / 1000) + 30);
  const left = limitOf(reply(403, { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset }));
  assert.ok(left > 25 && left < 35);
  assert.equal(retryAfter(reply(503, { "Retry-After": new Date(Date.now() - 5000).toUTCString() })), 0);
  assert.equal(retryAfter(reply(503, { "Retry-After": "soon" })), undefined);
});

test("a comment that is too long loses its oldest pictures, whole", () => {
  const entry = (name) =>
    `\`${name}\` · 1x1 · \`0123456\`\\\n![${name}](https://i.test/${name}.png?token=${"0".repeat(64)})`;
  const all = `<!-- svc:pr-7 -->\n### 3 screenshots\n\n${["a", "b", "c"].map(entry).join("\n\n")}\n`;
  const asIs = (text) => text;
  assert.equal(shortened(all, 1000, asIs), all);
  const shorter = shortened(all, all.length - 1, asIs);
  assert.ok(
    !shorter.includes("![a]") && shorter.includes("![b]") && shorter.includes("The oldest 1 of the pictures"),
  );
  assert.ok(shortened(all, 10, asIs).startsWith("<!-- svc:pr-7 -->\n### 3 screenshots\n"));
  const { written, marker } = ADAPTERS.bitbucket;
  const folded = `<!-- svc:pr-7 -->\n### 2 screenshots\n\n<details><summary>1 older</summary>\n\n- x\n\n</details>\n\n${entry("a")}\n`;
  const plain = written(folded, 7);
  assert.ok(plain.startsWith(`${marker(7)}\n\n### 2 screenshots`));
  assert.doesNotMatch(plain, /<|\\\n/);
});
