/** The names of the inputs. */

/** The client's variable for each input. Without the input, the job may have set the variable. */
export const VARIABLES = {
  url: "PRSHOTS_URL",
  token: "PRSHOTS_TOKEN",
  project: "PRSHOTS_PROJECT",
  "pr-number": "PRSHOTS_PR",
  commit: "PRSHOTS_COMMIT",
  branch: "PRSHOTS_BRANCH",
  timeout: "PRSHOTS_TIMEOUT",
  "github-token": "GITHUB_TOKEN",
};

const INPUTS: Record<string, string> = {
  ...Object.fromEntries(
    Object.entries(VARIABLES).map(([input, variable]) => [variable, `the input \`${input}\``]),
  ),
  PRSHOTS_FORGE_TOKEN: "the input `github-token`",
  "--allow-empty": "the input `allow-empty`",
  "--fail-on": "the input `fail-on`",
  "--shrink": "the input `shrink`",
  "prshots compare --complete": "this action with `complete: true`",
};

/** Return an option or a command of the client as the action has it, or else the option's variable. */
export function inputFor(name: string, variable: string): string {
  return INPUTS[variable || name] ?? (variable || name);
}
