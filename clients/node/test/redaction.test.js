import assert from "node:assert/strict";
import { test } from "node:test";
import { redact, secretsOf } from "../dist/redaction.js";

test("no token reaches the log", () => {
  const options = { token: "msr_0123456789", forgeToken: " glpat-from-options\n" };
  const environ = { GITLAB_TOKEN: "glpat-from-variable", SOME_TOKEN: "1", PATH: "/usr/local/bin" };
  const said = "1: msr_0123456789, msr_9999, glpat-from-options, glpat-from-variable in /usr/local/bin";
  assert.equal(
    redact(said, secretsOf(options, environ)),
    "1: [hidden], msr_[hidden], [hidden], [hidden] in /usr/local/bin",
  );
});
