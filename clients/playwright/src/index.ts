/** A Playwright reporter: it uploads screenshots while the tests run and comments on the pull request at the end. */
import type { FullConfig, FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { messageOf } from "./errors.js";
import { forgeOf } from "./forges/index.js";
import { tokenSource } from "./keyless.js";
import { commitOf, pullRequestOf } from "./lookup.js";
import { post } from "./posting.js";
import { redacted, secretsOf } from "./redaction.js";
import { Sender } from "./sending.js";
import { Service } from "./service.js";
import { jobAtForge, type PrshotsOptions, type Settings, settingsOf } from "./settings.js";
import { titleOf, UniqueNames } from "./shot_names.js";
import { screenshots, Uploads } from "./uploading.js";
import { misspelledVariables } from "./variables.js";

export type { PrshotsOptions } from "./settings.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/webp"]);

/** The uploads and the comment of one test run. */
class Run {
  readonly uploads: Uploads;

  private constructor(
    readonly prNumber: number,
    commitSha: string,
    readonly settings: Settings,
    private readonly options: PrshotsOptions,
    private readonly service: Service,
    private readonly stopped: AbortSignal,
  ) {
    this.uploads = new Uploads(service, prNumber, commitSha);
  }

  /** Return the run; nothing if the forge says that there is no pull request. Throws PrshotsError. */
  static async begun(
    settings: Settings,
    options: PrshotsOptions,
    stopped: AbortSignal,
  ): Promise<Run | undefined> {
    const { url, token, project, job, tries } = settings;
    const sender = new Sender(stopped, tries);
    const prNumber = await pullRequestOf(job, sender);
    if (prNumber === undefined) return undefined;
    const commitSha = await commitOf(job, prNumber, settings.commitSha, sender);
    const ofService = new Sender(stopped, tries);
    const service = new Service(url, tokenSource(url, token, project, process.env, ofService), ofService);
    return new Run(prNumber, commitSha, settings, options, service, stopped);
  }

  /** Post the comment, and return what happened. */
  async comment(): Promise<string> {
    const job = jobAtForge(this.settings.job, this.options, process.env);
    const forge = forgeOf(job, new Sender(this.stopped, this.settings.tries));
    const { outcome, url, warning } = await post(forge, this.service, this.prNumber, job);
    const words = url ? `comment ${outcome}: ${url}` : `comment ${outcome}`;
    return warning ? `${words}. Warning: ${warning}` : words;
  }
}

export default class PrshotsReporter implements Reporter {
  readonly #options: PrshotsOptions;
  readonly #problems: string[] = [];
  readonly #names = new UniqueNames();
  readonly #stop = new AbortController();
  #settings: Settings | undefined;
  #run: Promise<Run | undefined> = Promise.resolve(undefined);
  #severalProjects = false;

  constructor(options: PrshotsOptions = {}) {
    this.#options = options;
    try {
      this.#settings = settingsOf(options, process.env);
      if (this.#settings)
        this.#run = Run.begun(this.#settings, options, this.#stop.signal).catch((error) =>
          this.#notUploaded(error),
        );
    } catch (error) {
      this.#notUploaded(error);
    }
  }

  onBegin(config: FullConfig): void {
    this.#severalProjects = config.projects.length > 1;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    if (!this.#settings) return;
    if (this.#settings.only === "failed" && result.status === test.expectedStatus) return;
    for (const attachment of result.attachments) {
      if (!IMAGES.has(attachment.contentType)) continue;
      const title = titleOf(test, result, attachment, this.#severalProjects);
      const name = this.#names.name(title);
      void this.#run.then((run) => run?.uploads.add(attachment, name, title.viewport, title.theme));
    }
  }

  async onEnd(result: FullResult): Promise<{ status?: FullResult["status"] } | undefined> {
    const interrupted = result.status === "interrupted";
    if (interrupted) this.#stop.abort();
    const run = await this.#run;
    if (run) await this.#end(run, interrupted);
    const warnings = [...misspelledVariables(process.env), ...(run?.uploads.warnings ?? [])];
    for (const line of [...this.#problems, ...warnings]) this.#say(line);
    return this.#options.strict && this.#problems.length && result.status === "passed"
      ? { status: "failed" }
      : undefined;
  }

  /** Wait for the uploads and post the comment. An interrupted run stops both. */
  async #end(run: Run, interrupted: boolean): Promise<void> {
    await run.uploads.finished();
    this.#problems.push(...run.uploads.problems);
    const done = [`${screenshots(run.uploads.uploaded)} uploaded to PR ${run.prNumber}`];
    if (run.settings.comment && run.uploads.uploaded && !interrupted) {
      try {
        done.push(await run.comment());
      } catch (error) {
        this.#problems.push(`the comment was not posted: ${messageOf(error)}`);
      }
    }
    this.#say(done.join(", "));
  }

  #notUploaded(error: unknown): undefined {
    this.#problems.push(`nothing is uploaded: ${messageOf(error)}`);
  }

  /** Let Playwright add a reporter that shows the tests: this one prints a line or two at the end. */
  printsToStdio(): boolean {
    return false;
  }

  /** Write to standard error: standard output may be another reporter's, in a format for machines. */
  #say(words: string): void {
    process.stderr.write(`prshots: ${redacted(words, secretsOf(this.#options, process.env))}\n`);
  }
}
