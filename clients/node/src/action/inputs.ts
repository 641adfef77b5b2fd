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
  ...Object.fromEntries(Object.entries(VARIABLES).map(([input, variable]) => [variable, input])),
  PRSHOTS_FORGE_TOKEN: "github-token",
};

/** Return a message of the client with the names of our inputs: `prNumber (PRSHOTS_PR)` is the input `pr-number`. */
export function withInputs(words: string): string {
  return words
    .replaceAll("prshots compare --complete", "this action with `complete: true`")
    .replace(/--(allow-empty|fail-on|shrink)\b/g, "the input `$1`")
    .replace(/\b[a-z]+[A-Za-z]* \((PRSHOTS_[A-Z_]+)\)/g, (_, variable: string) => {
      const input = INPUTS[variable];
      return input ? `the input \`${input}\`` : variable;
    });
}
