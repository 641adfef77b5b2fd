import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Template } from "../dist/templates.js";
import { testCases } from "./support/vectors.js";

const JOB_VALUES = { pr_number: "7", commit: "abc1234", run_url: "https://ci.example/1", dashboard_url: "" };
const folder = mkdtempSync(join(tmpdir(), "prshots-"));
const file = join(folder, "template.md");
after(() => rmSync(folder, { recursive: true }));

testCases("templates", "filled", ({ template, comment, text }) => {
  assert.equal(Template.of(template, "t").fill(comment, JOB_VALUES), text);
});

testCases("templates", "rooms", ({ template, limit, room }) => {
  assert.equal(Template.of(template, "t").room(limit, "<!-- svc:pr-7 -->", JOB_VALUES), room);
});

testCases("templates", "refused", async ({ file: content, error }) => {
  writeFileSync(file, Buffer.from(content, "base64"));
  await assert.rejects(Template.read(file), ({ message }) =>
    message.startsWith(`the template ${file} ${error}`),
  );
});

test("a file with a byte order mark is read, and a folder or a file that is too long is refused", async () => {
  writeFileSync(file, "\ufeffShots {{entries}}");
  assert.equal((await Template.read(file)).text, "Shots {{entries}}");
  writeFileSync(file, `{{entries}}${"x".repeat(65_536)}`);
  await assert.rejects(Template.read(file), /is longer than 65,536 bytes, the most a comment can have$/);
  for (const path of [folder, join(folder, "missing")])
    await assert.rejects(Template.read(path), /^InvalidInputError: cannot read the template/);
});
