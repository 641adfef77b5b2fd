/** Print whether a pull request's screenshots are reviewed, and set its commit status. */

import { buildsBaselines, fullCommit } from "../ci/checkout.js";
import type { Job } from "../ci/job.js";
import * as validate from "../ci/validate.js";
import { ForgeRefusedError, InvalidInputError, messageOf } from "../errors.js";
import { withForkAdvice } from "../forges/forks.js";
import { forgeOf } from "../forges/index.js";
import { type GateReport, isAbout, reportGate, reportSkip, setStatus } from "../gate.js";
import { askForge, commitOf, refuseClosed } from "../lookup.js";
import { EXIT_CODES, message } from "../statements.js";
import { pullRequest } from "../target.js";
import { branchIn, commitIn, connect, jobAtForge, jobOf, prIn, senderOf } from "./service_options.js";
import type { Context, GateOptions, GateResult } from "./types.js";

/** Throws PrshotsError. */
export async function gate(options: GateOptions, context: Context): Promise<GateResult> {
  const { environ, say } = context;
  const [given, reason] = [prIn(options, environ), validate.words(options.skip)];
  const job = jobOf(context);
  if (reason) {
    const known = await atForge(job, job.prNumber ?? 0, options, context);
    const skipped = reportSkip(reason, known);
    return report(known, options, context, async () => skipped);
  }
  if (given === undefined && (await buildsBaselines(job, branchIn({}, environ)))) {
    say(message("nothing_to_gate", { branch: job.branch }));
    return { words: "", dashboardUrl: "", json: null, exitCode: 0 };
  }
  const known = await atForge(job, given, options, context);
  const prNumber = pullRequest(given, known);
  refuseClosed(known, prNumber);
  const service = connect(options, context);
  const needsBaseline = options.noBaseline !== "pass";
  return report(known, options, context, () => reportGate(service, prNumber, needsBaseline));
}

/** Return the job with what only the forge knows, and with the given options in place of what CI says. */
async function atForge(job: Job, given: number | undefined, options: GateOptions, context: Context) {
  const needs = { needsCommit: !commitIn(options, context.environ) };
  return jobAtForge(await askForge(job, given, senderOf(context), needs), options, context.environ);
}

/** Set the commit's status, and return the newest report as the command's result. */
async function report(
  job: Job,
  options: GateOptions,
  context: Context,
  ask: () => Promise<GateReport>,
): Promise<GateResult> {
  const first = await ask();
  const given = commitIn(options, context.environ) || (job.ci ? "" : first.commitSha);
  const commit = given || (await commitOf(job));
  const { found, isSet } = await trySetStatus(job, options, context, commit, first, ask);
  const { gate: known, status, commitSha } = found;
  const dashboardUrl = known ? status.url : "";
  const hasPassed = isAbout(found, commit) && status.state === "success";
  return {
    ...(known && { gate: known }),
    words: known
      ? message("gate_line", { state: known.state, words: status.description })
      : status.description,
    dashboardUrl,
    json: {
      gate: known ?? null,
      commit_sha: commitSha || commit,
      dashboard_url: dashboardUrl || null,
      status: isSet,
    },
    exitCode: options.fail && !hasPassed ? EXIT_CODES.gated : 0,
  };
}

/** Set the status, or warn why it can't be set. Without CI, the status needs a given token. */
async function trySetStatus(
  job: Job,
  options: GateOptions,
  context: Context,
  commit: string,
  first: GateReport,
  ask: () => Promise<GateReport>,
): Promise<{ found: GateReport; isSet: boolean }> {
  const { say, fail = say } = context;
  const notSet = { found: first, isSet: false };
  if (!isAbout(first, commit)) {
    const [other, own] = [first.commitSha.slice(0, 7), commit.slice(0, 7)];
    say(message("gate_of_other_commit", { other, commit: own }));
    return notSet;
  }
  if (!job.ci && !(options.forgeToken || context.environ.PRSHOTS_FORGE_TOKEN)) return notSet;
  try {
    const forge = forgeOf(job, senderOf(context));
    const found = await setStatus(forge, (await fullCommit(commit)) || commit, first, ask, say);
    return { found, isSet: true };
  } catch (error) {
    const isRefused = error instanceof ForgeRefusedError;
    if (!isRefused && !(error instanceof InvalidInputError)) throw error;
    const why = messageOf(isRefused ? withForkAdvice(error, job) : error);
    fail(message("status_not_set", { why: why.replace(/\.$/, "") }));
    return notSet;
  }
}
