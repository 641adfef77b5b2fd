/** Jobs that get no secrets: those of a fork's pull request, and Dependabot's. */
import type { Environ, Job } from "../ci/job.js";

export const FORKS = "https://github.com/prshots/prshots/blob/main/docs/use/ci.md#forks";

const CREDENTIALS = ["PRSHOTS_TOKEN", "PRSHOTS_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"];

/** Return why this job gets no secrets and a read-only token; empty if it gets them. */
export function withoutSecrets(job: Job, environ: Environ): string {
  if (job.fromFork && environ.GITHUB_EVENT_NAME === "pull_request")
    return "the pull request comes from a fork";
  if (environ.GITHUB_ACTOR === "dependabot[bot]") return "Dependabot opened the pull request";
  return "";
}

export function hasCredentials(environ: Environ): boolean {
  return CREDENTIALS.some((name) => environ[name]);
}
