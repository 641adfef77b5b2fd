// The command's own manners. What the commands do is told by the stories in tests/e2e, which run with both clients.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { COMMANDS } from "../dist/cli/options.js";
import { printable, quote, safeJson, safeMarkdown } from "../dist/wording.js";
import { testCases } from "./support/vectors.js";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** Run the command without any variable, and return its exit code and output. */
async function run(...args) {
  const env = { PATH: process.env.PATH };
  const done = promisify(execFile)(process.execPath, [MAIN, ...args], { env });
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

test("help lists every command with its whole summary, and every option", async () => {
  const [general, ...each] = await Promise.all([
    run("--help"),
    ...Object.keys(COMMANDS).map((name) => run(name, "-h")),
  ]);
  for (const { summary } of Object.values(COMMANDS)) assert.ok(general.stdout.includes(summary));
  for (const [index, { options }] of Object.values(COMMANDS).entries())
    for (const { name, variable = "" } of options) {
      assert.ok(each[index].stdout.includes(`--${name}`), name);
      assert.ok(each[index].stdout.replace(/\s+/g, " ").includes(variable), variable);
    }
  assert.ok(general.stdout.split("\n").every((line) => line.length <= 100));
});

test("with --json, a failure is one JSON object with a code", async () => {
  const nowhere = ["--url", "http://127.0.0.1:9", "--token", `msr_${"0".repeat(64)}`];
  const cases = [
    [["upload", "--json", "--nmae"], 2, "invalid_arguments", /^unknown option '--nmae'/],
    [["upload", "nowhere", "--json", "--pr", "7"], 1, "no_screenshots", /^no screenshots found/],
    [["compare", "--format", "json", "--pr", "x"], 2, "invalid_arguments", /^--pr takes a number/],
    [["expire", "--pr", "7", "--json"], 2, "invalid_arguments", /^no service URL: set --url/],
    [["expire", "--pr", "7", "--json", ...nowhere], 1, "unreachable", /127.0.0.1:9/],
  ];
  for (const [args, exitCode, code, words] of cases) {
    const { code: exited, stdout } = await run(...args);
    const reply = JSON.parse(stdout);
    assert.deepEqual([exited, reply.code, Object.keys(reply)], [exitCode, code, ["error", "code"]]);
    assert.match(reply.error, words);
  }
});

test("wrong arguments get one line and exit code 2", async () => {
  const cases = [
    [["uplaod"], "prshots: unknown command uplaod: see prshots --help\n"],
    [["upload"], "prshots: missing argument PATH…: see prshots upload --help\n"],
    [["upload", "--nmae", "x"], "prshots: unknown option '--nmae': see prshots upload --help\n"],
    [["compare", "shots"], "prshots: unexpected argument 'shots': see prshots compare --help\n"],
    [["upload", "x", "--jobs", "65"], "prshots: --jobs takes a number from 1 to 64; got '65'\n"],
    [["comment", "--view", "new"], "prshots: --view takes one of all, latest, changes; got 'new'\n"],
    [["constructor"], "prshots: unknown command constructor: see prshots --help\n"],
  ];
  const found = await Promise.all(cases.map(([args]) => run(...args)));
  for (const [index, [args, stderr]] of cases.entries())
    assert.deepEqual(found[index], { code: 2, stdout: "", stderr }, args.join(" "));
});

test("without a command, the help is shown and the exit code is 2", async () => {
  const { code, stdout } = await run();
  assert.deepEqual([code, stdout.startsWith("Usage: prshots ")], [2, true]);
});

testCases("safe_text", "texts", ({ text, printable: expected }) => {
  assert.equal(printable(text), expected);
  const printed = `${printable(text)}\n${safeMarkdown(text)}`;
  for (const line of printed.split("\n")) assert.doesNotMatch(line, /^\s*::|##\w*\[|\p{Cc}/u);
  const line = safeJson(JSON.stringify(text));
  assert.equal(JSON.parse(line), text);
  assert.doesNotMatch(line, /[\x85\u2028\u2029]/);
});

test("texts from outside are shown without control characters", () => {
  assert.equal(
    printable("a\n::error::\x1b[2J\u202e\u{e0001} é家"),
    "a\\n::error::\\x1b[2J\\u202e\\U000e0001 é家",
  );
  assert.equal(quote("it's\n"), '"it\'s\\n"');
  assert.equal(quote("x".repeat(70)), `'${"x".repeat(60)}'`);
});
