/** What the action is asked to do: its inputs, checked, before anything is sent. */
import type { Environ } from "../ci/job.js";
import { parseVerdicts } from "../commands/compare.js";
import { branchIn } from "../commands/service_options.js";
import { InvalidInputError } from "../errors.js";
import { VIEWS, type View } from "../service.js";
import { VARIABLES } from "./inputs.js";
import { flagInput, linesInput, textInput } from "./runner.js";

export interface Settings {
  paths: string[];
  branch: string;
  compare: boolean;
  /** A missing shot may come from another shard, or from a test that failed. */
  partial: boolean;
  complete: boolean;
  /** Verdicts, comma-separated. */
  failOn: string;
  approvedPass: boolean;
  /** Set the commit statuses. */
  gate: boolean;
  /** Why the run takes no screenshots. The project then passes. */
  gateSkip: string;
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
    branch: branchIn({}, clientEnviron(environ)),
    compare: flag("compare", true),
    partial: flag("partial") || hasFailed,
    complete: flag("complete"),
    failOn: parseVerdicts(text("fail-on")).join(","),
    approvedPass: flag("approved-pass"),
    gate: flag("gate"),
    gateSkip: text("gate-skip"),
    view: viewIn(text("view")),
    comment: flag("comment", true),
    template: text("template"),
    shrink: flag("shrink"),
    allowEmpty: flag("allow-empty"),
    workingDirectory: text("working-directory") || ".",
    hasFailed,
  };
  const compared = settings.failOn ? "fail-on" : settings.gate && "gate: true";
  if (compared && !settings.compare)
    throw new InvalidInputError(
      `The inputs \`${compared}\` and \`compare: false\` exclude each other: remove one of them.`,
    );
  if (settings.complete && settings.paths.length)
    throw new InvalidInputError(
      "The inputs `paths` and `complete` exclude each other: each shard uploads with `partial: true`.",
    );
  if (settings.gateSkip && (settings.paths.length || settings.complete))
    throw new InvalidInputError(
      "The input `gate-skip` excludes `paths` and `complete`: a run that it skips takes no screenshots.",
    );
  return settings;
}

function viewIn(given: string): View | undefined {
  const view = VIEWS.find((each) => each === given);
  if (given && !view)
    throw new InvalidInputError(
      `The input \`view\` must be one of ${VIEWS.join(", ")}; got '${given.slice(0, 60)}'.`,
    );
  return view;
}
