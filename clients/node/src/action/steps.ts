/** The client's commands as steps of the action: each prints its messages, and returns whether it succeeded. */
import type { Job } from "../ci/job.js";
import { comment } from "../commands/comment.js";
import { ComparisonFailedError, compare } from "../commands/compare.js";
import { expire } from "../commands/expire.js";
import { gate } from "../commands/gate.js";
import { moveStaged } from "../commands/move_staged.js";
import { compareText, uploadText } from "../commands/output.js";
import type { Context } from "../commands/types.js";
import { upload } from "../commands/upload.js";
import { InvalidInputError, messageOf, PrshotsError } from "../errors.js";
import { EXIT_CODES, message } from "../statements.js";
import type { Posted } from "../sticky_comment.js";
import { pluralize } from "../wording.js";
import { FORKS, withoutSecrets } from "./forks.js";
import type { Runner } from "./runner.js";
import type { Settings } from "./settings.js";

const WARNING = "Warning: ";

export class Steps {
  /** What failed, in the client's words. */
  readonly #failures: string[] = [];

  constructor(
    private readonly runner: Runner,
    private readonly settings: Settings,
    private readonly known: Omit<Context, "say"> & { job: Job },
  ) {}

  /** Upload, then post the comment and the summary, even if some files failed. */
  async upload(): Promise<boolean> {
    const { paths, compare: compares, partial, shrink, allowEmpty, branch } = this.settings;
    if (!paths.length)
      throw new InvalidInputError(
        "The input `paths` is missing: set it to files, folders or globs, one per line.",
      );
    const options = { paths, compare: compares, partial, shrink, allowEmpty, branch };
    const done = await this.#run(async (context) => {
      await moveStaged({}, context); // first, so that they are compared too
      return upload(options, context);
    });
    this.runner.outputs(uploadText(done, "github-output"));
    if (done.exitCode === EXIT_CODES.failed)
      return this.#failStep(`No file was uploaded. ${this.#failures[0] ?? "See the log."}`);
    const isShown = done.count ? await this.#show() : await this.#gateIfAsked();
    if (done.exitCode === EXIT_CODES.some_failed)
      return this.#failStep("Some files were not uploaded. See the log.");
    return isShown;
  }

  /** Say that all shards have uploaded, and show the result for a pull request. */
  async complete(): Promise<boolean> {
    const { branch } = this.settings;
    try {
      const done = await this.#run((context) => compare({ complete: true, branch }, context));
      this.runner.outputs(compareText(done, "github-output"));
    } catch (error) {
      if (error instanceof ComparisonFailedError) {
        this.runner.outputs(compareText(error, "github-output"));
        await this.#gateIfAsked(); // the status is then a failure
      }
      throw error;
    }
    return this.#show();
  }

  async expire(): Promise<boolean> {
    const { branch, comment: post } = this.settings;
    return this.#post(post, (context) => expire({ post, branch }, context));
  }

  /** Post the comment, the summary and the commit status, then fail the step if `fail-on` asks for it. */
  async #show(): Promise<boolean> {
    if (!this.known.environ.PRSHOTS_PR) return true;
    const { view, template, comment: post } = this.settings;
    const shown = view && { view };
    const isPosted =
      !post || (await this.#post(post, (context) => comment({ post, template, ...shown }, context)));
    if (this.runner.hasSummary) {
      const { markdown } = await this.#run((context) => comment({ ...shown }, context));
      this.runner.summarize(markdown);
    }
    const isGated = await this.#gateIfAsked();
    return isPosted && isGated && (await this.#checkVerdicts());
  }

  async #gateIfAsked(): Promise<boolean> {
    return !this.settings.gate || !this.known.environ.PRSHOTS_PR || this.gate();
  }

  /** Set the commit statuses: the state of the review, or why this run takes no screenshots. */
  gate(): Promise<boolean> {
    return this.#post(true, async (context) => {
      const { gate: found, lines } = await gate({ skip: this.settings.gateSkip }, context);
      for (const line of lines) context.say(line);
      if (found) this.runner.output("gate", found.state);
      return {};
    });
  }

  /** Fail the step if a shot has a verdict that `fail-on` names. */
  async #checkVerdicts(): Promise<boolean> {
    const { failOn, approvedPass, branch } = this.settings;
    if (!failOn) return true;
    const options = { failOn, approvedPass, branch };
    const { gated, dashboardUrl } = await this.#run((context) => compare(options, context));
    if (!gated) return true;
    const dashboard = dashboardUrl && ` ${message("dashboard", { url: dashboardUrl })}`;
    return this.#failStep(`${pluralize(gated, "shot")} matched \`fail-on: ${failOn}\`.${dashboard}`);
  }

  /** Run a command that may post. A job without secrets may be read-only: if it cannot post, only warn. */
  async #post(posts: boolean, command: (context: Context) => Promise<{ posted?: Posted }>): Promise<boolean> {
    try {
      const { posted } = await this.#run(command);
      if (posted?.url) this.runner.output("comment-url", posted.url);
      return true;
    } catch (error) {
      if (!(error instanceof PrshotsError)) throw error;
      const why = posts && withoutSecrets(this.known.job, this.known.environ);
      if (!why) return this.#failStep(messageOf(error));
      this.runner.annotate(
        "warning",
        `${messageOf(error)} (The job does not fail, because ${why}.) See ${FORKS}`,
      );
      return true;
    }
  }

  /** Run a command and print its messages. Its warnings also become annotations. */
  async #run<T>(command: (context: Context) => Promise<T>): Promise<T> {
    const warnings: string[] = [];
    try {
      return await this.runner.withoutCommands((print) => {
        const say = (words: string) => {
          print(words);
          if (words.startsWith(WARNING)) warnings.push(words.slice(WARNING.length));
        };
        const fail = (words: string) => {
          say(words);
          if (!words.startsWith(WARNING)) this.#failures.push(words);
        };
        return command({ ...this.known, say, fail });
      });
    } finally {
      for (const words of warnings) this.runner.annotate("warning", words);
    }
  }

  #failStep(words: string): false {
    this.runner.annotate("error", words);
    return false;
  }
}
