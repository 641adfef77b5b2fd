import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import Reporter from "../dist/playwright/index.js";
import { PICTURES } from "./support/pictures.js";
import { aProject, aTest } from "./support/playwright_tests.js";
import { served } from "./support/servers.js";

/** Return the reporter's output while `use` runs, in an environment without CI or service. */
async function written(use) {
  const said = [];
  const { write } = process.stderr;
  const environ = { ...process.env };
  for (const name of Object.keys(process.env))
    if (/^(PRSHOTS_|GITHUB_|GITLAB_|CI)/.test(name)) delete process.env[name];
  process.stderr.write = (text) => said.push(text);
  try {
    await use();
  } finally {
    process.stderr.write = write;
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, environ);
  }
  return said.join("");
}

test("without a service the reporter does nothing and prints nothing", async () => {
  const said = await written(async () => {
    const idle = new Reporter();
    idle.onTestEnd({}, { attachments: [{}] });
    assert.equal(await idle.onEnd({ status: "passed" }), undefined);
  });
  assert.equal(said, "");
});

test("a misspelled variable is named, because the reporter would do nothing and say nothing", async () => {
  const said = await written(async () => {
    process.env.PRSHOTS_ULR = "https://shots.test";
    await new Reporter().onEnd({ status: "passed" });
  });
  assert.equal(said, "prshots: unknown variable PRSHOTS_ULR is ignored: did you mean PRSHOTS_URL?\n");
});

test("a problem fails the run only with strict", async () => {
  const options = { url: "https://shots.test", prNumber: 7, commit: "0123456", token: "msr_secret" };
  for (const strict of [false, true]) {
    const said = await written(async () => {
      const wrong = new Reporter({ ...options, strict });
      assert.deepEqual(await wrong.onEnd({ status: "passed" }), strict ? { status: "failed" } : undefined);
    });
    assert.match(
      said,
      /^prshots: nothing is uploaded: token \(PRSHOTS_TOKEN\) is not an upload token[^\n]*\n$/,
    );
    assert.ok(!said.includes("msr_secret"));
  }
});

test("nothing is sent for a closed pull request, which is no problem", async () => {
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  const event = join(folder, "event.json");
  writeFileSync(event, JSON.stringify({ action: "labeled", pull_request: { number: 7, state: "closed" } }));
  const said = await written(async () => {
    Object.assign(process.env, { GITHUB_ACTIONS: "true", GITHUB_EVENT_PATH: event });
    const reporter = new Reporter({
      url: "https://shots.test",
      token: `msr_${"0".repeat(64)}`,
      strict: true,
    });
    assert.equal(await reporter.onEnd({ status: "passed" }), undefined);
  });
  rmSync(folder, { recursive: true });
  assert.equal(said, "prshots: Pull request 7 is closed, so nothing was sent.\n");
});

test("a preview's pull request is asked of the forge, and the job does nothing if there is none", async () => {
  const sha = "8".repeat(40);
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  const path = join(folder, "event.json");
  writeFileSync(path, JSON.stringify({ deployment: { sha }, deployment_status: {}, repository: { id: 7 } }));
  const pull = { number: 12, state: "open", head: { sha }, base: { repo: { full_name: "octo/app" } } };
  for (const [pulls, output] of [
    [[pull], "prshots: 1 screenshot uploaded to pull request 12\n"],
    [[], ""],
  ]) {
    const uploaded = [];
    const answer = ({ url }, content) => {
      if (url === `/repos/octo/app/commits/${sha}/pulls?per_page=100`) return { json: pulls };
      if (url === "/v1/upload") uploaded.push(content.includes(sha));
      return {};
    };
    const said = await written(() =>
      served(answer, async (url) => {
        const token = `msr_${"0f".repeat(32)}`;
        Object.assign(process.env, {
          GITHUB_ACTIONS: "true",
          GITHUB_API_URL: url,
          GITHUB_EVENT_PATH: path,
          GITHUB_REPOSITORY: "octo/app",
          GITHUB_TOKEN: "of_the_job",
        });
        const reporter = new Reporter({ url, token, comment: false, compare: false });
        reporter.onBegin({ projects: [aProject("")] }, { allTests: () => [] });
        const attachment = { name: "home", contentType: "image/png", body: PICTURES.png };
        reporter.onTestEnd(aTest("works"), { status: "passed", retry: 0, attachments: [attachment] });
        await reporter.onEnd({ status: "passed" });
      }),
    );
    assert.equal(said, output);
    assert.deepEqual(
      uploaded,
      pulls.map(() => true),
    );
  }
  rmSync(folder, { recursive: true });
});

/** Return the names and viewports that arrive at a service in a pull request's run, and what the reporter says. */
async function arrived(options, use, projects = [aProject("")]) {
  const shots = [];
  const said = await written(() =>
    served(
      ({ url }, content) => {
        if (url !== "/v1/upload") return {};
        const field = (name) => content.toString("latin1").match(`name="${name}"\r\n\r\n(.*)\r\n`)?.[1];
        const pair = content.includes('name="before"') && "with a before";
        shots.push([field("name"), field("viewport"), field("theme"), pair].filter(Boolean).join(" "));
        return {};
      },
      async (url) => {
        const token = `msr_${"0f".repeat(32)}`;
        const reporter = new Reporter({
          url,
          token,
          prNumber: 7,
          commit: "0123456",
          comment: false,
          ...options,
        });
        reporter.onBegin({ projects }, { allTests: () => [] });
        use(reporter);
        await reporter.onEnd({ status: "passed" });
      },
    ),
  );
  return { shots: shots.sort(), said };
}

const result = (status, retry, ...names) => ({
  status,
  retry,
  attachments: names.map((name) => ({ name, contentType: "image/png", body: PICTURES.png })),
});

test("only the last result of a test is uploaded", async () => {
  const { shots } = await arrived({}, (reporter) => {
    const flaky = aTest("flaky", { retries: 2 });
    reporter.onTestEnd(flaky, result("failed", 0, "early", "both"));
    reporter.onTestEnd(flaky, result("passed", 1, "both", "both"));
    const broken = aTest("broken", { retries: 1 });
    reporter.onTestEnd(broken, result("failed", 0, "first"));
    reporter.onTestEnd(broken, result("timedOut", 1, "second"));
    reporter.onTestEnd(aTest("stopped", { retries: 2 }), result("failed", 0, "only"));
    const serial = aTest("serial", { retries: 1 }); // it passed, but another one of its group did not
    reporter.onTestEnd(serial, result("passed", 0, "same"));
    reporter.onTestEnd(serial, result("passed", 1, "same"));
  });
  assert.deepEqual(shots, [
    "shop/broken/second 1280x720",
    "shop/flaky/both 1280x720",
    "shop/flaky/both-2 1280x720",
    "shop/serial/same 1280x720",
    "shop/serial/same 1280x720",
    "shop/stopped/only 1280x720",
  ]);
});

test("projects become viewport and theme, and a label only where these are the same", async () => {
  const projects = [
    aProject("chromium"),
    aProject("firefox"),
    aProject("mobile", { viewport: { width: 390, height: 844 } }),
    aProject("dark", { colorScheme: "dark" }),
  ];
  const tests = projects.map((project) => aTest("cart", { project }));
  const { shots } = await arrived(
    {},
    (reporter) => {
      for (const test of tests) reporter.onTestEnd(test, result("passed", 0, "screenshot"));
    },
    projects,
  );
  assert.deepEqual(shots, [
    "shop/cart (firefox) 1280x720",
    "shop/cart 1280x720",
    "shop/cart 1280x720 dark",
    "shop/cart 390x844",
  ]);
});

test("a function that fails is named once, and default names are used", async () => {
  const name = () => {
    throw new Error("no such title");
  };
  const { shots, said } = await arrived({ name }, (reporter) => {
    reporter.onTestEnd(aTest("cart"), result("passed", 0, "a", "b"));
  });
  assert.deepEqual(shots, ["shop/cart/a 1280x720", "shop/cart/b 1280x720"]);
  assert.equal(said.split("the function name failed, so default names are used: no such title").length, 2);
});

test("a toHaveScreenshot is sent with its before, unless that is the same or not readable", async () => {
  const image = (name, body) => ({ name, body, contentType: "image/png" });
  const other = Buffer.concat([PICTURES.png, Buffer.from("other")]);
  const { shots, said } = await arrived({}, (reporter) => {
    const attachments = [
      ...[
        image("home-expected.png", other),
        image("home-actual.png", PICTURES.png),
        image("home-diff.png", other),
      ],
      ...[image("first-expected.png", PICTURES.png), image("first-actual.png", PICTURES.png)],
      ...[image("lost-expected.png", Buffer.from("no image")), image("lost-actual.png", PICTURES.png)],
    ];
    reporter.onTestEnd(aTest("looks"), { status: "failed", retry: 0, attachments });
  });
  assert.deepEqual(shots, [
    "shop/looks/first 1280x720",
    "shop/looks/home 1280x720 with a before",
    "shop/looks/lost 1280x720",
  ]);
  assert.match(said, /looks\/lost: uploaded without the image to compare it with: it is not a PNG/);
});
