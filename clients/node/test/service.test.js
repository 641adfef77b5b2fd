import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { BackgroundUploads } from "../dist/background_uploads.js";
import { CallError, InvalidInputError, WrongAddressError } from "../dist/errors.js";
import { Sender } from "../dist/sender.js";
import { Service } from "../dist/service.js";
import { PICTURES } from "./support/pictures.js";
import { served } from "./support/servers.js";

const TOKENS = { token: async () => "t", renewed: async () => undefined };
const SHA = "0".repeat(40);
const BOMB = gzipSync(Buffer.alloc(40 * 1024 * 1024));

function serviceAt(url) {
  return new Service(url, TOKENS, new Sender(new AbortController().signal, 1));
}

/** Upload a 3x2 pixel image to a service with these replies, and return the requests and the problems. */
async function uploadedTo(answers) {
  const asked = [];
  const answer = (request) => {
    asked.push(`${request.method} ${request.url}`);
    return answers[request.url] ?? {};
  };
  return served(answer, async (url) => {
    const uploads = new BackgroundUploads(serviceAt(url), { prNumber: 7, commitSha: SHA });
    uploads.add({ body: PICTURES.png }, "dot", "");
    await uploads.finish();
    return { asked, problems: uploads.problems };
  });
}

test("an image that is too large for the service is not sent", async () => {
  const size = PICTURES.png.length;
  const fits = await uploadedTo({ "/v1/limits": { json: { max_image_bytes: size + 1 } } });
  assert.deepEqual(fits, {
    asked: ["GET /v1/limits", "POST /v1/upload/known", "POST /v1/upload"],
    problems: [],
  });
  const large = await uploadedTo({ "/v1/limits": { json: { max_image_bytes: size } } });
  assert.deepEqual(large.asked, ["GET /v1/limits"]);
  assert.match(large.problems[0], /^dot: not uploaded: it has 78 B, and the service takes less than 78 B$/);
});

test("without known limits, the service's 413 decides", async () => {
  const refused = { status: 413, json: { error: "image too large" } };
  for (const limits of [{ cut: true }, { status: 404 }, { status: 503 }, { body: "<html>" }, { json: {} }]) {
    const { asked, problems } = await uploadedTo({ "/v1/limits": limits, "/v1/upload": refused });
    assert.deepEqual(asked, ["GET /v1/limits", "POST /v1/upload/known", "POST /v1/upload"]);
    assert.match(problems[0], /answered 413: image too large$/);
  }
});

test("a file that is cut off is uploaded with a warning, which is no problem", async () => {
  await served(
    () => ({}),
    async (url) => {
      const uploads = new BackgroundUploads(serviceAt(url), { prNumber: 7, commitSha: SHA });
      for (const [kind, picture] of Object.entries(PICTURES))
        uploads.add({ body: picture.subarray(0, picture.length - 1) }, kind, "");
      uploads.add({ body: PICTURES.png }, "whole", "");
      await uploads.finish();
      assert.deepEqual([uploads.uploaded, uploads.problems], [5, []]);
      const words = "the file is cut off (damaged PNG); uploading it anyway. Take the screenshot again";
      assert.ok(uploads.warnings.includes(`png: ${words}`));
      assert.equal(uploads.warnings.length, 4);
    },
  );
});

test("an image is uploaded with its before, and a baseline without it", async () => {
  const sent = [];
  const picture = { contentType: "image/png", name: "dot", viewport: "3x2", theme: "" };
  await served(
    ({ url }, content) => {
      sent.push([
        url,
        [...content.matchAll(/name="(image|before)".*\r\nContent-Type: (.+)\r/g)].map((m) => m.slice(1)),
      ]);
      return {};
    },
    async (url) => {
      const before = { image: PICTURES.webp, contentType: "image/webp" };
      const shot = { ...picture, image: PICTURES.png, before };
      const pullRequest = { prNumber: 7, commitSha: SHA };
      await serviceAt(url).send(shot, pullRequest);
      await serviceAt(url).send({ ...shot, before: undefined }, pullRequest);
      await serviceAt(url).send(shot, { baselineOf: "main", commitSha: SHA });
    },
  );
  const image = ["image", "image/png"];
  assert.deepEqual(sent, [
    ["/v1/upload", [image, ["before", "image/webp"]]],
    ["/v1/upload", [image]],
    ["/v1/baseline", [image]],
  ]);
});

test("the limits are requested once", async () => {
  let asked = 0;
  await served(
    ({ url }) => {
      if (url === "/v1/limits") asked += 1;
      return {};
    },
    async (url) => {
      const uploads = new BackgroundUploads(serviceAt(url), { prNumber: 7, commitSha: SHA });
      for (let number = 0; number < 9; number++) uploads.add({ body: PICTURES.png }, String(number), "");
      await uploads.finish();
      assert.equal(uploads.uploaded, 9);
    },
  );
  assert.equal(asked, 1);
});

test("the comment is requested in the forge's format", async () => {
  const asked = [];
  const reply = { pr_number: 7, markdown: "[//]: # (svc:pr-7)\n", heading: "### 2 screenshots", count: 2 };
  await served(
    ({ url }) => {
      asked.push(url);
      return { json: reply };
    },
    async (url) => {
      const comment = await serviceAt(url).comment(7, 32_768, "link");
      const { markdown, heading } = reply;
      assert.deepEqual(comment, { markdown, heading, count: 2, listed: 0, omitted: 0, siblings: 0 });
    },
  );
  assert.deepEqual(asked, ["/v1/comment?pr_number=7&limit=32768&marker=link"]);
});

test("an unexpected reply gets a clear error", async () => {
  const answers = [
    [{ status: 302, headers: { Location: "https://elsewhere.test" } }, CallError, /set url \(PRSHOTS_URL\)/],
    [{ status: 404, json: { error: "not found" } }, CallError, /address of a prshots service/],
    [{ body: "<html>" }, CallError, /200 OK: is this the address of a prshots service/],
    [{ json: { markdown: "x" } }, CallError, /without markdown and count/],
    [{ body: BOMB, headers: { "Content-Encoding": "gzip" } }, CallError, /larger than 32 MB/],
    [{ body: `${'{"a":'.repeat(300)}1${"}".repeat(300)}` }, CallError, /200 OK: is this the address/],
    [{ status: 400, json: { error: "pr_number required" } }, InvalidInputError, /400: pr_number required/],
  ];
  for (const [answer, kind, words] of answers)
    await served(
      () => answer,
      (url) =>
        assert.rejects(
          serviceAt(url).comment(7, 1024, "html"),
          (error) => error instanceof kind && words.test(error.message),
        ),
    );
});

test("a comparison that would set other outputs or print commands is an error", async () => {
  const good = { state: "compared", branch: "main", commit_sha: SHA, counts: { changed: 1 }, shots: [] };
  const evil = "https://x.test/\nurls=evil";
  const read = (json) =>
    served(
      () => ({ json }),
      (url) => serviceAt(url).comparison(7),
    );
  assert.equal((await read({ ...good, dashboard_url: evil })).dashboardUrl, "");
  const changes = [
    { state: "x\nurls=evil" },
    { counts: { "x\nurls=evil": 1 } },
    { counts: { changed: "1\nurls=evil" } },
    { shots: [{ verdict: "x" }] },
    { shots: [null] },
  ];
  for (const change of changes) await assert.rejects(read({ ...good, ...change }), /answered without/);
});

test("staged images move with all that decides about forks", async () => {
  const sent = [];
  const answer = (request, content) => {
    sent.push([request.method, request.url, JSON.parse(content)]);
    return { json: { branch: "fix", pr_number: 7, moved: 2, kept: 1, reason: "why" } };
  };
  await served(answer, async (url) => {
    const moved = await serviceAt(url).moveStaged("fix", 7, "acme/shop", false);
    assert.deepEqual(moved, { moved: 2, kept: 1, reason: "why" });
  });
  const asked = { branch: "fix", pr_number: 7, repository: "acme/shop", from_fork: false };
  assert.deepEqual(sent, [["POST", "/v1/staged/move", asked]]);
});

test("a 404 to a route that finds nothing by name means a wrong address", async () => {
  await served(
    () => ({ status: 404, json: { error: "not found" } }),
    async (url) => {
      const moving = serviceAt(url).moveStaged("fix", 7, "", false);
      await assert.rejects(
        moving,
        (error) =>
          error instanceof WrongAddressError &&
          /answered 404 Not Found: is this the address/.test(error.message),
      );
    },
  );
});
