/** What the runner of GitHub, Gitea or Forgejo gives to the action, and reads from it. */
import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import type { Environ } from "../ci/job.js";
import { InvalidInputError } from "../errors.js";
import { redact, secretsOf } from "../redaction.js";
import { printable } from "../wording.js";

export type Level = "notice" | "warning" | "error";
type Print = (text: string) => void;

/** Return an input without surrounding spaces; empty if it is missing. */
export function textInput(environ: Environ, name: string): string {
  return (environ[`INPUT_${name.toUpperCase()}`] ?? "").trim();
}

/** Return an input that takes true or false; if it is empty, the fallback. Throws InvalidInputError. */
export function flagInput(environ: Environ, name: string, fallback = false): boolean {
  const given = textInput(environ, name).toLowerCase();
  if (given === "") return fallback;
  if (given !== "true" && given !== "false")
    throw new InvalidInputError(`The input \`${name}\` must be true or false; got '${given.slice(0, 60)}'.`);
  return given === "true";
}

/** Return an input's lines that are not empty. */
export function linesInput(environ: Environ, name: string): string[] {
  return textInput(environ, name)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
}

/** Prints for the runner. No token of the environment is in what it prints. */
export class Runner {
  constructor(
    private readonly environ: Environ,
    private readonly print: Print = (text) => process.stdout.write(text),
  ) {}

  /** Print an annotation for the workflow's page. */
  annotate(level: Level, words: string): void {
    this.print(`::${level} title=prshots::${escapeCommand(this.#shown(words))}\n`);
  }

  /** Hide a secret in the job's log. */
  mask(secret: string): void {
    if (secret) this.print(`::add-mask::${escapeCommand(secret)}\n`);
  }

  /**
   * Print messages while `work` runs. The runner does not interpret them as commands: they contain file names, which the
   * author of the pull request chooses.
   */
  async withoutCommands<T>(work: (say: (words: string) => void) => Promise<T>): Promise<T> {
    const resume = randomBytes(16).toString("hex");
    this.print(`::stop-commands::${resume}\n`);
    try {
      return await work((words) => this.print(`${this.#shown(words)}\n`));
    } finally {
      this.print(`::${resume}::\n`);
    }
  }

  /** Set an output to one line. */
  output(name: string, value: string): void {
    this.outputs(`${name}=${value.split(/[\r\n]/)[0]}\n`);
  }

  /** Set outputs, as lines of the file that the runner reads. */
  outputs(lines: string): void {
    this.#append("GITHUB_OUTPUT", lines);
  }

  /** Older versions of Forgejo have no job summary. */
  get hasSummary(): boolean {
    return Boolean(this.environ.GITHUB_STEP_SUMMARY);
  }

  summarize(markdown: string): void {
    this.#append("GITHUB_STEP_SUMMARY", markdown);
  }

  #shown(words: string): string {
    return printable(redact(words, secretsOf({}, this.environ)));
  }

  #append(variable: string, text: string): void {
    const file = this.environ[variable];
    if (file) appendFileSync(file, text);
  }
}

function escapeCommand(words: string): string {
  return words.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
