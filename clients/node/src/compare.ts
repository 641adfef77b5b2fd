/** Compare a pull request's screenshots with its base, and wait for the result. */

import { setTimeout as pause } from "node:timers/promises";
import { baseOf } from "./ci/base_commits.js";
import { pullRequestPage } from "./ci/forge_addresses.js";
import type { Say } from "./ci/git.js";
import type { Job } from "./ci/job.js";
import { queuedPulls } from "./ci/merge_queue.js";
import { CallError, InvalidInputError, NotFoundError } from "./errors.js";
import { type Comparison, VERDICTS } from "./replies.js";
import type { Service, View } from "./service.js";
import { message } from "./statements.js";
import { formatNumber } from "./wording.js";

const WAIT_SECONDS = 600;
const POLL_SECONDS = 1;
const TELL_SECONDS = 10;

/**
 * Compare with the base that git finds, on the given branch or the pull request's target, and wait until the result is
 * final. If git can't find it, the newest baselines are the base, and `say` gets the reason. Throws CallError if it takes
 * longer than 10 minutes or the command's time, or if a run of another commit takes over.
 */
export async function compareWithBase(
  service: Service,
  job: Job,
  { prNumber, commitSha, branch, complete }: CompareAsked,
  say: Say,
): Promise<Comparison> {
  const base = await baseOf(job, commitSha, branch, say);
  const queued = await queuedPulls(job, base.commits, say);
  let found = await service.compare(prNumber, commitSha, base, complete, queued);
  const started = Date.now();
  let told = started;
  while (found.state === "running") {
    const now = Date.now();
    const seconds = Math.round((now - started) / 1000);
    if (now > started + WAIT_SECONDS * 1000 || service.secondsLeft < POLL_SECONDS)
      throw new CallError(message("still_running", { seconds }));
    if (now >= told + TELL_SECONDS * 1000) {
      told = now;
      say(message("still_comparing", { seconds }));
    }
    await pause(POLL_SECONDS * 1000);
    const latest = await service.comparison(prNumber);
    if (latest?.commitSha !== found.commitSha) {
      const other = latest ? `commit ${latest.commitSha.slice(0, 7)}` : "none";
      throw new CallError(message("comparison_replaced", { commit: commitSha.slice(0, 7), other }));
    }
    found = latest;
  }
  if (base.unknown && found.state !== "no_baseline")
    say(message("base_unknown", { commit: commitSha.slice(0, 7), why: base.unknown, branch: base.branch }));
  return found;
}

export interface CompareAsked {
  prNumber: number;
  commitSha: string;
  /** The branch that has the baselines; empty for the pull request's target. */
  branch: string;
  /** These are all screenshots of the commit, so a missing one was removed. */
  complete: boolean;
}

/**
 * Tell the service what the CI knows about the pull request, and return its page on the dashboard. A text that the service
 * doesn't accept isn't an error. Throws NotFoundError without images.
 */
export async function describe(service: Service, prNumber: number, job: Job): Promise<string> {
  const about = {
    repository: job.repositoryUrl,
    url: pullRequestPage(job.forge, job.repositoryUrl, prNumber),
    // What CI says about its own pull request says nothing about another one.
    ...(prNumber === job.prNumber && {
      title: job.title,
      source_branch: job.sourceBranch,
      author: job.author,
    }),
  };
  try {
    const known = Object.entries(about).filter(([, text]) => text);
    return await service.describe(prNumber, Object.fromEntries(known));
  } catch (error) {
    if (error instanceof InvalidInputError) return "";
    throw error;
  }
}

/**
 * Return what the comment shows by default, and the pull request's page on the dashboard. The changes if there is a
 * comparison, otherwise the latest images. The page is empty without images.
 */
export async function viewAndPage(
  service: Service,
  prNumber: number,
  job: Job,
): Promise<{ view: View; dashboardUrl: string }> {
  const found = await service.comparison(prNumber);
  if (found) return { view: "changes", dashboardUrl: found.dashboardUrl };
  try {
    return { view: "latest", dashboardUrl: await describe(service, prNumber, job) };
  } catch (error) {
    if (error instanceof NotFoundError) return { view: "latest", dashboardUrl: "" };
    throw error;
  }
}

/** Return the result in one sentence. */
export function summary({ state, branch, baseCommit, counts, pairs }: Comparison): string {
  if (state === "no_baseline") return message("no_baselines", { branch });
  if (state === "failed") return message("comparison_failed", { branch });
  const base = baseCommit ? message("base_at", { branch, commit: baseCommit.slice(0, 7) }) : branch;
  const sums = VERDICTS.filter((verdict) => counts[verdict]).map(
    (verdict) => `${formatNumber(counts[verdict] ?? 0)} ${verdict}`,
  );
  const found = sums.join(", ") || message("no_screenshots");
  const shots = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const own = message(pairs === 1 ? "own_before_image" : "own_before_images");
  const ofPairs = pairs ? message("pairs_with_own", { pairs: formatNumber(pairs), own }) : "";
  const words =
    pairs && pairs === shots
      ? message("compared_with_own", { own, counts: found })
      : message("compared", { base, counts: found, pairs: ofPairs });
  if (state !== "incomplete") return words;
  if (pairs && !baseCommit) return message("others_not_compared", { summary: words, branch });
  return message("incomplete", { summary: words });
}
