/** Close a pull request's screenshots. */

import { defaultBranch } from "../ci/checkout.js";
import type { Job } from "../ci/job.js";
import * as validate from "../ci/validate.js";
import { type Closed, close } from "../expire.js";
import { forgeOf } from "../forges/index.js";
import { askForge } from "../lookup.js";
import type { Expired } from "../replies.js";
import { message } from "../statements.js";
import { pullRequest } from "../target.js";
import { formatNumber, pluralize } from "../wording.js";
import { branchIn, checked, connect, jobAtForge, jobOf, prIn, senderOf } from "./service_options.js";
import type { Context, ExpireOptions, ExpireResult } from "./types.js";

const PR_CLOSE = "pr_close";
const COMMENTED = {
  created: "comment_says_deleted", // never: a comment is only changed
  updated: "comment_says_deleted",
  unchanged: "comment_up_to_date",
  kept: "comment_of_other_account",
  none: "no_comment_to_update",
} as const;

/** Throws PrshotsError. */
export async function expire(options: ExpireOptions, context: Context): Promise<ExpireResult> {
  const { environ, say } = context;
  const [given, branch] = [prIn(options, environ), branchIn(options, environ)];
  const sender = senderOf(context);
  const found = await askForge(jobOf(context), given, sender, { needsCommit: false });
  const prNumber = pullRequest(given, found);
  const merge = await mergeOf(found, prNumber, options.mergedAs ?? "", branch);
  if (!options.post) {
    const expired = await connect(options, context).expire(prNumber, merge);
    say(expiredMessage(expired));
    return { json: jsonOf(expired) };
  }
  const job = jobAtForge(found, options, environ);
  const forge = forgeOf(job, sender);
  const closed = await close(connect(options, context), prNumber, forge, job, merge);
  for (const words of [expiredMessage(closed.expired), ...commentMessages(closed)]) say(words);
  return { json: { ...jsonOf(closed.expired), ...commentJson(closed) }, posted: closed.posted };
}

/** Return as which commit of which branch the pull request was merged; empty if that is not known. */
async function mergeOf(job: Job, prNumber: number, given: string, branch: string) {
  const takes = message("full_commit_rule");
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

function commentJson({ left, posted, replaced, purged, notPurged }: Closed): Record<string, unknown> {
  return {
    left,
    comment: posted.outcome,
    comment_url: posted.url,
    description: replaced,
    purged,
    not_purged: notPurged,
  };
}

function expiredMessage(expired: Expired): string {
  const closed = policyMessage(expired);
  if (!expired.baselines) return closed;
  return message("kept_as_baselines", { screenshots: pluralize(expired.baselines, "screenshot"), closed });
}

function policyMessage({ prNumber: number, policy, marked, expired }: Expired): string {
  if (policy === PR_CLOSE)
    return message("deleted", { screenshots: pluralize(expired, "screenshot"), number });
  return message("marked_closed", { screenshots: pluralize(marked, "screenshot"), number, policy });
}

function commentMessages({ left, posted, replaced, notDescribed, notPurged }: Closed): string[] {
  const messages: string[] = [];
  if (replaced)
    messages.push(message("description_cleaned", { screenshots: pluralize(replaced, "deleted screenshot") }));
  if (notDescribed) messages.push(message("description_not_changed", { why: notDescribed }));
  if (left)
    return [...messages, message("comment_still_shows", { screenshots: pluralize(left, "screenshot") })];
  messages.push(message(COMMENTED[posted.outcome]));
  if (notPurged) messages.push(message("proxy_kept_copies", { count: formatNumber(notPurged) }));
  return messages;
}
