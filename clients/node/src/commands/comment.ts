/** The pull request's comment: its markdown, or posted. */

import { buildsBaselines } from "../ci/checkout.js";
import type { Job } from "../ci/job.js";
import { viewAndPage } from "../compare.js";
import { PrshotsError } from "../errors.js";
import { forgeOf } from "../forges/index.js";
import { askForge, refuseClosed } from "../lookup.js";
import { Composer, post } from "../post_comment.js";
import type { Sender } from "../sender.js";
import { message } from "../statements.js";
import type { Posted } from "../sticky_comment.js";
import { pullRequest } from "../target.js";
import { Template } from "../templates.js";
import { branchIn, connect, jobAtForge, jobOf, prIn, senderOf } from "./service_options.js";
import type { CommentOptions, CommentResult, Context } from "./types.js";

/** Throws PrshotsError. */
export async function comment(options: CommentOptions, context: Context): Promise<CommentResult> {
  const { environ, say } = context;
  const template = options.template ? await Template.read(options.template) : undefined;
  const given = prIn(options, environ);
  let job = jobOf(context);
  if (given === undefined && (await buildsBaselines(job, branchIn({}, environ)))) {
    say(message("nothing_to_comment_on", { branch: job.branch }));
    return { markdown: "", dashboardUrl: "" };
  }
  const sender = senderOf(context);
  job = await askForge(job, given, sender, { needsCommit: false });
  const prNumber = pullRequest(given, job);
  if (options.post) refuseClosed(job, prNumber);
  if (template) job = await withHead(job, prNumber, sender);
  if (options.post) job = jobAtForge(job, options, environ);
  const service = connect(options, context);
  const { view: usual, dashboardUrl } = await viewAndPage(service, prNumber, job);
  const composer = new Composer(service, prNumber, job, {
    view: options.view ?? usual,
    template,
    dashboardUrl,
  });
  if (!options.post) return { markdown: await composer.markdown(), dashboardUrl };
  return { markdown: "", posted: await postAndReport(composer, job, sender, context), dashboardUrl };
}

async function postAndReport(
  composer: Composer,
  job: Job,
  sender: Sender,
  context: Context,
): Promise<Posted> {
  const { say, fail = say } = context;
  const forge = forgeOf(job, sender);
  const done = await post(forge, composer);
  for (const note of composer.notes) say(`Note: ${note}.`);
  if (composer.warning) fail(`Warning: ${composer.warning}.`);
  say(message(`comment_${done.outcome}`, { number: composer.prNumber, forge: forge.label }));
  return done;
}

/** Return the job with the head of its pull request. A template without the commit is better than no comment. */
async function withHead(job: Job, prNumber: number, sender: Sender): Promise<Job> {
  try {
    return await askForge(job, prNumber, sender, { needsCommit: true });
  } catch (error) {
    if (error instanceof PrshotsError) return job;
    throw error;
  }
}
