/** Where the screenshots of a job belong: to a pull request, or to a branch as its baselines. */

import { branchForBaselines, buildsBaselines, fullCommit, headCommit } from "./ci/checkout.js";
import type { Job } from "./ci/job.js";
import { InvalidInputError } from "./errors.js";
import { commitOf, refuseClosed } from "./lookup.js";
import { message } from "./statements.js";

export interface Target {
  commitSha: string;
  prNumber?: number;
  /** The branch whose baselines these are, in a job without a pull request. */
  baselineOf?: string;
}

/**
 * Return the target of a job that has what only the forge knows (`askForge`); nothing if it runs for neither a pull request
 * nor the branch that has the baselines: the given one, else the default one. A pull request's job never writes
 * baselines. Throws InvalidInputError, ClosedPullRequestError.
 */
export async function targetOfJob(job: Job, branch: string): Promise<Target | undefined> {
  if (await buildsBaselines(job, branch))
    return { commitSha: await baselineCommit(job.commitSha), baselineOf: job.branch };
  const { prNumber } = job;
  if (prNumber === undefined) return undefined;
  refuseClosed(job, prNumber);
  return { commitSha: await commitOf(job), prNumber };
}

export interface Asked {
  pr: number | undefined;
  commit: string;
  branch: string;
  baseline?: boolean;
}

/**
 * Return the target of a job, as `targetOfJob` does, with what was asked for instead. Throws InvalidInputError if the
 * options or CI do not name all of it, and ClosedPullRequestError.
 */
export async function targetOf(job: Job, asked: Asked): Promise<Target> {
  const { pr, commit, branch, baseline = false } = asked;
  if (!baseline && (pr !== undefined || !(await buildsBaselines(job, branch)))) {
    const prNumber = pullRequest(pr, job);
    refuseClosed(job, prNumber);
    return { commitSha: commit || (await commitOf(job)), prNumber };
  }
  if (pr !== undefined || job.prNumber !== undefined || job.lookup || job.fromFork)
    throw new InvalidInputError(message("baseline_in_pull_request"));
  const baselineOf = branch || (await branchForBaselines(job));
  if (!baselineOf) throw new InvalidInputError(message("no_baseline_branch"));
  return { commitSha: await baselineCommit(commit || job.commitSha), baselineOf };
}

/** Return the pull request's number, from the option or from CI. Throws InvalidInputError. */
export function pullRequest(given: number | undefined, job: Job): number {
  const found = given ?? job.prNumber;
  if (found !== undefined) return found;
  const why = job.ci ? message("job_without_pull_request", { ci: job.ci }) : message("no_ci");
  throw new InvalidInputError(message("no_pull_request", { why }));
}

async function baselineCommit(given: string): Promise<string> {
  const sha = given || (await headCommit());
  const found = sha && (await fullCommit(sha));
  if (found) return found;
  const why = sha ? message("unknown_commit", { sha }) : message("no_commit_named");
  throw new InvalidInputError(message("no_baseline_commit", { why }));
}

/** Return the target in words. In a dry run, the pull request may be unknown. */
export function describeTarget({ prNumber, baselineOf }: Target): string {
  if (baselineOf) return message("baselines_of", { branch: baselineOf });
  return message("pull_request", { number: prNumber ?? "?" });
}
