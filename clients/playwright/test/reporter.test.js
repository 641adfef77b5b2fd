import assert from "node:assert/strict";
import { test } from "node:test";
import Reporter from "../dist/index.js";

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
