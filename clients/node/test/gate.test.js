import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_JOB } from "../dist/ci/job.js";
import { reportGate, reportSkip, setStatus } from "../dist/gate.js";
import { Sender } from "../dist/sender.js";
import { Service } from "../dist/service.js";
import { served } from "./support/servers.js";

const [SHA, OTHER] = ["1".repeat(40), "2".repeat(40)];
const PAGE = "https://shots.test/prs/7";
const gate = (state, open = 0, reason = "") => ({ state, open, reason });
const compared = (found, commit_sha = SHA) => ({
  json: {
    state: "compared",
    branch: "main",
    commit_sha,
    counts: {},
    dashboard_url: PAGE,
    gate: found,
  },
});
const MISSING = { status: 404, json: { error: "not found" } };

/** Serve these replies, of which the last one repeats, and give `use` a function that asks for the gate. */
function asking(replies, use, needsBaseline = true) {
  const left = [...replies];
  const answer = () => (left.length > 1 ? left.shift() : left[0]);
  return served(answer, (url) => {
    const tokens = { token: async () => "t", renew: async () => undefined };
    const service = new Service(url, tokens, new Sender(new AbortController().signal, 1));
    return use(() => reportGate(service, 7, needsBaseline));
  });
}

/** Return the statuses that a job on SHA sets while the service gives these replies. */
async function statusesOf(replies) {
  const [set, told] = [[], []];
  const forge = { label: "A forge", setStatus: async (commit, { state }) => set.push([commit, state]) };
  await asking(replies, async (ask) => setStatus(forge, SHA, await ask(), ask, (words) => told.push(words)));
  return { set, told };
}

test("each gate is a commit status, and a blocked one never succeeds", async () => {
  for (const [reply, state, description] of [
    [compared(gate("passed")), "success", "Nothing is left to review"],
    [compared(gate("waiting", 1)), "pending", "1 screenshot to review"],
    [compared(gate("rejected", 2)), "failure", "Changes were rejected"],
    [compared(gate("blocked", 0, "running")), "pending", "The comparison is still running"],
    [compared(gate("blocked", 0, "incomplete")), "pending", "Some screenshots are missing in this run"],
    [compared(gate("blocked", 0, "failed")), "failure", "The comparison failed"],
    [compared(gate("blocked", 0, "no_baseline")), "pending", "The base branch has no baselines yet"],
  ]) {
    const { status } = await asking([reply], (ask) => ask());
    assert.deepEqual(status, { state, description, url: PAGE });
  }
  const { status } = await asking([MISSING], (ask) => ask());
  const description = "The newest commit is not compared yet";
  assert.deepEqual(status, { state: "pending", description, url: "" });
});

test("only missing baselines may pass", async () => {
  const ofReason = (reason) => asking([compared(gate("blocked", 0, reason))], (ask) => ask(), false);
  assert.equal((await ofReason("no_baseline")).status.state, "success");
  assert.equal((await ofReason("incomplete")).status.state, "pending");
});

test("a run that is skipped succeeds, and links to itself", () => {
  const { status } = reportSkip("docs only", { ...NO_JOB, runUrl: "https://ci.test/1" });
  assert.deepEqual(status, { state: "success", description: "Skipped: docs only", url: "https://ci.test/1" });
});

test("the status is set until the gate stays the same", async () => {
  const [waiting, passed] = [compared(gate("waiting", 1)), compared(gate("passed"))];
  const { set, told } = await statusesOf([waiting, waiting, passed]);
  assert.deepEqual(set, [[SHA, "pending"]]);
  assert.deepEqual(told, ["Set the status prshots of commit 1111111 at A forge to pending."]);
  const states = async (...replies) => (await statusesOf(replies)).set.map(([, state]) => state);
  assert.deepEqual(await states(waiting, passed), ["pending", "success"]);
  const restless = Array.from({ length: 30 }, (_, open) => compared(gate("waiting", open)));
  assert.equal((await states(...restless)).length, 10);
});

test("a comparison of another commit sets no status, unless the newest isn't compared", async () => {
  assert.deepEqual(await statusesOf([compared(gate("passed"), OTHER)]), { set: [], told: [] });
  const blocked = compared(gate("blocked", 0, "not_compared"), OTHER);
  assert.deepEqual((await statusesOf([blocked])).set, [[SHA, "pending"]]);
  const replaced = [compared(gate("passed")), compared(gate("waiting", 1), OTHER)];
  assert.deepEqual((await statusesOf(replaced)).set, [[SHA, "success"]]);
});

test("distinguishes an older service from a missing comparison", () =>
  assert.rejects(
    asking([compared()], (ask) => ask()),
    /^CallError: http:\S+ doesn't report a gate: upgrade the service to this client's version$/,
  ));
