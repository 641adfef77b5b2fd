#!/usr/bin/env node
/** `npx prshots`: the client's commands, without Python. */
import { readFileSync } from "node:fs";
import { limitGit } from "../ci/git.js";
import { FORGES } from "../ci/job.js";
import { comment } from "../commands/comment.js";
import { ComparisonFailedError, compare } from "../commands/compare.js";
import { deleteImages } from "../commands/delete.js";
import { expire } from "../commands/expire.js";
import { gate } from "../commands/gate.js";
import { moveStaged } from "../commands/move_staged.js";
import { COMPARE_FORMATS, compareText, jsonText, UPLOAD_FORMATS, uploadText } from "../commands/output.js";
import { deadlineIn } from "../commands/service_options.js";
import type { Context } from "../commands/types.js";
import { upload } from "../commands/upload.js";
import { CONTRACT } from "../contract.js";
import { ClosedPullRequestError, messageOf, PrshotsError } from "../errors.js";
import { throughProxy } from "../proxy.js";
import { redact, secretsOf } from "../redaction.js";
import { VIEWS } from "../service.js";
import { EXIT_CODES, errorCode, message, setNames } from "../statements.js";
import { misspelledVariables } from "../variables.js";
import { printable, safeMarkdown } from "../wording.js";
import { type Given, invalid, parseArguments } from "./arguments.js";
import { generalHelp, helpOf } from "./help.js";
import { COMMANDS } from "./options.js";

const { failed: FAILED, invalid_arguments: INVALID_ARGUMENTS, interrupted: INTERRUPTED } = EXIT_CODES;
/** Codes of errors that other arguments or variables would fix. Otherwise the failure is external. */
const IN_ARGUMENTS = new Set(["invalid_arguments", "not_found"]);
const NO_BASELINE_ACTIONS = CONTRACT.options["no-baseline"].choices;
const MAX_PR_NUMBER = 2_147_483_647;

/** Runs a command, prints its result, and returns the exit code. */
type Run = (given: Given, context: Context) => Promise<number>;

const RUNS: Record<string, Run> = {
  async upload(given, context) {
    const result = await upload(
      {
        paths: given.positionals,
        ...serviceIn(given),
        ...given.texts("commit", "branch", "name", "base", "viewport", "theme"),
        ...defined("jobs", given.jobs()),
        baseline: given.flag("baseline"),
        compare: !given.flag("no-compare"),
        partial: given.flag("partial"),
        shrink: given.flag("shrink"),
        dryRun: given.flag("dry-run"),
        allowEmpty: given.flag("allow-empty"),
      },
      context,
    );
    const format = formatIn(given, UPLOAD_FORMATS);
    if (format) process.stdout.write(uploadText(result, format));
    sayDashboard(result.dashboardUrl, context);
    return result.exitCode;
  },

  async compare(given, context) {
    const format = formatIn(given, COMPARE_FORMATS);
    try {
      const result = await compare(
        {
          ...serviceIn(given),
          ...given.texts("commit", "branch", "fail-on"),
          complete: given.flag("complete"),
          approvedPass: given.flag("approved-pass"),
        },
        context,
      );
      if (format) process.stdout.write(compareText(result, format));
      sayDashboard(result.dashboardUrl, context);
      return result.exitCode;
    } catch (error) {
      if (error instanceof ComparisonFailedError && format) process.stdout.write(compareText(error, format));
      throw error;
    }
  },

  async comment(given, context) {
    const options = {
      ...serviceIn(given),
      ...forgeIn(given),
      ...given.texts("template"),
      ...defined("view", given.choice("view", VIEWS)),
      post: given.flag("post"),
    };
    await moveStaged(options, context);
    const { markdown, posted, dashboardUrl } = await comment(options, context);
    process.stdout.write(posted?.url ? `${printable(posted.url)}\n` : safeMarkdown(markdown));
    sayDashboard(dashboardUrl, context);
    return 0;
  },

  async gate(given, context) {
    const options = {
      ...serviceIn(given),
      ...forgeIn(given),
      ...given.texts("commit", "skip"),
      ...defined("noBaseline", given.choice("no-baseline", NO_BASELINE_ACTIONS)),
      fail: given.flag("fail"),
    };
    const { lines, dashboardUrl, json, exitCode } = await gate(options, context);
    if (given.flag("json")) process.stdout.write(jsonText(json));
    else for (const line of lines) process.stdout.write(`${printable(line)}\n`);
    sayDashboard(dashboardUrl, context);
    return exitCode;
  },

  async expire(given, context) {
    const options = {
      ...serviceIn(given),
      ...forgeIn(given),
      ...given.texts("branch", "merged-as"),
      post: given.flag("post"),
    };
    const { json } = await expire(options, context);
    if (given.flag("json")) process.stdout.write(jsonText(json));
    return 0;
  },

  delete: (given, context) =>
    deleteImages(given.positionals, given.texts("url", "token", "project"), context),
};

function serviceIn(given: Given) {
  return { ...given.texts("url", "token", "project"), ...defined("pr", given.number("pr", MAX_PR_NUMBER)) };
}

function forgeIn(given: Given) {
  return {
    ...given.texts("forge-url", "repository", "forge-token"),
    ...defined("forge", given.choice("forge", FORGES)),
  };
}

function defined<Name extends string, T>(name: Name, value: T | undefined): { [name in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { [name in Name]?: T };
}

/** Return the format of the output; nothing if there is none. */
function formatIn<Format extends string>(given: Given, formats: readonly Format[]) {
  if (given.flag("json")) return "json";
  return given.choice("format", formats) ?? (given.flag("quiet") ? undefined : "table");
}

function sayDashboard(url: string, { say }: Context): void {
  if (url) say(message("dashboard", { url }));
}

/** Return the exit code. */
async function main(args: string[]): Promise<number> {
  const [name = "", ...rest] = args;
  if (name === "--version") return print(`prshots ${version()}\n`);
  if (["", "-h", "--help"].includes(name)) return print(generalHelp(), name ? 0 : INVALID_ARGUMENTS);
  const [command, run] = Object.hasOwn(COMMANDS, name) ? [COMMANDS[name], RUNS[name]] : [];
  try {
    if (!command || !run) throw invalid("", `unknown command ${name}`);
    const given = parseArguments(name, command, rest);
    if (!given) return print(helpOf(name, command));
    const context = contextOf(given);
    const proxy = throughProxy(process.env);
    for (const words of [...misspelledVariables(process.env), ...(proxy ? [proxy] : [])])
      context.say(`Warning: ${words}`);
    return await run(given, context).catch((error) => {
      if (!(error instanceof ClosedPullRequestError)) throw error;
      context.say(error.message);
      if (isJsonAsked(rest)) printFailure(error, error.message);
      return 0;
    });
  } catch (error) {
    if (!(error instanceof PrshotsError)) throw error;
    const words = messageOf(error);
    tell(`prshots: ${words}`, []);
    // A failed comparison is printed already.
    if (isJsonAsked(rest) && !(error instanceof ComparisonFailedError)) printFailure(error, words);
    return IN_ARGUMENTS.has(errorCode(error)) ? INVALID_ARGUMENTS : FAILED;
  }
}

/** Not from the parsed options, which may be what is wrong. */
function isJsonAsked(args: string[]): boolean {
  return / --(json|format[ =]json)\b/.test(` ${args.join(" ")}`);
}

function printFailure(error: PrshotsError, words: string): void {
  print(jsonText({ error: redact(words, []), code: errorCode(error) }));
}

function print(text: string, code = 0): number {
  process.stdout.write(text);
  return code;
}

function contextOf(given: Given): Context {
  const secrets = secretsOf(given.texts("token", "forge-token"), process.env);
  const fail = (words: string) => tell(words, secrets);
  const stop = new AbortController();
  process.once("SIGINT", () => {
    stop.abort(); // the command says how far it is
    process.exit(INTERRUPTED);
  });
  const deadline = deadlineIn(given.texts("timeout"), process.env);
  limitGit(deadline);
  const say = given.flag("quiet") ? () => {} : fail;
  return { environ: process.env, say, fail, deadline, stopped: stop.signal };
}

function tell(words: string, secrets: string[]): void {
  process.stderr.write(`${printable(redact(words, secrets))}\n`);
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

setNames((name, variable) => (variable ? `${name} (${variable})` : name));
// Nobody reads our output anymore, so print nothing.
process.stdout.on("error", () => process.exit(FAILED));
process.exitCode = await main(process.argv.slice(2));
