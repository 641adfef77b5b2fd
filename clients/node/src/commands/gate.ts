/** Print whether a pull request's screenshots are reviewed, and set its commit status. */

import { buildsBaselines, fullCommit } from "../ci/checkout.js";
import type { Job } from "../ci/job.js";
import * as validate from "../ci/validate.js";
import { ForgeRefusedError, InvalidInputError, messageOf } from "../errors.js";
import { withForkAdvice } from "../forges/forks.js";
import { forgeOf } from "../forges/index.js";
import { type Ask, type GateReport, isAbout, reportGate, reportSkip, setStatus } from "../gate.js";
import { askForge, commitOf, refuseClosed } from "../lookup.js";
import { EXIT_CODES, message } from "../statements.js";
import { pullRequest } from "../target.js";
import { branchIn, commitIn, connect, jobAtForge, jobOf, prIn, senderOf } from "./service_options.js";
import type { Context, GateOptions, GateResult } from "./types.js";

/** Throws PrshotsError. */
export async function gate(options: GateOptions, context: Context): Promise<GateResult> {
  const { environ, say } = context;
  const [given, asked] = [prIn(options, environ), commitIn(options, environ)];
  const reason = validate.words(options.skip);
  const detected = jobOf(context);
  if (!reason && given === undefined && (await buildsBaselines(detected, branchIn({}, environ)))) {
    say(message("nothing_to_gate", { branch: detected.branch }));
    return { words: "", dashboardUrl: "", json: null, exitCode: 0 };
  }
  const pull = reason ? (detected.prNumber ?? 0) : given; // a run without screenshots needs no pull request
  const known = await askForge(detected, pull, senderOf(context), { needsCommit: !asked });
  const job = jobAtForge(known, options, environ);
  const ask = reason ? async () => reportSkip(reason, job) : askingService(job, given, options, context);
  const first = await ask();
  const commit = asked || (job.ci ? "" : first.commitSha) || (await commitOf(job));
  const newest = await trySetStatus(job, commit, first, ask, context, options);
  const result = resultOf(newest ?? first, commit, newest !== undefined);
  return options.fail ? result : { ...result, exitCode: 0 };
}

function askingService(job: Job, given: number | undefined, options: GateOptions, context: Context): Ask {
  const prNumber = pullRequest(given, job);
  refuseClosed(job, prNumber);
  const service = connect(options, context);
  return () => reportGate(service, prNumber, options.noBaseline !== "pass");
}

/**
 * Set the commit's status, and return the newest report; undefined if the status can't be set, after a warning. Without CI,
 * that needs a given token.
 */
async function trySetStatus(
  job: Job,
  commit: string,
  first: GateReport,
  ask: Ask,
  context: Context,
  { forgeToken }: GateOptions,
): Promise<GateReport | undefined> {
  const { environ, say, fail = say } = context;
  if (!isAbout(first, commit)) {
    const [other, own] = [first.commitSha.slice(0, 7), commit.slice(0, 7)];
    say(message("gate_of_other_commit", { other, commit: own }));
    return undefined;
  }
  if (!job.ci && !(forgeToken || environ.PRSHOTS_FORGE_TOKEN)) return undefined;
  try {
    const forge = forgeOf(job, senderOf(context));
    return await setStatus(forge, (await fullCommit(commit)) || commit, first, ask, say);
  } catch (error) {
    const isRefused = error instanceof ForgeRefusedError;
    if (!isRefused && !(error instanceof InvalidInputError)) throw error;
    fail(message("status_not_set", { why: messageOf(isRefused ? withForkAdvice(error, job) : error) }));
    return undefined;
  }
}

/** Return the result. Its exit code is that of --fail. */
function resultOf(report: GateReport, commit: string, isSet: boolean): GateResult {
  const { gate: known, status, commitSha } = report;
  const words = status.description;
  const dashboardUrl = known ? status.url : "";
  const about = { commit_sha: commitSha || commit, dashboard_url: dashboardUrl || null };
  const hasPassed = isAbout(report, commit) && status.state === "success";
  return {
    ...(known && { gate: known }),
    words: known ? message("gate_line", { state: known.state, words }) : words,
    dashboardUrl,
    json: { gate: known ?? null, ...about, status: isSet },
    exitCode: hasPassed ? 0 : EXIT_CODES.gated,
  };
}
