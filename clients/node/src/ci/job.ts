/** What we know about the CI job that runs us. */
import { CONTRACT } from "../contract.js";

/** Environment variables. */
export type Environ = Readonly<Record<string, string | undefined>>;

export const FORGES = CONTRACT.options.forge.choices;
export type ForgeKind = (typeof FORGES)[number];

/**
 * What only the forge knows, because the event does not name it. `pull_request`: the job runs for a pull request whose
 * head is `commitSha`. `any_pull_request`: it may run for one. `head`: it runs for `prNumber`, whose head is missing; the
 * checkout is the base branch.
 */
export type Lookup = "pull_request" | "any_pull_request" | "head";

/**
 * Whatever the CI does not say is empty or undefined. A job runs for a pull request or for a `branch`, never for both.
 */
export interface Job {
  /** The CI's name for people. */
  ci: string;
  prNumber: number | undefined;
  commitSha: string;
  /** The job runs because the pull request was closed or merged. */
  closed: boolean;
  /** The pull request was closed before the job's event. */
  alreadyClosed: boolean;
  /** The pull request comes from another repository, so the job's own token is often read-only. */
  fromFork: boolean;
  forge: ForgeKind | undefined;
  /** The forge's address for people. It may be known even if the kind of forge is not. */
  forgeUrl: string;
  /** The root of the forge's API, such as https://api.github.com. */
  forgeApi: string;
  /** `owner/name`; on GitLab the project's id or path. */
  repository: string;
  forgeToken: string;
  /** The page of the CI's run. */
  runUrl: string;
  lookup: Lookup | undefined;
  branch: string;
  /** The repository's default branch. */
  defaultBranch: string;
  /** The branch that the pull request is to be merged into, and the one it comes from. */
  targetBranch: string;
  sourceBranch: string;
  /** The pull request's title and author. */
  title: string;
  author: string;
  /** The repository's address for people. */
  repositoryUrl: string;
  /** The commit that the pull request branched off. */
  baseSha: string;
  /** The commit that a merged pull request became. */
  mergedAs: string;
  /** The CI runs several of this job, so each has only a part of the screenshots. */
  isParallel: boolean;
  /** Only a git remote or a pull request's page names the forge. */
  isForgeGuessed: boolean;
  /** The workflow run in the job's event did not succeed, so some of its screenshots may be missing. */
  hasFailed: boolean;
  /** A merge queue or merge train tests the pull request on top of others: `baseSha` is the commit it tests it on. */
  inQueue: boolean;
}

export const NO_JOB: Job = {
  ci: "",
  prNumber: undefined,
  commitSha: "",
  closed: false,
  alreadyClosed: false,
  fromFork: false,
  forge: undefined,
  forgeUrl: "",
  forgeApi: "",
  repository: "",
  forgeToken: "",
  runUrl: "",
  lookup: undefined,
  branch: "",
  defaultBranch: "",
  targetBranch: "",
  sourceBranch: "",
  title: "",
  author: "",
  repositoryUrl: "",
  baseSha: "",
  mergedAs: "",
  isParallel: false,
  isForgeGuessed: false,
  hasFailed: false,
  inQueue: false,
};

/** Return the job of a pull request without a branch, and the job of a branch without a pull request. */
export function normalizeJob(job: Job): Job {
  if (job.prNumber !== undefined || job.lookup) return { ...job, branch: "" };
  return { ...job, targetBranch: "", sourceBranch: "", title: "", author: "", baseSha: "", mergedAs: "" };
}
