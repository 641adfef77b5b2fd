/** What we know about the CI job that runs us. */

/** Environment variables. */
export type Environ = Readonly<Record<string, string | undefined>>;

export const FORGES = ["github", "gitlab", "gitea", "bitbucket"] as const;
export type ForgeKind = (typeof FORGES)[number];

/**
 * What only the forge knows, because the event does not name it. `pull_request`: the job runs for a pull request whose
 * head is `commitSha`. `any_pull_request`: it may run for one. `head`: it runs for `prNumber`, whose head is missing; the
 * checkout is the base branch.
 */
export type Lookup = "pull_request" | "any_pull_request" | "head";

/** Whatever the CI does not say is empty or undefined. */
export interface Job {
  /** The CI's name for people. */
  ci: string;
  prNumber: number | undefined;
  commitSha: string;
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
  lookup: Lookup | undefined;
}

export const NO_JOB: Job = {
  ci: "",
  prNumber: undefined,
  commitSha: "",
  fromFork: false,
  forge: undefined,
  forgeUrl: "",
  forgeApi: "",
  repository: "",
  forgeToken: "",
  lookup: undefined,
};
