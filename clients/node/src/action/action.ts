/**
 * What the action does. For a closed pull request, it expires the screenshots. For any other, it uploads and compares
 * them, posts the comment, and adds it to the job summary. For the branch of the baselines, it uploads baselines. Any other
 * job does nothing.
 */
import { resolve } from "node:path";
import { buildsBaselines } from "../ci/checkout.js";
import { detectJob } from "../ci/detection.js";
import type { Environ, Job } from "../ci/job.js";
import { prIn } from "../commands/service_options.js";
import { InvalidInputError } from "../errors.js";
import { askForge, refuseClosed } from "../lookup.js";
import { Sender } from "../sender.js";
import { FORKS, hasCredentials, withoutSecrets } from "./forks.js";
import type { Runner } from "./runner.js";
import { settingsOf } from "./settings.js";
import { Steps } from "./steps.js";

const NOTHING_TO_DO =
  "This job runs for neither a pull request nor the branch of the baselines: nothing to do.";
const NO_BASELINES =
  "A step before this one or the workflow run failed, so its screenshots can't be baselines. Nothing was uploaded.";

/** Return whether the step succeeded. Throws PrshotsError. */
export async function run(runner: Runner, given: Environ): Promise<boolean> {
  const settings = settingsOf(given);
  enter(settings.workingDirectory, given);
  const job = await knownJob(given);
  const environ = job.prNumber === undefined ? given : { PRSHOTS_PR: String(job.prNumber), ...given };
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
  const steps = new Steps(runner, settings, environ, job);
  if (job.closed) return steps.expire();
  if (isBaselines && (settings.hasFailed || job.hasFailed)) {
    runner.annotate("notice", NO_BASELINES);
    return true;
  }
  return settings.complete ? steps.complete() : steps.upload();
}

/** Return the job with what only the forge knows, so that it is asked at most once. Throws PrshotsError. */
async function knownJob(environ: Environ): Promise<Job> {
  const job = detectJob(environ);
  if (job.alreadyClosed) return job;
  const needs = { needsCommit: !environ.PRSHOTS_COMMIT };
  return askForge(job, prIn({}, environ), new Sender(new AbortController().signal), needs);
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
