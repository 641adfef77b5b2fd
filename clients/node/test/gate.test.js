import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, isAbout, setStatuses, skipCommit } from "../dist/gate.js";
import { Sender } from "../dist/sender.js";
import { Service } from "../dist/service.js";
import { served } from "./support/servers.js";

const [SHA, OTHER] = ["1".repeat(40), "2".repeat(40)];
const PAGE = "https://shots.test/prs/7";
const status = (state, description, context = "prshots") => ({ context, state, description });
const WAITS = [status("pending", "1 screenshot to review")];
const PASSED = [status("success", "Nothing is left to review")];
const gate = (statuses, more = {}) => ({
  json: { state: "waiting", open: 1, reason: "", statuses, commit_sha: SHA, dashboard_url: PAGE, ...more },
});

/** Serve these replies, of which the last one repeats, and give `use` a function that asks for the gate. */
function asking(replies, use, ask = (service) => service.gate(7)) {
  const [left, asked] = [[...replies], []];
  const answer = ({ method, url }, content) => {
    asked.push([`${method} ${url}`, content]);
    return left.length > 1 ? left.shift() : left[0];
  };
  return served(answer, async (url) => {
    const tokens = { token: async () => "t", renew: async () => undefined };
    const service = new Service(url, tokens, new Sender(new AbortController().signal, 1));
    return { found: await use(() => ask(service)), asked };
  });
}

/** Return the statuses that a job on SHA sets while the service gives these replies. */
async function statusesOf(...replies) {
  const [set, told] = [[], []];
  const forge = {
    label: "A forge",
    setStatus: async (_, { context, state, url }) => set.push(`${context} ${state} ${url}`),
  };
  const { found } = await asking(replies, async (ask) =>
    setStatuses(forge, { runUrl: "https://ci.test/1" }, SHA, await ask(), ask, (words) => told.push(words)),
  );
  return { set, told, isSet: found.isSet };
}

test("the service says which statuses to set", async () => {
  const projects = [status("success", "x", "prshots/mobile"), status("pending", "web: x")];
  const { set, told, isSet } = await statusesOf(gate(projects));
  assert.deepEqual(set, [`prshots/mobile success ${PAGE}`, `prshots pending ${PAGE}`]);
  assert.deepEqual(told, [
    "Set the status prshots/mobile of commit 1111111 at A forge to success.",
    "Set the status prshots of commit 1111111 at A forge to pending.",
  ]);
  assert.equal(isSet, true);
});

test("the statuses that change are set until they stay the same", async () => {
  const of = (state) =>
    gate([...PASSED.map((each) => ({ ...each, context: "prshots/a" })), status(state, "x")]);
  const states = async (...replies) =>
    (await statusesOf(...replies)).set.map((each) => each.split(" ", 2).join(" "));
  assert.deepEqual(await states(of("pending"), of("pending"), of("success")), [
    "prshots/a success",
    "prshots pending",
  ]);
  assert.deepEqual(await states(of("pending"), of("success")), [
    "prshots/a success",
    "prshots pending",
    "prshots success",
  ]);
  const restless = Array.from({ length: 30 }, (_, open) => gate([status("pending", String(open))]));
  assert.equal((await states(...restless)).length, 10);
});

test("a gate of another commit sets no status, unless the newest isn't compared", async () => {
  assert.deepEqual((await statusesOf(gate(PASSED, { commit_sha: OTHER }))).set, []);
  const blocked = { state: "blocked", open: 0, reason: "not_compared" };
  for (const commit_sha of [OTHER, undefined])
    assert.equal((await statusesOf(gate(WAITS, { ...blocked, commit_sha }))).set.length, 1);
  assert.equal((await statusesOf(gate(PASSED), gate(WAITS, { commit_sha: OTHER }))).set.length, 1);
  assert.ok(isAbout(skipCommit(SHA, "docs"), SHA.slice(0, 7)));
});

test("a skipped run is recorded with its commit and reason", async () => {
  const skip = (service) => service.skip(7, SHA, "docs only");
  const { asked } = await asking([gate(PASSED)], (ask) => ask(), skip);
  const body = JSON.stringify({ pr_number: 7, commit_sha: SHA, skip: "docs only" });
  assert.deepEqual(asked, [["POST /v1/gate", body]]);
});

test("people read the gate, and the statuses if there are several", async () => {
  const lines = async (...statuses) => describe((await asking([gate(statuses)], (ask) => ask())).found);
  assert.deepEqual(await lines(...WAITS), ["waiting: 1 screenshot to review"]);
  assert.deepEqual(await lines(status("success", "Fine", "prshots/web"), status("pending", "mobile: no")), [
    "waiting: 1 screenshot to review",
    "  prshots/web: success, Fine",
    "  prshots: pending, mobile: no",
  ]);
  assert.deepEqual(describe(skipCommit(SHA, "docs only")), ["passed: Skipped: docs only"]);
});

test("a service can't set another program's status", async () => {
  for (const statuses of [[], undefined, [status("success", "x", "build")], [status("green", "x")], [null]])
    await assert.rejects(
      asking([gate(statuses)], (ask) => ask()),
      /^CallError: http:\S+ answered without a gate and its statuses/,
    );
});
