/** What git's checkout says in place of the CI: the commit of the screenshots, and the default branch. */
import { commitAt, git } from "./git.js";
import type { Job } from "./job.js";
import * as validate from "./validate.js";

const USUAL_BRANCHES = ["main", "master"];
const OF_ORIGIN = "refs/remotes/origin/";

/** Return the commit of the working folder; empty if it isn't in a git repository. */
export function headCommit(): Promise<string> {
  return commitAt("HEAD");
}

/** Return a commit's SHA of 40 characters, from git if it is abbreviated; nothing if git has no such one. */
export async function fullCommit(sha: string): Promise<string> {
  return validate.fullCommit(sha) || (validate.commit(sha) ? await commitAt(sha) : "");
}

/** Return the repository's default branch: from the CI, else from git's remote, else by its usual names. */
export async function defaultBranch(job: Job): Promise<string> {
  if (job.defaultBranch) return job.defaultBranch;
  const head = (await git("symbolic-ref", "--quiet", `${OF_ORIGIN}HEAD`)).output.trim();
  const found = head.startsWith(OF_ORIGIN) ? validate.branch(head.slice(OF_ORIGIN.length)) : "";
  if (found) return found;
  if (USUAL_BRANCHES.includes(job.branch)) return job.branch;
  for (const name of USUAL_BRANCHES)
    if ((await commitAt(OF_ORIGIN + name)) || (await commitAt(`refs/heads/${name}`))) return name;
  return "main";
}

/** Return the job's branch; without a CI, the default branch if it's checked out, else nothing. */
export async function branchForBaselines(job: Job): Promise<string> {
  if (job.ci || job.branch) return job.branch;
  const here = validate.branch((await git("symbolic-ref", "--quiet", "HEAD")).output);
  return here === (await defaultBranch(job)) ? here : "";
}

/** Return whether the job builds the branch that has the baselines: the given one, else the default one. */
export async function buildsBaselines(job: Job, branch: string): Promise<boolean> {
  return job.branch !== "" && !job.fromFork && job.branch === (branch || (await defaultBranch(job)));
}
