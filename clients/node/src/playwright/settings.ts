/** What to do: the options in playwright.config.ts, then the environment, then what the CI says. */
import { detectJob } from "../ci/detection.js";
import { type Environ, FORGES, type ForgeKind, type Job, normalizeJob } from "../ci/job.js";
import { withForge } from "../ci/overrides.js";
import * as validate from "../ci/validate.js";
import { InvalidInputError } from "../errors.js";
import { TRIES } from "../sender.js";
import { VIEWS, type View } from "../service.js";
import { type Naming, namingOf } from "./titles.js";

export interface PrshotsOptions {
  /** The service's address; default PRSHOTS_URL. Without one, the reporter does nothing. */
  url?: string;
  /** An upload token; default PRSHOTS_TOKEN. Without one, the reporter exchanges the job's ID token. */
  token?: string;
  /** The project for keyless uploads: organization/name or its id; default PRSHOTS_PROJECT. */
  project?: string;
  /** The pull request; default PRSHOTS_PR, then the CI's. Without one, only the default branch uploads: baselines. */
  prNumber?: number | string;
  /** The commit; default PRSHOTS_COMMIT, then the CI's, then the one that is checked out. */
  commit?: string;
  /** The branch that has the baselines; default PRSHOTS_BRANCH, then the pull request's target or the default branch. */
  branch?: string;
  /** Compare with the base; default true. */
  compare?: boolean;
  /** These are not all screenshots of the commit. Default false, but true for a shard and if a test fails. */
  partial?: boolean;
  /** What the comment shows; default "changes" if there is a comparison, otherwise "latest". */
  view?: View;
  /** Upload the screenshots of all tests (the default) or only of failed tests, which are not compared. */
  only?: "all" | "failed";
  /** How a screenshot is named: a template or a function; default "{file}/{titles}/{attachment}". */
  name?: Naming;
  /** Post the comment at the end; default true. */
  comment?: boolean;
  /** Fail the run if something cannot be uploaded or posted; default false. */
  strict?: boolean;
  /** How often to send a request that gets no response or a temporary error; default 5. */
  tries?: number;
  /** Where the pull request is; default PRSHOTS_FORGE, then the CI's. */
  forge?: ForgeKind;
  /** The root of the forge's API; default PRSHOTS_FORGE_URL, then the CI's. */
  forgeUrl?: string;
  /** The repository as owner/name; default PRSHOTS_REPOSITORY, then the CI's. */
  repository?: string;
  /** A forge token that may comment; default PRSHOTS_FORGE_TOKEN, then GITHUB_TOKEN, GITLAB_TOKEN, … */
  forgeToken?: string;
}

export interface Settings {
  url: string;
  token: string;
  project: string;
  /** The branch that has the baselines; empty for the pull request's target or the default branch. */
  branch: string;
  compare: boolean;
  partial: boolean;
  view: View | undefined;
  only: "all" | "failed";
  name: Naming;
  comment: boolean;
  tries: number;
  job: Job;
}

/** Return the settings; nothing without a service, a pull request or a branch, as on a developer's machine. */
export function settingsOf(options: PrshotsOptions, environ: Environ): Settings | undefined {
  const given = (options.url ?? environ.PRSHOTS_URL ?? "").trim();
  if (!given) return undefined;
  const url = validate.root(given);
  if (!url || !URL.canParse(url))
    throw new InvalidInputError(
      "url (PRSHOTS_URL) is invalid: set the service's address, such as https://prshots.example.com, " +
        "without a user name and password",
    );
  const only = options.only ?? "all";
  if (only !== "all" && only !== "failed")
    throw new InvalidInputError(`only takes "all" or "failed"; got "${only}"`);
  const branch = options.branch ?? environ.PRSHOTS_BRANCH;
  const branchIn = (name: unknown) => validate.branch(name) || undefined;
  const viewIn = (name: unknown) => VIEWS.find((view) => view === name);
  const job = jobOf(options, environ);
  if (job.prNumber === undefined && !job.lookup && !job.branch) return undefined;
  return {
    url,
    token: options.token ?? environ.PRSHOTS_TOKEN ?? "",
    project: (options.project ?? environ.PRSHOTS_PROJECT ?? "").trim(),
    branch: checked(branch, branchIn, "branch (PRSHOTS_BRANCH) takes the name of a branch") ?? "",
    compare: (options.compare ?? true) && only === "all",
    partial: options.partial ?? false,
    view: checked(options.view, viewIn, `view takes one of ${VIEWS.join(", ")}`),
    only,
    name: namingOf(options.name),
    comment: options.comment ?? true,
    tries: Math.max(options.tries ?? TRIES, 1),
    job,
  };
}

/** Return the job as the CI describes it, with the pull request and commit that were set instead. */
function jobOf(options: PrshotsOptions, environ: Environ): Job {
  const found = detectJob(environ);
  const commitIn = (given: unknown) => validate.commit(given) || undefined;
  const prNumber =
    checked(
      options.prNumber ?? environ.PRSHOTS_PR,
      validate.prNumber,
      "prNumber (PRSHOTS_PR) takes a number",
    ) ?? found.prNumber;
  const commitSha =
    checked(
      options.commit ?? environ.PRSHOTS_COMMIT,
      commitIn,
      "commit (PRSHOTS_COMMIT) takes 7 to 40 hex digits",
    ) ?? found.commitSha;
  const isOther = prNumber !== found.prNumber;
  return normalizeJob({
    ...found,
    // What the CI says about its own pull request and commit says nothing about another one.
    ...(isOther && { title: "", author: "", sourceBranch: "", closed: false, alreadyClosed: false }),
    ...(commitSha !== found.commitSha && { baseSha: "" }),
    forgeToken: validate.token(options.forgeToken ?? "") || found.forgeToken,
    prNumber,
    commitSha,
  });
}

/** Return the job with the forge that was set. Throws InvalidInputError. */
export function jobAtForge(job: Job, options: PrshotsOptions, environ: Environ): Job {
  const kind = options.forge ?? environ.PRSHOTS_FORGE;
  return withForge(job, environ, {
    kind: checked(kind, forgeKind, `forge (PRSHOTS_FORGE) takes one of ${FORGES.join(", ")}`),
    api: options.forgeUrl ?? environ.PRSHOTS_FORGE_URL ?? "",
    repository: options.repository ?? environ.PRSHOTS_REPOSITORY ?? "",
    token: options.forgeToken ?? environ.PRSHOTS_FORGE_TOKEN ?? "",
  });
}

function forgeKind(given: unknown): ForgeKind | undefined {
  return FORGES.find((forge) => forge === given);
}

/** Return a valid value; nothing when it is missing or empty, because CIs leave unknown variables empty. */
function checked<T>(given: unknown, read: (value: unknown) => T | undefined, takes: string): T | undefined {
  const value = typeof given === "string" ? given.trim() : given;
  if (value === undefined || value === "") return undefined;
  const found = read(value);
  if (found === undefined) throw new InvalidInputError(`${takes}; got "${String(value).slice(0, 100)}"`);
  return found;
}
