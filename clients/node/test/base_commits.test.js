// The base of a pull request, with real repositories.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { baseOf } from "../dist/ci/base_commits.js";
import { buildsBaselines, headCommit } from "../dist/ci/checkout.js";
import { gitProgram } from "../dist/ci/git.js";
import { NO_JOB } from "../dist/ci/job.js";
import { queuedPulls } from "../dist/ci/merge_queue.js";
import { served } from "./support/servers.js";
import { testCases } from "./support/vectors.js";

const ALONE = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "Octo",
  GIT_AUTHOR_EMAIL: "octo@example.com",
  GIT_COMMITTER_NAME: "Octo",
  GIT_COMMITTER_EMAIL: "octo@example.com",
};

function git(folder, ...words) {
  const env = { ...process.env, ...ALONE };
  return execFileSync("git", ["-C", folder, ...words], { env, encoding: "utf8" }).trim();
}

/** Run in a new folder, with git alone. */
async function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  const [here, environ] = [process.cwd(), { ...process.env }];
  Object.assign(process.env, ALONE, { GIT_CEILING_DIRECTORIES: folder });
  process.chdir(folder);
  try {
    return await use(folder);
  } finally {
    process.chdir(here);
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, environ);
    rmSync(folder, { recursive: true });
  }
}

/** Make the repository of a case and the checkout of its job. Return main's commits, newest first, and the head. */
function checkout(folder, { main, off, onto, depth, remote_is_gone: isGone }) {
  const [work, remote, job] = ["work", "remote.git", "job"].map((name) => join(folder, name));
  for (const made of [work, job]) execFileSync("git", ["init", "--quiet", "--initial-branch=main", made]);
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", remote]);
  const commits = Array.from(
    { length: main },
    (_, number) =>
      `commit refs/heads/main\ncommitter Octo <octo@example.com> ${1_700_000_000 + number} +0000\ndata 1\nx\n`,
  );
  execFileSync("git", ["-C", work, "fast-import", "--quiet"], { input: commits.join("") });
  const history = git(work, "rev-list", "main").split("\n");
  const tree = `${history[0]}^{tree}`;
  const head = git(work, "commit-tree", tree, "-p", history[off], "-m", "Change");
  const shown =
    onto === undefined
      ? head
      : git(work, "commit-tree", tree, "-p", history[onto], "-p", head, "-m", "Merge");
  const refs = ["main", `${head}:refs/heads/cart`, `${shown}:refs/pull/7/shown`];
  git(work, "push", "--quiet", remote, ...refs);
  git(job, "remote", "add", "origin", pathToFileURL(remote).href);
  git(
    job,
    "fetch",
    "--quiet",
    "--no-tags",
    ...(depth ? [`--depth=${depth}`] : []),
    "origin",
    "refs/pull/7/shown",
  );
  git(job, "checkout", "--quiet", "--detach", "FETCH_HEAD");
  if (!depth) git(job, "fetch", "--quiet", "origin", "main");
  if (isGone) git(job, "remote", "set-url", "origin", pathToFileURL(join(folder, "gone.git")).href);
  process.chdir(job);
  return { history, head };
}

testCases("base_commits", "bases", (vector) =>
  inFolder(async (folder) => {
    const { history, head } = checkout(folder, vector);
    const { branch = "", base_sha: at, base, says = "", unknown } = vector;
    const told = [];
    const job = { ...NO_JOB, commitSha: head, targetBranch: "main", baseSha: history[at] ?? "" };
    const found = await baseOf(job, head, branch, (words) => told.push(words));
    assert.equal(found.branch, branch || "main");
    assert.ok(told.join().toLowerCase().includes(says));
    if (unknown) {
      assert.deepEqual(found.commits, []);
      assert.ok(found.unknown.includes(unknown), found.unknown);
      return;
    }
    const count = base.count ?? Math.max(found.commits.length, base.at_least);
    assert.deepEqual(found.commits, history.slice(base.from, base.from + count));
  }),
);

testCases("base_commits", "hostile", ({ remote, settings }) =>
  inFolder(async (folder) => {
    const program = join(folder, "reference-transaction");
    writeFileSync(program, `#!/bin/sh\ntouch ${folder}/ran\n`, { mode: 0o755 });
    const { head } = checkout(folder, { main: 2, off: 0, depth: 1 });
    writeFileSync(".git/objects/info/alternates", `${folder}/remote.git/objects\n`);
    const refused = () => ({ status: 401, headers: { "WWW-Authenticate": "Basic" } });
    await served(refused, async (locked) => {
      const places = { program, hooks: folder, remote: git(".", "remote", "get-url", "origin"), locked };
      const filled = (text) => text.replace(/\{(\w+)\}/g, (_, name) => places[name]);
      for (const [key, value] of Object.entries({ "remote.origin.url": remote, ...settings }))
        git(".", "config", filled(key), filled(value));
      const say = () => {};
      await baseOf({ ...NO_JOB, targetBranch: "other" }, "0123456789abcdef0123456789abcdef01234567", "", say);
      await baseOf({ ...NO_JOB, targetBranch: "main" }, head, "", say);
      await queuedPulls({ ...NO_JOB, forge: "github", inQueue: true }, [], say);
      assert.ok(!existsSync(join(folder, "ran")));
    });
  }),
);

test("a merge train names the merge requests ahead, or says why it can't", () =>
  inFolder(async (folder) => {
    const { history } = checkout(folder, { main: 4, off: 0 });
    const [fourth, third, second, first] = history;
    const trains = { 5: first, 6: second, 7: third, 8: fourth };
    for (const [number, commit] of Object.entries(trains))
      git(".", "push", "--quiet", "origin", `${commit}:refs/merge-requests/${number}/train`);
    const told = [];
    const job = { ...NO_JOB, forge: "gitlab", prNumber: 7, inQueue: true };
    const ahead = (changed = {}) =>
      queuedPulls({ ...job, ...changed }, [third, second, first], (words) => told.push(words));
    assert.deepEqual(await ahead(), [5, 6]);
    assert.deepEqual(await ahead({ inQueue: false }), []);
    assert.deepEqual(told, []);
    git(".", "remote", "set-url", "origin", pathToFileURL(join(folder, "gone.git")).href);
    assert.deepEqual(await ahead(), []);
    assert.match(told[0], /^Note: git can't list the merge queue: /);
  }));

test("ordinary files are not a bare repository, and the user's own programs still run", () =>
  inFolder(async (folder) => {
    const program = join(folder, "program");
    writeFileSync(program, `#!/bin/sh\ntouch ${folder}/ran\n`, { mode: 0o755 });
    git(".", "init", "--quiet", "--bare", "bare");
    git("bare", "config", "core.sshCommand", program);
    git("bare", "remote", "add", "origin", "ssh://git@127.0.0.1:1/o/r");
    process.chdir("bare");
    const base = () => baseOf({ ...NO_JOB, targetBranch: "main" }, "0".repeat(40), "", () => {});
    assert.match((await base()).unknown, /bare repository/);
    assert.ok(!existsSync(join(folder, "ran")));
    git(folder, "-C", "bare", "config", "core.sshCommand", "false");
    writeFileSync(join(folder, "global"), `[core]\nsshCommand = ${program}\n`);
    Object.assign(process.env, { GIT_CONFIG_GLOBAL: join(folder, "global"), GIT_DIR: "." });
    await base();
    assert.ok(existsSync(join(folder, "ran")));
  }));

test("outside a repository or without git it says why", () =>
  inFolder(async () => {
    const job = { ...NO_JOB, targetBranch: "main" };
    const say = () => {};
    assert.match((await baseOf(job, "abc1234", "", say)).unknown, /^not a git repository/);
    assert.equal(await headCommit(), "");
    assert.equal(await buildsBaselines({ ...NO_JOB, branch: "main" }, ""), true);
    process.env.PATH = "";
    assert.match((await baseOf(job, "abc1234", "", say)).unknown, /^git does not run: ENOENT/);
  }));

test("a branch is never an option, and an address with a password is not shown", () =>
  inFolder(async (folder) => {
    const { head } = checkout(folder, { main: 1, off: 0, depth: 1 });
    const say = () => {};
    const found = await baseOf({ ...NO_JOB }, head, "--upload-pack=touch owned;", say);
    assert.notEqual(found.unknown, "");
    assert.throws(() => execFileSync("ls", ["owned"], { stdio: "ignore" }));
    git(".", "remote", "set-url", "origin", "http://ann:hunter2@127.0.0.1:9/shop");
    const { unknown } = await baseOf({ ...NO_JOB }, head, "release", say);
    assert.ok(unknown && !unknown.includes("hunter2"), unknown);
  }));

test("on Windows, a git.exe of the working folder does not run", () => {
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  try {
    writeFileSync(join(folder, "git.exe"), "");
    const found = (PATH) => gitProgram({ PATH }, "win32");
    assert.equal(found(`.;;bin;/nowhere;${folder}`), join(folder, "git.exe"));
    for (const none of ["", ".;relative", "/nowhere"]) assert.match(found(none), /^C:\\no\\/);
    assert.equal(gitProgram({ PATH: folder }, "linux"), "git");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
