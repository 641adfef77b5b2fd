/**
 * Ask the forge for what the event of an Actions job does not name: its pull request, or the head of that. The target
 * branch comes with both.
 */

import { headCommit } from "./ci/checkout.js";
import type { Job } from "./ci/job.js";
import { CallError, ClosedPullRequestError, InvalidInputError, messageOf } from "./errors.js";
import { forgeOf } from "./forges/index.js";
import type { AnswersLookups, ForgePullRequest } from "./forges/pull_requests.js";
import type { Sender } from "./sender.js";
import { called, message } from "./statements.js";

/**
 * Return the job with what only the forge knows. `given` is a pull request that was set. Throws InvalidInputError if the
 * forge doesn't say, and CallError if it fails.
 */
export async function askForge(
  job: Job,
  given: number | undefined,
  sender: Sender,
  { needsCommit }: { needsCommit: boolean },
): Promise<Job> {
  const known = given === undefined ? await withPullRequest(job, sender) : job;
  const prNumber = given ?? known.prNumber;
  return needsCommit && prNumber !== undefined ? withHead(known, prNumber, sender) : known;
}

/** Throw ClosedPullRequestError if it is closed: no later event would expire what is sent to it. */
export function refuseClosed({ closed, alreadyClosed, prNumber }: Job, number: number | undefined): void {
  if ((closed || alreadyClosed) && number === prNumber)
    throw new ClosedPullRequestError(message("pull_request_closed", { number: String(number) }));
}

async function withPullRequest(job: Job, sender: Sender): Promise<Job> {
  if (job.prNumber !== undefined || !job.lookup) return job;
  const missing = message("no_pull_request_in_event", { commit: job.commitSha.slice(0, 7) });
  const advice = message("set_pull_request");
  const found = await answerOf(job, sender, missing, advice, (forge) =>
    forge.pullRequestsWithHead(job.commitSha),
  );
  const open = found.filter(({ isOpen }) => isOpen);
  if (open.length > 1) {
    const numbers = open.map(({ number = 0 }) => number).sort((a, b) => a - b);
    throw new InvalidInputError(message("head_of_several", { missing, numbers: numbers.join(", "), advice }));
  }
  if (!found.length && job.lookup === "pull_request")
    throw new InvalidInputError(message("head_of_none", { missing, advice }));
  // The pull request may have been closed since the run for it started.
  const pull = open[0] ?? (job.lookup === "pull_request" ? found.at(-1) : undefined);
  return pull ? withFacts(job, pull) : { ...job, lookup: undefined };
}

/** Return the job with the head of its pull request, if the event does not name it. */
async function withHead(job: Job, prNumber: number, sender: Sender): Promise<Job> {
  if (job.lookup !== "head") return job;
  const missing = message("no_head_in_event", { number: prNumber });
  const advice = message("set_commit");
  const pull = await answerOf(job, sender, missing, advice, (forge) => forge.pullRequest(prNumber));
  if (!pull.headSha) throw new InvalidInputError(message("head_not_reported", { missing, advice }));
  return withFacts(job, { ...pull, number: prNumber });
}

function withFacts(job: Job, { number, isOpen, headSha, targetBranch }: ForgePullRequest): Job {
  return {
    ...job,
    prNumber: number,
    commitSha: headSha,
    targetBranch,
    alreadyClosed: !isOpen,
    lookup: undefined,
  };
}

/** Return the commit, or else git's. Throws InvalidInputError. */
export async function commitOf(job: Job): Promise<string> {
  const commit = job.commitSha || (await headCommit());
  if (!commit)
    throw new InvalidInputError(
      `no commit: the CI does not name one and not in a git repository. Set ${called("--commit")}`,
    );
  return commit;
}

/** Return the forge's answer. Only GitHub and Gitea run jobs that have to ask. */
async function answerOf<T>(
  job: Job,
  sender: Sender,
  missing: string,
  advice: string,
  question: (forge: AnswersLookups) => Promise<T>,
): Promise<T> {
  try {
    return await question(forgeOf(job, sender) as unknown as AnswersLookups);
  } catch (error) {
    const kind = error instanceof CallError ? CallError : InvalidInputError;
    throw new kind(message("cannot_ask_forge", { missing, why: messageOf(error), advice }));
  }
}
