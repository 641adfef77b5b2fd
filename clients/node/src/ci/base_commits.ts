/**
 * The base of a pull request: the commits of the target branch that it is compared with.
 *
 * The list starts where the pull request branched off, or at the commit that the CI merged it with, and follows first
 * parents. The client deepens a shallow clone, but no further than needed. See decision 0025.
 */
import { message } from "../statements.js";
import { defaultBranch, fullCommit } from "./checkout.js";
import { commitAt, fetchFrom, git, isShallow, remoteName, type Say } from "./git.js";
import type { Job } from "./job.js";

/** As many as the service accepts. */
const MAX_BASE_COMMITS = 200;
/** The client deepens a shallow clone until the list has this many. A branch keeps the baselines of 50 by default. */
const ENOUGH_COMMITS = 50;
/** The depths to fetch, one after the other, to find where the pull request branched off. */
const DEPTHS = [ENOUGH_COMMITS, 4 * ENOUGH_COMMITS, 20 * ENOUGH_COMMITS];

/** The branch to compare with, and its commits, newest first. Without commits, `unknown` says why. */
export interface BaseCommits {
  branch: string;
  commits: string[];
  unknown: string;
}

/**
 * Return the base of a commit: on the given branch, else on the pull request's target. Never rejects. `say` is called
 * with a sentence if git takes longer than a second, or cannot fetch.
 */
export async function baseOf(job: Job, commitSha: string, branch: string, say: Say): Promise<BaseCommits> {
  const target = branch || job.targetBranch || (await defaultBranch(job));
  const head = await fullCommit(commitSha);
  const start = (await mergeTarget(head)) || (commitSha === job.commitSha ? job.baseSha : "");
  if (start && (!branch || branch === job.targetBranch))
    return { branch: target, commits: await historyFrom(start, target, say), unknown: "" };
  const unknown = (why: string): BaseCommits => ({ branch: target, commits: [], unknown: why });
  const { error } = await git("rev-parse", "--git-dir");
  if (error) return unknown(error);
  if (!head) return unknown(message("commit_not_in_checkout", { commit: commitSha }));
  return commitsSinceForkPoint(target, head, say);
}

/**
 * Return the commit that the CI merged the head with for this job: HEAD^1; nothing if HEAD isn't such a merge. The commit
 * itself names its parents, even in a clone that doesn't have them.
 */
async function mergeTarget(head: string): Promise<string> {
  const [headers = ""] = (await git("cat-file", "commit", "HEAD")).output.split("\n\n", 1);
  const parents = Array.from(headers.matchAll(/^parent ([0-9a-f]{40})$/gm), ([, sha = ""]) => sha);
  const [onto = "", merged] = parents;
  return parents.length === 2 && head !== "" && merged === head ? onto : "";
}

/** Return the history of a known commit; the commit alone if the remote does not give more. */
async function historyFrom(start: string, target: string, say: Say): Promise<string[]> {
  let found = await firstParents(start);
  const shallow = await isShallow();
  if (!found.length || (shallow && found.length < ENOUGH_COMMITS)) {
    const depth = shallow ? ENOUGH_COMMITS : 0;
    if ((await fetchFrom(start, depth, say, target)).error)
      await fetchFrom(await refspecOf(target), depth, say, target);
    found = await firstParents(start);
  }
  return found.length ? found : [start];
}

/** Return the history of the commit where the head branched off the target. */
async function commitsSinceForkPoint(target: string, head: string, say: Say): Promise<BaseCommits> {
  let commits: string[] = [];
  let problem = "";
  for (const depth of (await isShallow()) ? DEPTHS : [0]) {
    problem = await fetchBranches(target, head, depth, say);
    commits = await firstParents(await mergeBase(target, head));
    if (problem || commits.length >= ENOUGH_COMMITS || !(await isShallow())) break;
  }
  if (problem && commits.length) say(message("could_not_fetch", { branch: target, why: problem }));
  const nothingShared = message("no_shared_commit", { branch: target, commit: head.slice(0, 7) });
  return { branch: target, commits, unknown: commits.length ? "" : problem || nothingShared };
}

/**
 * Fetch the target branch, and the head as far as it is missing. Return why the first failed. One after the other: of two
 * refs in one fetch, git may deepen only one. The head is optional, since some remotes do not hand out a commit by its SHA.
 */
async function fetchBranches(target: string, head: string, depth: number, say: Say): Promise<string> {
  const { error } = await fetchFrom(await refspecOf(target), depth, say, target);
  if (!error && (depth || !(await commitAt(head)))) await fetchFrom(head, depth, say, head.slice(0, 7));
  return error;
}

async function mergeBase(target: string, head: string): Promise<string> {
  const tip = (await commitAt(await trackingRef(target))) || (await commitAt(`refs/heads/${target}`));
  return tip ? (await git("merge-base", "--end-of-options", tip, head)).output.trim() : "";
}

async function firstParents(start: string): Promise<string[]> {
  if (!start) return [];
  const limit = `--max-count=${MAX_BASE_COMMITS}`;
  const listed = await git("rev-list", "--first-parent", limit, "--end-of-options", start, "--");
  return listed.output.split("\n").filter(Boolean);
}

async function refspecOf(target: string): Promise<string> {
  return `+refs/heads/${target}:${await trackingRef(target)}`;
}

async function trackingRef(target: string): Promise<string> {
  return `refs/remotes/${(await remoteName()) || "origin"}/${target}`;
}
