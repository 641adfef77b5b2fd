/** Print whether a pull request's screenshots are reviewed, and set its commit statuses. */

import { buildsBaselines, fullCommit } from "../ci/checkout.js";
import type { Job } from "../ci/job.js";
import * as validate from "../ci/validate.js";
import { ForgeRefusedError, InvalidInputError, messageOf } from "../errors.js";
import { withForkAdvice } from "../forges/forks.js";
import { forgeOf } from "../forges/index.js";
import { type Ask, describe, isAbout, setStatuses, skipCommit } from "../gate.js";
import { askForge, commitOf, refuseClosed } from "../lookup.js";
import type { PullGate } from "../replies.js";
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
    return { lines: [], dashboardUrl: "", json: null, exitCode: 0 };
  }
  const known = await askForge(detected, given, senderOf(context), { needsCommit: !asked });
  const job = jobAtForge(known, options, environ);
  const skipped = reason ? asked || (await commitOf(job)) : "";
  const ask = reason
    ? askingToSkip(job, given, skipped, reason, options, context)
    : askingService(job, given, options, context);
  const first = await ask();
  const commit = asked || skipped || (job.ci ? "" : first.commitSha) || (await commitOf(job));
  const done = await trySetStatuses(job, commit, first, ask, context, options);
  const result = resultOf(done.gate, commit, done.isSet);
  return options.fail ? result : { ...result, exitCode: 0 };
}

function askingService(job: Job, given: number | undefined, options: GateOptions, context: Context): Ask {
  const prNumber = pullRequest(given, job);
  refuseClosed(job, prNumber);
  const service = connect(options, context);
  return () => service.gate(prNumber, options.noBaseline);
}

/** A run on a push has no pull request, so no service has to know that it takes no screenshots. */
function askingToSkip(
  job: Job,
  given: number | undefined,
  commit: string,
  reason: string,
  options: GateOptions,
  context: Context,
): Ask {
  const prNumber = job.ci ? (given ?? job.prNumber) : pullRequest(given, job);
  if (prNumber === undefined) return async () => skipCommit(commit, reason);
  const service = connect(options, context);
  return () => service.skip(prNumber, commit, reason);
}

/** Set the commit's statuses, and return the newest gate. Without CI, that needs a given token. */
async function trySetStatuses(
  job: Job,
  commit: string,
  first: PullGate,
  ask: Ask,
  context: Context,
  { forgeToken }: GateOptions,
): Promise<{ gate: PullGate; isSet: boolean }> {
  const { environ, say, fail = say } = context;
  const unchanged = { gate: first, isSet: false };
  if (!isAbout(first, commit)) {
    const [other, own] = [first.commitSha.slice(0, 7), commit.slice(0, 7)];
    say(message("gate_of_other_commit", { other, commit: own }));
    return unchanged;
  }
  if (!job.ci && !(forgeToken || environ.PRSHOTS_FORGE_TOKEN)) return unchanged;
  try {
    const forge = forgeOf(job, senderOf(context));
    return await setStatuses(forge, job, (await fullCommit(commit)) || commit, first, ask, say);
  } catch (error) {
    const isRefused = error instanceof ForgeRefusedError;
    if (!isRefused && !(error instanceof InvalidInputError)) throw error;
    fail(message("status_not_set", { why: messageOf(isRefused ? withForkAdvice(error, job) : error) }));
    return unchanged;
  }
}

/** Return the result. Its exit code is that of --fail. */
function resultOf(gate: PullGate, commit: string, isSet: boolean): GateResult {
  const { commitSha, dashboardUrl, ...json } = gate;
  const about = { commit_sha: commitSha || commit, dashboard_url: dashboardUrl || null };
  return {
    gate,
    lines: describe(gate),
    dashboardUrl,
    json: { gate: json, ...about, status: isSet },
    exitCode: isAbout(gate, commit) && gate.state === "passed" ? 0 : EXIT_CODES.gated,
  };
}
