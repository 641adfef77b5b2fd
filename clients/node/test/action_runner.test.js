import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inputFor } from "../dist/action/inputs.js";
import { flagInput, linesInput, Runner, textInput } from "../dist/action/runner.js";
import { clientEnviron, settingsOf } from "../dist/action/settings.js";
import { throughProxy } from "../dist/proxy.js";
import { called, message, setNames } from "../dist/statements.js";

function print(environ = {}) {
  const texts = [];
  return { runner: new Runner(environ, (text) => texts.push(text)), lines: () => texts.join("").split("\n") };
}

test("inputs have hyphens, and lines without spaces around them", () => {
  const environ = { "INPUT_FAIL-ON": " changed ", INPUT_PATHS: "a b\r\n\n  c/**\n", INPUT_COMPARE: "TRUE" };
  assert.equal(textInput(environ, "fail-on"), "changed");
  assert.deepEqual(linesInput(environ, "paths"), ["a b", "c/**"]);
  assert.equal(flagInput(environ, "compare"), true);
  assert.equal(flagInput(environ, "comment", true), true);
  assert.throws(() => flagInput({ INPUT_SHRINK: "1" }, "shrink"), /`shrink` must be true or false; got '1'/);
});

test("an input goes before the job's variable", () => {
  const environ = {
    INPUT_TOKEN: "of-the-input",
    PRSHOTS_TOKEN: "of-the-job",
    PRSHOTS_URL: "https://a.example",
  };
  const { PRSHOTS_TOKEN, PRSHOTS_URL, GITHUB_TOKEN } = clientEnviron({ ...environ, INPUT_URL: "" });
  assert.deepEqual(
    [PRSHOTS_TOKEN, PRSHOTS_URL, GITHUB_TOKEN],
    ["of-the-input", "https://a.example", undefined],
  );
});

test("after a step that failed, the screenshots are not all", () => {
  for (const [status, partial] of [
    ["failure", true],
    ["cancelled", true],
    ["success", false],
    ["", false],
  ])
    assert.equal(settingsOf({ "INPUT_JOB-STATUS": status }).partial, partial);
});

test("an annotation is one line without tokens", () => {
  const { runner, lines } = print({ PRSHOTS_TOKEN: "very-secret-token" });
  runner.annotate("error", "50% of\r\na very-secret-token\n::notice::x");
  assert.deepEqual(lines(), ["::error title=prshots::50%25 of\\r\\na [hidden]\\n::notice::x", ""]);
});

test("messages name the inputs, not the options and variables of the other clients", () => {
  setNames(inputFor);
  assert.deepEqual(
    [
      message("no_service_url"),
      message("set_pull_request"),
      message("no_screenshots_found", { searched: "--shrink", folder: "/work" }),
      message("complete_after_parallel_jobs"),
      called("--forge-token"),
      called("--forge"),
    ],
    [
      "no service URL: set the input `url` to an address such as https://prshots.example.com",
      "Set the pull request: the input `pr-number`",
      "no screenshots found: no PNG, JPEG or WebP at --shrink in /work. If that is fine, use the input `allow-empty`",
      "Note: after the last of these parallel jobs, run this action with `complete: true`.",
      "the input `github-token`",
      "PRSHOTS_FORGE",
    ],
  );
});

test("messages are no commands of the runner, also if the command fails", async () => {
  const { runner, lines } = print({ PRSHOTS_TOKEN: "very-secret-token" });
  const failed = runner.withoutCommands(async (say) => {
    say("::error::very-secret-token.png");
    throw new Error("failed");
  });
  await assert.rejects(failed, /^Error: failed$/);
  const [stop, message, resume] = lines();
  const [, word] = /^::stop-commands::([0-9a-f]{32})$/.exec(stop);
  assert.deepEqual([message, resume], [":\\:error::[hidden].png", `::${word}::`]);
});

test("an output is one line, and a runner without a summary gets none", () => {
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  try {
    const file = join(folder, "output");
    const { runner } = print({ GITHUB_OUTPUT: file });
    runner.output("comment-url", "https://a.example/1\nmarkdown=x");
    runner.summarize("x");
    assert.equal(readFileSync(file, "utf8"), "comment-url=https://a.example/1\n");
    assert.equal(runner.hasSummary, false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a proxy of the environment is used, or a warning says why not", () => {
  const used = [];
  assert.equal(throughProxy({}, null), "");
  assert.equal(
    throughProxy({ https_proxy: "http://a.example:3128" }, (environ) => used.push(environ.https_proxy)),
    "",
  );
  assert.deepEqual(used, ["http://a.example:3128"]);
  assert.match(
    throughProxy({ HTTPS_PROXY: "http://user:very-secret@a.example" }, null),
    /^Node v\S+ ignores the proxy of HTTPS_PROXY/,
  );
  const refuse = () => {
    throw new Error("very-secret");
  };
  assert.match(throughProxy({ HTTP_PROXY: "very-secret" }, refuse), /^HTTP_PROXY is ignored/);
});
