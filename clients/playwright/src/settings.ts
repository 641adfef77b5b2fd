/** What is to be done: the options in playwright.config.ts, else the environment, else what the CI says. */
import { execFileSync } from "node:child_process";
import { CallError } from "./errors.js";
import {
  commitOf,
  detected,
  type Environ,
  FORGES,
  type ForgeKind,
  forgeTokenOf,
  type Job,
  prNumberOf,
} from "./jobs.js";
import { TRIES } from "./sending.js";

export interface PrshotsOptions {
  /** The address of the service; else PRSHOTS_URL. Without one, nothing is done. */
  url?: string;
  /** An upload token; else PRSHOTS_TOKEN; else the job's ID token is exchanged for one. */
  token?: string;
  /** Without a token: the project to upload to, where several trust this repository; else PRSHOTS_PROJECT. */
  project?: string;
  /** The pull request; else PRSHOTS_PR, else the CI's. Without one, nothing is done. */
  prNumber?: number | string;
  /** The commit; else PRSHOTS_COMMIT, else the CI's, else that of the working folder. */
  commit?: string;
  /** Which tests' screenshots to upload: of all (the default), or of those that failed. */
  only?: "all" | "failed";
  /** Whether to post the comment at the end; true by default. */
  comment?: boolean;
  /** Have the run fail when something could not be uploaded or posted. */
  strict?: boolean;
  /** How often something is sent that gets no answer or a 5xx; 5 by default. */
  tries?: number;
  /** Where the pull request is; else PRSHOTS_FORGE, else what the CI says. */
  forge?: ForgeKind;
  /** The root of the forge's API; else PRSHOTS_FORGE_URL, else what the CI says. */
  forgeUrl?: string;
  /** The repository, as owner/name; else PRSHOTS_REPOSITORY, else what the CI says. */
  repository?: string;
  /** A token of the forge that may comment; else PRSHOTS_FORGE_TOKEN, GITHUB_TOKEN, GITLAB_TOKEN, … */
  forgeToken?: string;
}

export interface Settings {
  url: string;
  token: string;
  project: string;
  prNumber: number;
  commit: string;
  only: "all" | "failed";
  comment: boolean;
  tries: number;
  job: Job;
  forgeToken: string;
}

/** Return the settings; nothing when there is no service or no pull request, as on somebody's own machine. */
export function settingsOf(options: PrshotsOptions, environ: Environ): Settings | undefined {
  const url = (options.url ?? environ.PRSHOTS_URL ?? "").trim().replace(/\/+$/, "");
  if (!url) return undefined;
  if (!/^https?:\/\/[^/\s]/.test(url) || !URL.canParse(url))
    throw new CallError(
      `url or PRSHOTS_URL must be an address such as https://prshots.example.com; got "${url}"`,
    );
  const only = options.only ?? "all";
  if (only !== "all" && only !== "failed")
    throw new CallError(`only must be "all" or "failed"; got "${only}"`);
  const job = jobOf(options, environ);
  if (job.prNumber === undefined) return undefined;
  return {
    url,
    token: options.token ?? environ.PRSHOTS_TOKEN ?? "",
    project: options.project ?? environ.PRSHOTS_PROJECT ?? "",
    prNumber: job.prNumber,
    commit: job.commit ?? commitHere(),
    only,
    comment: options.comment ?? true,
    tries: Math.max(options.tries ?? TRIES, 1),
    job,
    forgeToken: options.forgeToken?.trim() || forgeTokenOf(job.forge, environ),
  };
}

/** Return the job as the CI says, and over it what was said by hand. */
function jobOf(options: PrshotsOptions, environ: Environ): Job {
  const job = detected(environ);
  const forge = checked(
    options.forge ?? environ.PRSHOTS_FORGE,
    forgeOf,
    "forge or PRSHOTS_FORGE",
    FORGES.join(", "),
  );
  const same = forge === undefined || forge === job.forge; // else what the CI says is of another forge
  return {
    ...job,
    prNumber:
      checked(options.prNumber ?? environ.PRSHOTS_PR, prNumberOf, "prNumber or PRSHOTS_PR", "a number") ??
      job.prNumber,
    commit:
      checked(
        options.commit ?? environ.PRSHOTS_COMMIT,
        commitOf,
        "commit or PRSHOTS_COMMIT",
        "7 to 40 hex digits",
      ) ?? job.commit,
    forge: forge ?? job.forge,
    forgeApi: options.forgeUrl || environ.PRSHOTS_FORGE_URL || (same ? job.forgeApi : undefined),
    repository: options.repository || environ.PRSHOTS_REPOSITORY || (same ? job.repository : undefined),
  };
}

function forgeOf(value: unknown): ForgeKind | undefined {
  return FORGES.find((forge) => forge === value);
}

function checked<T>(
  given: unknown,
  read: (value: unknown) => T | undefined,
  what: string,
  takes: string,
): T | undefined {
  if (given === undefined || given === "") return undefined; // CIs set what they do not know to nothing
  const value = read(given);
  if (value === undefined) throw new CallError(`${what} takes ${takes}; got "${given}"`);
  return value;
}

/** Return the commit of the working folder. */
function commitHere(): string {
  try {
    const said = execFileSync("git", ["rev-parse", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const commit = commitOf(said);
    if (commit) return commit;
  } catch {
    // no git, or no repository: said below
  }
  throw new CallError(
    "which commit? No CI says, and this folder is in no git repository: set PRSHOTS_COMMIT",
  );
}
