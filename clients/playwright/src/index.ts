/** A Playwright reporter: it uploads screenshots while the tests run and comments on the pull request at the end. */
import type { FullConfig, FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { messageOf } from "./errors.js";
import { forgeOf } from "./forges/index.js";
import { tokenSource } from "./keyless.js";
import { post } from "./posting.js";
import { redacted, secretsOf } from "./redaction.js";
import { Sender } from "./sending.js";
import { Service } from "./service.js";
import { jobAtForge, type PrshotsOptions, type Settings, settingsOf } from "./settings.js";
import { titleOf, UniqueNames } from "./shot_names.js";
import { screenshots, Uploads } from "./uploading.js";

export type { PrshotsOptions } from "./settings.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/webp"]);

/** The uploads and the comment of one test run. */
class Run {
  readonly names = new UniqueNames();
  readonly uploads: Uploads;
  readonly #service: Service;
  readonly #stop = new AbortController();

  constructor(
    readonly settings: Settings,
    private readonly options: PrshotsOptions,
  ) {
    const { url, token, project, prNumber, commitSha, tries } = settings;
    const sender = new Sender(this.#stop.signal, tries);
    this.#service = new Service(url, tokenSource(url, token, project, process.env, sender), sender);
    this.uploads = new Uploads(this.#service, prNumber, commitSha);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Post the comment, and return what happened. */
  async comment(): Promise<string> {
    const { prNumber, tries } = this.settings;
    const job = jobAtForge(this.settings.job, this.options, process.env);
    const forge = forgeOf(job, new Sender(this.#stop.signal, tries));
    const { outcome, url } = await post(forge, this.#service, prNumber, job);
    return url ? `comment ${outcome}: ${url}` : `comment ${outcome}`;
  }
}

export default class PrshotsReporter implements Reporter {
  readonly #options: PrshotsOptions;
  readonly #problems: string[] = [];
  #run: Run | undefined;
  #severalProjects = false;

  constructor(options: PrshotsOptions = {}) {
    this.#options = options;
    try {
      const settings = settingsOf(options, process.env);
      this.#run = settings && new Run(settings, options);
    } catch (error) {
      this.#problems.push(`nothing is uploaded: ${messageOf(error)}`);
    }
  }

  onBegin(config: FullConfig): void {
    this.#severalProjects = config.projects.length > 1;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    if (!this.#run) return;
    if (this.#run.settings.only === "failed" && result.status === test.expectedStatus) return;
    for (const attachment of result.attachments) {
      if (!IMAGES.has(attachment.contentType)) continue;
      const title = titleOf(test, result, attachment, this.#severalProjects);
      this.#run.uploads.add(attachment, this.#run.names.name(title), title.viewport);
    }
  }

  async onEnd(result: FullResult): Promise<{ status?: FullResult["status"] } | undefined> {
    if (this.#run) await this.#end(this.#run, result.status === "interrupted");
    for (const line of [...this.#problems, ...(this.#run?.uploads.warnings ?? [])]) this.#say(line);
    return this.#options.strict && this.#problems.length && result.status === "passed"
      ? { status: "failed" }
      : undefined;
  }

  /** Wait for the uploads and post the comment. An interrupted run stops both. */
  async #end(run: Run, interrupted: boolean): Promise<void> {
    if (interrupted) run.stop();
    await run.uploads.finished();
    this.#problems.push(...run.uploads.problems);
    const done = [`${screenshots(run.uploads.uploaded)} uploaded to PR ${run.settings.prNumber}`];
    if (run.settings.comment && run.uploads.uploaded && !interrupted) {
      try {
        done.push(await run.comment());
      } catch (error) {
        this.#problems.push(`the comment was not posted: ${messageOf(error)}`);
      }
    }
    this.#say(done.join(", "));
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
