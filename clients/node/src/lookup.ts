/** Ask the forge for what the event of an Actions job does not name: its pull request, or the head of that. */

import { headCommit } from "./ci/checkout.js";
import type { Job } from "./ci/job.js";
import { InvalidInputError, messageOf } from "./errors.js";
import { forgeOf } from "./forges/index.js";
import type { AnswersLookups } from "./forges/pull_requests.js";
import type { Sender } from "./sender.js";
import { message } from "./statements.js";

/**
 * Return the job's pull request; undefined if it isn't for one. Throws InvalidInputError if the forge doesn't say.
 */
export async function pullRequestOf(job: Job, sender: Sender): Promise<number | undefined> {
  if (job.prNumber !== undefined || !job.lookup) return job.prNumber;
  const missing = message("no_pull_request_in_event", { commit: job.commitSha.slice(0, 7) });
  const advice = message("set_pull_request");
  const found = await askForge(job, sender, missing, advice, (forge) =>
    forge.openPullRequests(job.commitSha),
  );
  if (found.length > 1)
    throw new InvalidInputError(
      message("head_of_several", { missing, numbers: found.sort((a, b) => a - b).join(", "), advice }),
    );
  if (!found.length && job.lookup === "pull_request")
    throw new InvalidInputError(message("head_of_none", { missing, advice }));
  return found[0];
}

/** Return the commit, or else the head of the pull request, or else git's. Throws InvalidInputError. */
export async function commitOf(job: Job, prNumber: number, sender: Sender): Promise<string> {
  if (job.commitSha) return job.commitSha;
  if (job.lookup !== "head") return commitHere(); // otherwise here is the base's checkout
  const missing = message("no_head_in_event", { number: prNumber });
  const advice = message("set_commit");
  const sha = await askForge(job, sender, missing, advice, (forge) => forge.headOf(prNumber));
  if (!sha) throw new InvalidInputError(message("head_not_reported", { missing, advice }));
  return sha;
}

/** Return the commit that is checked out. Throws InvalidInputError. */
async function commitHere(): Promise<string> {
  const commit = await headCommit();
  if (!commit)
    throw new InvalidInputError(
      "no commit: the CI does not name one and not in a git repository. Set commit (PRSHOTS_COMMIT)",
    );
  return commit;
}

/** Return the forge's answer. Only GitHub and Gitea run jobs that have to ask. */
async function askForge<T>(
  job: Job,
  sender: Sender,
  missing: string,
  advice: string,
  question: (forge: AnswersLookups) => Promise<T>,
): Promise<T> {
  try {
    return await question(forgeOf(job, sender) as unknown as AnswersLookups);
  } catch (error) {
    throw new InvalidInputError(message("cannot_ask_forge", { missing, why: messageOf(error), advice }));
  }
}
