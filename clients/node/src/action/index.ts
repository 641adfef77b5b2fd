/** The entry point of the GitHub Action: it is bundled into action/index.mjs. */
import type { Environ } from "../ci/job.js";
import { ClosedPullRequestError, messageOf } from "../errors.js";
import { throughProxy } from "../proxy.js";
import { setNames } from "../statements.js";
import { misspelledVariables } from "../variables.js";
import { run } from "./action.js";
import { inputFor } from "./inputs.js";
import { Runner, textInput } from "./runner.js";
import { clientEnviron } from "./settings.js";

async function main(): Promise<boolean> {
  setNames(inputFor);
  const environ = takeEnviron(process.env);
  const runner = new Runner(environ);
  runner.mask(environ.PRSHOTS_TOKEN ?? "");
  const warnings = [throughProxy(environ), ...misspelledVariables(environ)];
  for (const words of warnings.filter(Boolean)) runner.annotate("warning", words);
  try {
    return await run(runner, environ);
  } catch (error) {
    const isClosed = error instanceof ClosedPullRequestError;
    runner.annotate(isClosed ? "notice" : "error", messageOf(error));
    return isClosed;
  }
}

/** Return the environment of the client, and keep the tokens and files of the workspace away from git. */
function takeEnviron(own: NodeJS.ProcessEnv): Environ {
  const environ = clientEnviron(own);
  for (const name of ["token", "github-token"])
    if (textInput(own, name)) delete own[`INPUT_${name.toUpperCase()}`];
  own.NoDefaultCurrentDirectoryInExePath = "1"; // on Windows, a git.exe of the working folder does not run
  return environ;
}

process.exitCode = (await main()) ? 0 : 1;
