/** What the action is asked to do: its inputs, checked, before anything is sent. */
import type { Environ } from "../ci/job.js";
import * as validate from "../ci/validate.js";
import { parseVerdicts } from "../commands/compare.js";
import { InvalidInputError, messageOf } from "../errors.js";
import { VIEWS, type View } from "../service.js";
import { flagInput, linesInput, textInput } from "./runner.js";

/** The client's variable for each input. Without the input, the job may have set the variable. */
const VARIABLES = {
  url: "PRSHOTS_URL",
  token: "PRSHOTS_TOKEN",
  project: "PRSHOTS_PROJECT",
  "pr-number": "PRSHOTS_PR",
  commit: "PRSHOTS_COMMIT",
  branch: "PRSHOTS_BRANCH",
  timeout: "PRSHOTS_TIMEOUT",
  "github-token": "GITHUB_TOKEN",
};

export interface Settings {
  paths: string[];
  branch: string;
  compare: boolean;
  /** A missing shot may come from another shard, or from a test that failed. */
  partial: boolean;
  complete: boolean;
  /** Verdicts, comma-separated. */
  failOn: string;
  view: View | undefined;
  comment: boolean;
  template: string;
  shrink: boolean;
  allowEmpty: boolean;
  workingDirectory: string;
  /** A step before this one failed. */
  hasFailed: boolean;
}

/** Return the environment of the client: the inputs instead of the job's variables. */
export function clientEnviron(environ: Environ): Environ {
  const given = Object.entries(VARIABLES).map(([name, variable]) => [variable, textInput(environ, name)]);
  return { ...environ, ...Object.fromEntries(given.filter(([, value]) => value)) };
}

/** Return the settings. Throws InvalidInputError. */
export function settingsOf(environ: Environ): Settings {
  const text = (name: string) => textInput(environ, name);
  const flag = (name: string, fallback = false) => flagInput(environ, name, fallback);
  const hasFailed = ["failure", "cancelled"].includes(text("job-status"));
  const settings = {
    paths: linesInput(environ, "paths"),
    branch: branchIn(clientEnviron(environ).PRSHOTS_BRANCH ?? ""),
    compare: flag("compare", true),
    partial: flag("partial") || hasFailed,
    complete: flag("complete"),
    failOn: gateIn(text("fail-on")),
    view: viewIn(text("view")),
    comment: flag("comment", true),
    template: text("template"),
    shrink: flag("shrink"),
    allowEmpty: flag("allow-empty"),
    workingDirectory: text("working-directory") || ".",
    hasFailed,
  };
  if (settings.failOn && !settings.compare)
    throw new InvalidInputError(
      "The inputs `fail-on` and `compare: false` exclude each other: remove one of them.",
    );
  if (settings.complete && settings.paths.length)
    throw new InvalidInputError(
      "The inputs `paths` and `complete` exclude each other: each shard uploads with `partial: true`.",
    );
  return settings;
}

function branchIn(given: string): string {
  const branch = validate.branch(given);
  if (given.trim() && !branch)
    throw new InvalidInputError(
      `The input \`branch\` must be the name of a branch, such as main; got '${given.slice(0, 60)}'.`,
    );
  return branch;
}

function gateIn(given: string): string {
  try {
    return parseVerdicts(given).join(",");
  } catch (error) {
    throw new InvalidInputError(`${messageOf(error).replace("--fail-on", "The input `fail-on`")}.`);
  }
}

function viewIn(given: string): View | undefined {
  const view = VIEWS.find((each) => each === given);
  if (given && !view)
    throw new InvalidInputError(
      `The input \`view\` must be one of ${VIEWS.join(", ")}; got '${given.slice(0, 60)}'.`,
    );
  return view;
}
