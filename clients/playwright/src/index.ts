/** A Playwright reporter: screenshots go to the pull request while the tests run, its comment follows at the end. */
import type { FullConfig, FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { saidBy } from "./errors.js";
import { forgeOf } from "./forges.js";
import { tokenSource } from "./keyless.js";
import { Names, titleOf } from "./names.js";
import { Sender } from "./sending.js";
import { Service } from "./service.js";
import { type PrshotsOptions, type Settings, settingsOf } from "./settings.js";
import { posted } from "./sticky.js";
import { screenshots, Uploads } from "./uploads.js";

export type { PrshotsOptions } from "./settings.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/webp"]);

/** One run's uploads and its comment; there is none where there is no service or no pull request. */
class Run {
  readonly names = new Names();
  readonly uploads: Uploads;
  readonly #service: Service;
  readonly #stop = new AbortController();

  constructor(readonly settings: Settings) {
    const { url, token, project, prNumber, commit, tries } = settings;
    const sender = new Sender(this.#stop.signal, tries);
    this.#service = new Service(url, tokenSource(url, token, project, process.env, sender), sender);
    this.uploads = new Uploads(this.#service, prNumber, commit);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Post the comment, and return what became of it. */
  async comment(): Promise<string> {
    const { job, forgeToken, prNumber, tries } = this.settings;
    const forge = forgeOf(job, forgeToken, new Sender(this.#stop.signal, tries));
    const { done, url } = await posted(forge, prNumber, () => this.#service.comment(prNumber));
    return `comment ${done}: ${url}`;
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
      this.#run = settings && new Run(settings);
    } catch (error) {
      this.#problems.push(`nothing is uploaded: ${saidBy(error)}`);
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
      this.#run.uploads.add(attachment, this.#run.names.own(title), title.viewport);
    }
  }

  async onEnd(result: FullResult): Promise<{ status?: FullResult["status"] } | undefined> {
    if (this.#run) await this.#end(this.#run, result.status === "interrupted");
    for (const problem of this.#problems) this.#say(problem);
    return this.#options.strict && this.#problems.length && result.status === "passed"
      ? { status: "failed" }
      : undefined;
  }

  /** Wait for the uploads, and post the comment: not when somebody has interrupted the run. */
  async #end(run: Run, interrupted: boolean): Promise<void> {
    if (interrupted) run.stop();
    await run.uploads.finished();
    this.#problems.push(...run.uploads.problems);
    const done = [`${screenshots(run.uploads.uploaded)} uploaded to PR ${run.settings.prNumber}`];
    if (run.settings.comment && run.uploads.uploaded && !interrupted) {
      try {
        done.push(await run.comment());
      } catch (error) {
        this.#problems.push(`the comment was not posted: ${saidBy(error)}`);
      }
    }
    this.#say(done.join(", "));
  }

  /** Have another reporter show the tests: this one has a line or two at the end. */
  printsToStdio(): boolean {
    return false;
  }

  /** To standard error: standard output may be another reporter's, in a format for machines. */
  #say(words: string): void {
    process.stderr.write(`prshots: ${withoutSecrets(words, this.#secrets())}\n`);
  }

  #secrets(): string[] {
    const { PRSHOTS_ID_TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN } = process.env;
    const { token, forgeToken } = this.#run?.settings ?? this.#options;
    const known = [token, forgeToken, PRSHOTS_ID_TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN];
    return known.map((secret) => secret?.trim() ?? "").filter(Boolean);
  }
}

/** The second line of defence: what a service or a forge says back must not carry a secret into a log. */
function withoutSecrets(text: string, secrets: string[]): string {
  return secrets
    .reduce((left, secret) => left.replaceAll(secret, "[hidden]"), text)
    .replace(/msr_\w+/g, "msr_[hidden]");
}
