/**
 * What the action does. For a closed pull request, it expires the screenshots. For any other, it uploads and compares
 * them, posts the comment, adds it to the job summary, and sets the commit status if asked to. For the branch of the
 * baselines, it uploads baselines. Any other job does nothing.
 */
import { resolve } from "node:path";
import { buildsBaselines } from "../ci/checkout.js";
import { detectJob } from "../ci/detection.js";
import { limitGit } from "../ci/git.js";
import type { Environ, Job } from "../ci/job.js";
import { deadlineIn, prIn, senderOf } from "../commands/service_options.js";
import type { Context } from "../commands/types.js";
import { InvalidInputError } from "../errors.js";
import { askForge, refuseClosed } from "../lookup.js";
import { FORKS, hasCredentials, withoutSecrets } from "./forks.js";
import type { Runner } from "./runner.js";
import { settingsOf } from "./settings.js";
import { Steps } from "./steps.js";

const NOTHING_TO_DO =
  "This job runs for neither a pull request nor the branch of the baselines: nothing to do.";
const NO_BASELINES =
  "A step before this one failed, so its screenshots can't be baselines. Nothing was uploaded.";
const NO_BASELINES_OF_RUN =
  "The workflow run did not succeed, so its screenshots can't be baselines. Nothing was uploaded.";

/** Return whether the step succeeded. Throws PrshotsError. */
export async function run(runner: Runner, given: Environ): Promise<boolean> {
  const settings = settingsOf(given);
  enter(settings.workingDirectory, given);
  const context = { deadline: deadlineIn({}, given), stopped: new AbortController().signal };
  limitGit(context.deadline);
  const job = await knownJob({ ...context, environ: given, say: () => {} });
  const environ = job.prNumber === undefined ? given : { PRSHOTS_PR: String(job.prNumber), ...given };
  const steps = new Steps(runner, settings, { ...context, environ, job });
  if (settings.gateSkip) return steps.gate();
  const isBaselines = !environ.PRSHOTS_PR && (await buildsBaselines(job, settings.branch));
  if (!environ.PRSHOTS_PR && !isBaselines) {
    runner.annotate("notice", NOTHING_TO_DO);
    return true;
  }
  const why = withoutSecrets(job, environ);
  if (why && !hasCredentials(environ)) {
    const words = `This job has no secrets because ${why}. Nothing was uploaded. See ${FORKS}`;
    runner.annotate("warning", words);
    return true;
  }
  if (!job.closed) refuseClosed(job, prIn({}, environ));
  if (job.closed) return steps.expire();
  if (isBaselines && (settings.hasFailed || job.hasFailed)) {
    runner.annotate("notice", job.hasFailed ? NO_BASELINES_OF_RUN : NO_BASELINES);
    return true;
  }
  return settings.complete ? steps.complete() : steps.upload();
}

/** Return the job with what only the forge knows, so that it is asked at most once. Throws PrshotsError. */
async function knownJob(context: Context): Promise<Job> {
  const { environ } = context;
  const job = detectJob(environ);
  if (job.alreadyClosed) return job;
  const needs = { needsCommit: !environ.PRSHOTS_COMMIT };
  return askForge(job, prIn({}, environ), senderOf(context), needs);
}

function enter(folder: string, environ: Environ): void {
  try {
    process.chdir(resolve(environ.GITHUB_WORKSPACE ?? "", folder));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such folder" : code;
    throw new InvalidInputError(`The input \`working-directory\` is not usable: '${folder}': ${reason}.`);
  }
}
