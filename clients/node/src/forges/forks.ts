/** A fork's pull request: its job gets no secrets and a read-only token. What to do then. */
import type { ForgeKind, Job } from "../ci/job.js";
import { ForgeError, type ForgeRefusedError } from "../errors.js";
import { message } from "../statements.js";

const FROM_A_FORK: Record<ForgeKind, string> = {
  github:
    "Post the comment from a second workflow (`on: workflow_run`), or set PRSHOTS_FORGE_TOKEN to a bot's token where " +
    "forks get secrets. Avoid `on: pull_request_target`: its token can write, but the fork's code gets it too",
  gitlab:
    "Have a member start the merge request's pipeline in this project, after a look at what it runs. " +
    "Then it gets the project's variables",
  gitea:
    "Post the comment with a bot's token in PRSHOTS_FORGE_TOKEN, from a job that does not run the fork's code",
  bitbucket:
    "Start the pipeline manually in this repository: the fork's own pipeline gets none of its variables",
};

/** Return the error with advice, if the pull request comes from a fork. */
export function withForkAdvice(error: ForgeRefusedError, job: Job): ForgeError {
  const words = forkAdvice(job);
  return words ? new ForgeError(`${words} (${error.message})`) : error;
}

/** Return what to do; nothing if the pull request does not come from a fork. */
export function forkAdvice(job: Job): string {
  if (!job.fromFork || !job.forge) return "";
  return message("from_a_fork", { advice: FROM_A_FORK[job.forge] });
}
