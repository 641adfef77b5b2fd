/** Close a pull request's screenshots. */
import { defaultBranch } from "../ci/checkout.js";
import { detectJob } from "../ci/detection.js";
import type { Job } from "../ci/job.js";
import * as validate from "../ci/validate.js";
import { type Closed, close } from "../expire.js";
import { forgeOf } from "../forges/index.js";
import type { Expired } from "../replies.js";
import type { Posted } from "../sticky_comment.js";
import { pullRequest } from "../target.js";
import { formatNumber, pluralize } from "../wording.js";
import { branchIn, checked, connect, jobAtForge, prIn, senderOf } from "./service_options.js";
import type { Context, ExpireOptions, ExpireResult } from "./types.js";

const PR_CLOSE = "pr_close";
const COMMENTED: Record<Posted["outcome"], string> = {
  created: "Posted the comment.", // never: a comment is only changed
  updated: "Updated the comment: it says that the screenshots were deleted.",
  unchanged: "The comment was already up to date.",
  none: "There is no comment to update.",
};

/** Throws PrshotsError. */
export async function expire(options: ExpireOptions, context: Context): Promise<ExpireResult> {
  const { environ, say } = context;
  const found = detectJob(environ);
  const [given, branch] = [prIn(options, environ), branchIn(options, environ)];
  const sender = senderOf(context);
  const prNumber = await pullRequest(given, found, sender);
  const merge = await mergeOf(found, prNumber, options.mergedAs ?? "", branch);
  if (!options.post) {
    const expired = await connect(options, context).expire(prNumber, merge);
    say(wordsFor(expired));
    return { json: jsonOf(expired) };
  }
  const job = jobAtForge(found, options, environ);
  const forge = forgeOf(job, sender);
  const closed = await close(connect(options, context), prNumber, forge, job, merge);
  for (const words of [wordsFor(closed.expired), ...commentWords(closed)]) say(words);
  return { json: { ...jsonOf(closed.expired), ...commentJson(closed) }, posted: closed.posted };
}

/** Return as which commit of which branch the pull request was merged; empty if that is not known. */
async function mergeOf(job: Job, prNumber: number, given: string, branch: string) {
  const takes = "all 40 hexadecimal characters of the commit";
  const isJobsOwn = prNumber === job.prNumber;
  const mergedAs =
    checked("--merged-as", given, validate.fullCommit, takes) ?? (isJobsOwn ? job.mergedAs : "");
  if (!mergedAs) return { mergedAs: "", branch: "" };
  const target = isJobsOwn ? job.targetBranch : "";
  return { mergedAs, branch: branch || target || (await defaultBranch(job)) };
}

function jsonOf({ prNumber, policy, marked, expired, baselines }: Expired): Record<string, unknown> {
  return { pr_number: prNumber, policy, marked, expired, ...(baselines && { baselines }) };
}

function commentJson({ left, posted, purged, notPurged }: Closed): Record<string, unknown> {
  return {
    left,
    comment: posted.outcome,
    comment_url: posted.url,
    purged,
    not_purged: notPurged,
  };
}

function wordsFor(expired: Expired): string {
  const { prNumber, policy, marked } = expired;
  const kept = expired.baselines
    ? `Kept ${pluralize(expired.baselines, "screenshot")} of the merged pull request as baselines. `
    : "";
  if (policy === PR_CLOSE)
    return `${kept}Deleted ${pluralize(expired.expired, "screenshot")} of pull request ${prNumber}.`;
  return (
    `${kept}Marked ${pluralize(marked, "screenshot")} of pull request ${prNumber} as closed. ` +
    `The project's policy, ${policy}, keeps them for now.`
  );
}

function commentWords({ left, posted, notPurged }: Closed): string[] {
  if (left) return [`Did not change the comment: it still shows ${pluralize(left, "screenshot")}.`];
  const words = [COMMENTED[posted.outcome]];
  if (notPurged)
    words.push(
      `Warning: the image proxy kept ${formatNumber(notPurged)} of its copies. They expire on their own.`,
    );
  return words;
}
