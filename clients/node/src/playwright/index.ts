/** A Playwright reporter: it uploads screenshots while the tests run and comments on the pull request at the end. */
import type {
  FullConfig,
  FullResult,
  Reporter,
  Suite,
  TestCase,
  TestResult,
} from "@playwright/test/reporter";
import { BackgroundUploads, countScreenshots } from "../background_uploads.js";
import { compareWithBase, describe, summary } from "../compare.js";
import { ClosedPullRequestError, messageOf } from "../errors.js";
import { forgeOf } from "../forges/index.js";
import { tokenSource } from "../keyless.js";
import { askForge } from "../lookup.js";
import { Composer, post } from "../post_comment.js";
import { redact, secretsOf } from "../redaction.js";
import { type Say, Sender } from "../sender.js";
import { Service } from "../service.js";
import { type Title, UniqueNames } from "../shot_names.js";
import { message } from "../statements.js";
import { describeTarget, type Target, targetOfJob } from "../target.js";
import { misspelledVariables } from "../variables.js";
import { formatNumber, printable } from "../wording.js";
import { screenshotsIn } from "./attachments.js";
import { Projects } from "./projects.js";
import { LastResults } from "./retries.js";
import { jobAtForge, type PrshotsOptions, type Settings, settingsOf } from "./settings.js";
import { DEFAULT_NAMING, type Naming, titleOf } from "./titles.js";

export type { PrshotsOptions } from "./settings.js";
export type { NameParts, Naming } from "./titles.js";

/** Playwright says neither viewport nor theme of a project in the reports that it merges. */
const IS_MERGED = process.argv.includes("merge-reports");

/** The uploads, the comparison and the comment of one test run. */
class Run {
  readonly uploads: BackgroundUploads;
  dashboardUrl = "";

  private constructor(
    readonly target: Target,
    readonly settings: Settings,
    private readonly options: PrshotsOptions,
    private readonly service: Service,
    private readonly stopped: AbortSignal,
  ) {
    this.uploads = new BackgroundUploads(service, target);
  }

  /** Return the run; nothing if the job is neither of a pull request nor of the baselines. Throws PrshotsError. */
  static async begin(
    settings: Settings,
    options: PrshotsOptions,
    stopped: AbortSignal,
    onWait: Say,
  ): Promise<Run | undefined> {
    const { url, token, project, tries } = settings;
    const needs = { needsCommit: !settings.job.commitSha };
    const job = await askForge(settings.job, settings.job.prNumber, new Sender(stopped, tries), needs);
    const target = await targetOfJob(job, settings.branch);
    if (!target || (target.baselineOf && settings.only === "failed")) return undefined;
    const ofService = new Sender(stopped, tries, onWait);
    const service = new Service(url, tokenSource(url, token, project, process.env, ofService), ofService);
    return new Run(target, { ...settings, job }, options, service, stopped);
  }

  /**
   * Say that all is uploaded, and compare it. Return the result of the comparison in a sentence; nothing for baselines.
   * Throws PrshotsError.
   */
  async conclude(isComplete: boolean, say: (words: string) => void): Promise<string> {
    const { prNumber, baselineOf, commitSha } = this.target;
    const { job, branch, compare, partial } = this.settings;
    const complete = isComplete && !partial && !job.isParallel && !job.hasFailed;
    if (baselineOf && complete) await this.service.completeBaselines(baselineOf, commitSha);
    if (prNumber === undefined) return "";
    this.dashboardUrl = await describe(this.service, prNumber, job);
    if (!compare) return "";
    return summary(await compareWithBase(this.service, job, { prNumber, commitSha, branch, complete }, say));
  }

  /** Post the comment, and return what happened. */
  async comment(prNumber: number): Promise<string> {
    const job = jobAtForge(this.settings.job, this.options, process.env);
    const forge = forgeOf(job, new Sender(this.stopped, this.settings.tries));
    const view = this.settings.view ?? ((await this.service.comparison(prNumber)) ? "changes" : "latest");
    const composer = new Composer(this.service, prNumber, job, { view });
    const { outcome, url } = await post(forge, composer);
    const { warning } = composer;
    const commented = message(url ? "run_commented_at" : "run_commented", { outcome, url });
    return warning ? message("run_commented_with_warning", { commented, warning }) : commented;
  }
}

export default class PrshotsReporter implements Reporter {
  readonly #options: PrshotsOptions;
  readonly #problems: string[] = [];
  readonly #names = new UniqueNames();
  readonly #results = new LastResults((test, result) => this.#upload(test, result));
  readonly #stop = new AbortController();
  #settings: Settings | undefined;
  #run: Promise<Run | undefined> = Promise.resolve(undefined);
  #projects: Projects | undefined;
  /** All tests of the suite have run here, and each was as expected. */
  #isComplete = true;
  #hasWaited = false;

  constructor(options: PrshotsOptions = {}) {
    this.#options = options;
    try {
      this.#settings = settingsOf(options, process.env);
      if (this.#settings)
        this.#run = Run.begin(this.#settings, options, this.#stop.signal, this.#sayFirstWait).catch((error) =>
          this.#notUploaded(error),
        );
    } catch (error) {
      this.#notUploaded(error);
    }
  }

  onBegin(config: FullConfig, suite: Suite): void {
    this.#projects = new Projects(config.projects, suite, IS_MERGED);
    if (config.shard) this.#isComplete = false;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    if (!this.#settings) return;
    if (result.status !== test.expectedStatus) this.#isComplete = false; // it may not have come to its screenshots
    this.#results.add(test, result);
  }

  /** Upload the screenshots of a test's last result. Tests in serial mode have several: all run again if one fails. */
  #upload(test: TestCase, result: TestResult): void {
    const isAsExpected = result.status === test.expectedStatus;
    const projects = this.#projects;
    if (!projects || (this.#settings?.only === "failed" && isAsExpected)) return;
    this.#names.release(test);
    for (const shot of screenshotsIn(result.attachments)) {
      const title = this.#title((naming) => titleOf(test, shot, projects, naming));
      const name = this.#names.name(title, test);
      const pictures = { ...shot.picture, ...(shot.before && { before: shot.before }) };
      void this.#run.then((run) => {
        const isNoBaseline = run?.target.baselineOf && !isAsExpected;
        if (!isNoBaseline) run?.uploads.add(pictures, name, title.viewport, title.theme);
      });
    }
  }

  /** Return the title by the option `name`; by the default rule if its function fails. */
  #title(by: (naming: Naming) => Title): Title {
    try {
      return by(this.#settings?.name ?? DEFAULT_NAMING);
    } catch (error) {
      const problem = `the function name failed, so default names are used: ${messageOf(error)}`;
      if (!this.#problems.includes(problem)) this.#problems.push(problem);
      return by(DEFAULT_NAMING);
    }
  }

  async onEnd(result: FullResult): Promise<{ status?: FullResult["status"] } | undefined> {
    const interrupted = result.status === "interrupted";
    if (interrupted) this.#stop.abort();
    this.#results.end();
    const run = await this.#run;
    if (result.status !== "passed") this.#isComplete = false;
    if (run) await this.#end(run, interrupted);
    const warnings = [...misspelledVariables(process.env), ...(run?.uploads.warnings ?? [])];
    const dashboard = run?.dashboardUrl ? [message("dashboard", { url: run.dashboardUrl })] : [];
    for (const line of [...this.#problems, ...warnings, ...dashboard]) this.#say(line);
    return this.#options.strict && this.#problems.length && result.status === "passed"
      ? { status: "failed" }
      : undefined;
  }

  /** Wait for the uploads, compare and post the comment. An interrupted run stops all of it. */
  async #end(run: Run, interrupted: boolean): Promise<void> {
    const { uploads, target } = run;
    await uploads.finish();
    this.#problems.push(...uploads.problems);
    const screenshots = countScreenshots(uploads.uploaded);
    const known = uploads.known ? message("already_there", { count: formatNumber(uploads.known) }) : "";
    const done = [message("run_uploaded", { screenshots, target: describeTarget(target) }) + known];
    const compared = uploads.uploaded && !interrupted ? await this.#compare(run) : "";
    const { prNumber } = target;
    if (run.settings.comment && uploads.uploaded && !interrupted && prNumber !== undefined) {
      try {
        done.push(await run.comment(prNumber));
      } catch (error) {
        this.#problems.push(message("run_not_commented", { why: messageOf(error) }));
      }
    }
    this.#say(done.join(", "));
    if (compared) this.#say(compared);
  }

  /** Return the result of the comparison in a sentence. */
  async #compare(run: Run): Promise<string> {
    const isComplete = this.#isComplete && !run.uploads.problems.length;
    try {
      return await run.conclude(isComplete, (words) => run.uploads.warnings.push(words));
    } catch (error) {
      this.#problems.push(message("not_compared_because", { why: messageOf(error) }));
      return "";
    }
  }

  #notUploaded(error: unknown): undefined {
    if (error instanceof ClosedPullRequestError) this.#say(error.message);
    else this.#problems.push(`nothing is uploaded: ${messageOf(error)}`);
  }

  /** Say why uploads wait, once: the tests run in the meantime, and their reporter shows them. */
  readonly #sayFirstWait = (words: string): void => {
    if (!this.#hasWaited) this.#say(words);
    this.#hasWaited = true;
  };

  /** Let Playwright add a reporter that shows the tests: this one prints a line or two at the end. */
  printsToStdio(): boolean {
    return false;
  }

  /** Write to standard error: standard output may be another reporter's, in a format for machines. */
  #say(words: string): void {
    const line = `prshots: ${redact(words, secretsOf(this.#options, process.env))}`;
    process.stderr.write(`${printable(line)}\n`);
  }
}
