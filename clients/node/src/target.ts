/** Where the screenshots of a job belong: to a pull request, or to a branch as its baselines. */
import { buildsBaselines, checkedOut, fullCommit } from "./ci/checkout.js";
import type { Job } from "./ci/job.js";
import { InvalidInputError } from "./errors.js";
import { commitOf, pullRequestOf } from "./lookup.js";
import type { Sender } from "./sender.js";

export interface Target {
  commitSha: string;
  prNumber?: number;
  /** The branch whose baselines these are, in a job without a pull request. */
  baselineOf?: string;
}

/**
 * Return the target of a job; nothing if it is of no pull request and not of the branch that has the baselines: the given
 * one, else the default one. A job of a pull request never writes baselines. Throws InvalidInputError.
 */
export async function targetOf(job: Job, branch: string, sender: Sender): Promise<Target | undefined> {
  if (await buildsBaselines(job, branch))
    return { commitSha: await baselineCommit(job), baselineOf: job.branch };
  const prNumber = await pullRequestOf(job, sender);
  return prNumber === undefined ? undefined : { commitSha: await commitOf(job, prNumber, sender), prNumber };
}

async function baselineCommit(job: Job): Promise<string> {
  const sha = job.commitSha || (await checkedOut());
  const found = sha && (await fullCommit(sha));
  if (found) return found;
  const why = sha ? `git does not know ${sha}` : "neither the CI nor git names one";
  throw new InvalidInputError(
    `no commit for the baselines: ${why}. Set commit (PRSHOTS_COMMIT) with all 40 characters`,
  );
}

/** Return the target in words. */
export function nameOf({ prNumber, baselineOf }: Target): string {
  return baselineOf ? `the baselines of ${baselineOf}` : `PR ${prNumber}`;
}
