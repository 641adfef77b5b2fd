/** Compare a pull request's screenshots with its base. */
import { compareWithBase, summary } from "../compare.js";
import { CallError, InvalidInputError } from "../errors.js";
import { askForge } from "../lookup.js";
import { type ComparedShot, type Comparison, VERDICTS } from "../replies.js";
import { called, EXIT_CODES, message } from "../statements.js";
import { describeTarget, targetOf } from "../target.js";
import { pluralize, quote } from "../wording.js";
import { branchIn, commitIn, connect, jobOf, prIn, senderOf } from "./service_options.js";
import type { CompareOptions, CompareResult, Context } from "./types.js";

/** The verdicts that --fail-on takes. */
export const GATES: readonly string[] = VERDICTS.filter((verdict) => verdict !== "unchanged");

/** The states of the review that --approved-pass ignores. */
const PASSING = ["approved", "quarantined", "seen_before"];

export class ComparisonFailedError extends CallError {
  override name = "ComparisonFailedError";

  constructor(
    readonly comparison: Comparison,
    words = summary(comparison),
  ) {
    super(words);
  }
}

/** Throws PrshotsError. */
export async function compare(options: CompareOptions, context: Context): Promise<CompareResult> {
  const { environ, say, fail = say } = context;
  const failOn = parseVerdicts(options.failOn ?? "");
  const asked = {
    pr: prIn(options, environ),
    commit: commitIn(options, environ),
    branch: branchIn(options, environ),
  };
  const needs = { needsCommit: !asked.commit };
  const job = await askForge(jobOf(context), asked.pr, senderOf(context), needs);
  if (job.hasFailed) say(message("run_has_failed"));
  const target = await targetOf(job, asked);
  const service = connect(options, context);
  const { prNumber, commitSha, baselineOf = "" } = target;
  const complete = (options.complete ?? false) && !job.hasFailed;
  if (prNumber === undefined) {
    if (complete) await service.completeBaselines(baselineOf, commitSha);
    const about = { target: describeTarget(target), commit: commitSha.slice(0, 7) };
    say(message(complete ? "baselines_complete" : "nothing_to_compare", about));
    return { dashboardUrl: "", gated: 0, exitCode: 0 };
  }
  const compared = { prNumber, commitSha, branch: asked.branch, complete };
  const comparison = await compareWithBase(service, job, compared, say);
  for (const shot of comparison.shots) if (shot.verdict === "failed") fail(failureOf(shot));
  if (comparison.state === "failed") throw new ComparisonFailedError(comparison);
  say(summary(comparison));
  const passing = options.approvedPass ? PASSING : [];
  const gated = failOn.length ? countGated(comparison, failOn, passing, fail) : 0;
  return { comparison, dashboardUrl: comparison.dashboardUrl, gated, exitCode: gated ? EXIT_CODES.gated : 0 };
}

/**
 * Return how many shots match --fail-on, without those whose review is in a `passing` state. Throws ComparisonFailedError
 * if the run has no images.
 */
function countGated(
  comparison: Comparison,
  failOn: string[],
  passing: string[],
  fail: (words: string) => void,
): number {
  const { state, shots, commitSha } = comparison;
  const verdicts = failOn.join(",");
  const gated = shots.filter(
    ({ verdict, review }) => failOn.includes(verdict) && !passing.includes(review),
  ).length;
  if (gated) fail(message("gated", { shots: pluralize(gated, "shot"), verdicts }));
  else if (state !== "no_baseline" && shots.every(({ verdict }) => verdict === "removed"))
    throw new ComparisonFailedError(
      comparison,
      message("nothing_gated", { verdicts, commit: commitSha.slice(0, 7) }),
    );
  return gated;
}

/** Return the verdicts that --fail-on names. Throws InvalidInputError. */
export function parseVerdicts(given: string): string[] {
  const names = given.trim() ? given.split(",").map((name) => name.trim()) : [];
  const unknown = names.find((name) => !GATES.includes(name));
  if (unknown !== undefined) {
    const rule = message("verdicts_rule", { verdicts: GATES.join(", ") });
    throw new InvalidInputError(`${called("--fail-on")} is invalid: got ${quote(unknown)}; use ${rule}`);
  }
  return names;
}

function failureOf({ name, viewport, theme, reason }: ComparedShot): string {
  const which = [name, viewport, theme].filter(Boolean).join(" ");
  return message("shot_not_compared", { shot: which, reason: reason && `: ${reason}` });
}
