/** Upload screenshots to a pull request and compare them, or upload them as baselines. */
import type { Job } from "../ci/job.js";
import { compareWithBase, describe, summary } from "../compare.js";
import { InvalidInputError, messageOf, NoScreenshotsError, PrshotsError } from "../errors.js";
import { askForge, refuseClosed } from "../lookup.js";
import type { Service } from "../service.js";
import { type Found, findShots, type ShotFile } from "../shots.js";
import { readableSize } from "../sizes.js";
import { EXIT_CODES, message } from "../statements.js";
import type { Target } from "../target.js";
import { describeTarget, targetOf } from "../target.js";
import { MAX_IMAGE_BYTES, NOT_TRIED, outcomeOf, type UploadOutcome, uploadAll } from "../upload.js";
import { formatNumber } from "../wording.js";
import { MAX_ROWS } from "./output.js";
import { Progress } from "./progress.js";
import { branchIn, commitIn, connect, jobOf, prIn, senderOf } from "./service_options.js";
import type { Context, UploadOptions, UploadResult } from "./types.js";

const WARNING = "warning: ";

/** Throws PrshotsError. A file that cannot be uploaded is in the result instead. */
export async function upload(options: UploadOptions, context: Context): Promise<UploadResult> {
  const { environ, say, fail = say } = context;
  const asked = {
    pr: prIn(options, environ),
    commit: commitIn(options, environ),
    branch: branchIn(options, environ),
    baseline: options.baseline ?? false,
  };
  const inEvent = jobOf(context);
  refuseClosed(inEvent, asked.pr ?? inEvent.prNumber);
  const found = await findScreenshots(options);
  for (const { path, words } of found.problems) fail(`${path}: ${words}`);
  for (const { path, warning } of found.shots) if (warning) say(`${path}: ${warning}`);
  const needs = { needsCommit: !asked.commit };
  const known = () => askForge(inEvent, asked.pr, senderOf(context), needs);
  const unknown: Target = { commitSha: asked.commit, ...(asked.pr !== undefined && { prNumber: asked.pr }) };
  if (options.dryRun) {
    const finding = known().then((job) => targetOf(job, asked));
    const target = await finding.catch((error) => {
      if (!(error instanceof InvalidInputError)) throw error;
      say(message("real_upload_needs", { problem: error.message }));
      return unknown;
    });
    return dryRun(found, target, options.shrink ?? false, say);
  }
  if (!found.shots.length) {
    say(message("nothing_to_upload"));
    return resultOf(unknown, [], found);
  }
  const job = await known();
  if (job.hasFailed) say(message("run_has_failed"));
  const target = await targetOf(job, asked);
  return new Upload(connect(options, context), job, target, options, context).run(found, asked.branch);
}

/** Find the screenshots. Throws NoScreenshotsError if there are none. */
async function findScreenshots({
  paths,
  base,
  name,
  viewport,
  theme,
  allowEmpty,
}: UploadOptions): Promise<Found> {
  const naming = { base: base ?? "", name: name ?? "", viewport: viewport ?? "", theme: theme ?? "" };
  const { shots, problems } = await findShots(paths, naming);
  if (allowEmpty) return { shots, problems: problems.filter(({ isMissing }) => !isMissing) };
  if (shots.length || problems.some(({ isMissing }) => !isMissing)) return { shots, problems };
  const searched = paths.map((path) => path || "''").join(", ");
  throw new NoScreenshotsError(message("no_screenshots_found", { searched, folder: process.cwd() }));
}

/** Return what happened, with the exit code: 0 if everything was uploaded, 1 if nothing was, 3 if only some was. */
function resultOf(target: Target, outcomes: UploadOutcome[], { problems }: Found): UploadResult {
  const good = outcomes.filter(({ error }) => !error).length;
  const isAll = good === outcomes.length + problems.length;
  return {
    target,
    outcomes,
    problems,
    isDry: false,
    dashboardUrl: "",
    count: outcomes.filter(({ uploaded, isKnown }) => uploaded || isKnown).length,
    known: outcomes.filter(({ isKnown }) => isKnown).length,
    exitCode: isAll ? 0 : good ? EXIT_CODES.some_failed : EXIT_CODES.failed,
  };
}

function dryRun(found: Found, target: Target, shrink: boolean, say: Context["say"]): UploadResult {
  const outcomes = found.shots.map((shot) => outcomeOf(shot, { note: dryNote(shot, shrink) }));
  const commit = target.commitSha.slice(0, 7) || "?";
  const isListed = outcomes.length <= MAX_ROWS;
  for (const { shot, note } of isListed ? [] : outcomes)
    if (note.startsWith(WARNING)) say(`${shot.path}: ${note}`); // no table says it
  const listed = isListed ? "" : message("list_with_json");
  say(message("dry_run", { count: outcomes.length, target: describeTarget(target), commit, listed }));
  return { ...resultOf(target, outcomes, found), isDry: true };
}

/** Return the note for a screenshot. Only the service knows its limit, so this assumes the default. */
function dryNote({ size, note }: ShotFile, shrink: boolean): string {
  if (size < MAX_IMAGE_BYTES) return note;
  const limit = readableSize(MAX_IMAGE_BYTES);
  return shrink
    ? message("would_shrink", { size: readableSize(size), limit })
    : message("over_default_limit", { size: readableSize(size), limit });
}

class Upload {
  constructor(
    private readonly service: Service,
    private readonly job: Job,
    private readonly target: Target,
    private readonly options: UploadOptions,
    private readonly context: Context,
  ) {}

  async run(found: Found, branch: string): Promise<UploadResult> {
    const { job, options, context } = this;
    const { baselineOf, prNumber, commitSha } = this.target;
    const progress = new Progress(found.shots.length, context);
    const outcomes = await uploadAll(this.service, found.shots, this.target, {
      ...(options.jobs && { jobs: options.jobs }),
      shrink: options.shrink ?? false,
      onDone: (outcome) => progress.done(outcome),
    });
    const result = resultOf(this.target, outcomes, found);
    this.#saySummary(result);
    const isPartial = options.partial || job.isParallel || job.hasFailed;
    const isComplete = result.exitCode === 0 && !isPartial;
    if (job.isParallel && !options.partial) context.say(message("complete_after_parallel_jobs"));
    if (baselineOf && isComplete) await this.service.completeBaselines(baselineOf, commitSha);
    if (prNumber === undefined || !result.count) return result;
    return { ...result, ...(await this.#compare(prNumber, branch, isComplete)) };
  }

  #saySummary({ outcomes, problems, count, known }: UploadResult): void {
    const { say } = this.context;
    if (outcomes.some(({ isTooLarge }) => isTooLarge)) say(message("use_shrink"));
    const left = outcomes.filter(({ error }) => error === NOT_TRIED).length;
    say(
      message("uploaded_summary", {
        count,
        total: outcomes.length + problems.length,
        target: describeTarget(this.target),
        already_there: known ? message("already_there", { count: formatNumber(known) }) : "",
        not_tried: left ? message("not_tried_count", { count: formatNumber(left) }) : "",
      }),
    );
  }

  /** Return the comparison. The screenshots are uploaded: a failure is only a warning. */
  async #compare(
    prNumber: number,
    branch: string,
    complete: boolean,
  ): Promise<Pick<UploadResult, "comparison" | "dashboardUrl">> {
    const { service, job, context } = this;
    const { commitSha } = this.target;
    const { say, fail = say } = context;
    const compares = this.options.compare ?? true;
    let dashboardUrl = "";
    try {
      dashboardUrl = await describe(service, prNumber, job);
      if (!compares) return { dashboardUrl };
      const asked = { prNumber, commitSha, branch, complete };
      const comparison = await compareWithBase(service, job, asked, say);
      say(summary(comparison));
      return { comparison, dashboardUrl };
    } catch (error) {
      if (!(error instanceof PrshotsError)) throw error;
      fail(message("not_compared", { problem: messageOf(error) }));
      return { dashboardUrl };
    }
  }
}
