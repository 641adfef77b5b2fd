/** Which CI runs us, and what it says of the pull request. */
import { readFileSync } from "node:fs";

export type Environ = Readonly<Record<string, string | undefined>>;
export const FORGES = ["github", "gitlab", "gitea", "bitbucket"] as const;
export type ForgeKind = (typeof FORGES)[number];

/** What is known of the job that runs us. */
export interface Job {
  ci: string;
  prNumber: number | undefined;
  commit: string | undefined;
  /** The pull request comes from another repository, so that the job's own token may often only read. */
  fromFork: boolean;
  forge: ForgeKind | undefined;
  /** The root of the forge's API, such as https://api.github.com. */
  forgeApi: string | undefined;
  repository: string | undefined;
}

const NO_JOB: Job = {
  ci: "",
  prNumber: undefined,
  commit: undefined,
  fromFork: false,
  forge: undefined,
  forgeApi: undefined,
  repository: undefined,
};
const LARGEST_PR_NUMBER = 2_147_483_647;
const COMMIT = /^[0-9a-f]{7,40}$/i;

export function prNumberOf(value: unknown): number | undefined {
  const given = typeof value === "number" ? String(value) : value;
  if (typeof given !== "string" || !/^[1-9]\d{0,9}$/.test(given.trim())) return undefined;
  const number = Number(given);
  return number <= LARGEST_PR_NUMBER ? number : undefined;
}

export function commitOf(value: unknown): string | undefined {
  return typeof value === "string" && COMMIT.test(value.trim()) ? value.trim() : undefined;
}

/** Return what the environment says; of no CI that we know, an empty job. */
export function detected(environ: Environ): Job {
  return { ...NO_JOB, ...CIS.find(({ runs }) => runs(environ))?.job(environ) };
}

const CIS: { runs(environ: Environ): boolean; job(environ: Environ): Partial<Job> }[] = [
  { runs: ({ GITHUB_ACTIONS }) => GITHUB_ACTIONS === "true", job: actions },
  {
    runs: ({ GITLAB_CI }) => GITLAB_CI === "true",
    job: (environ) => ({
      ci: "GitLab CI",
      prNumber: prNumberOf(
        environ.CI_MERGE_REQUEST_IID ?? environ.CI_OPEN_MERGE_REQUESTS?.split(",")[0]?.split("!")[1],
      ),
      commit: commitOf(environ.CI_MERGE_REQUEST_SOURCE_BRANCH_SHA) ?? commitOf(environ.CI_COMMIT_SHA),
      forge: "gitlab",
      forgeApi: environ.CI_API_V4_URL,
      repository: environ.CI_MERGE_REQUEST_PROJECT_ID ?? environ.CI_PROJECT_ID,
    }),
  },
  {
    runs: ({ BITBUCKET_BUILD_NUMBER }) => Boolean(BITBUCKET_BUILD_NUMBER),
    job: (environ) => ({
      ci: "Bitbucket Pipelines",
      prNumber: prNumberOf(environ.BITBUCKET_PR_ID),
      commit: commitOf(environ.BITBUCKET_COMMIT),
      forge: "bitbucket",
      repository: environ.BITBUCKET_REPO_FULL_NAME,
    }),
  },
];

function runsOnGitea(environ: Environ): boolean {
  const said =
    environ.GITEA_ACTIONS || environ.FORGEJO_ACTIONS || environ.GITHUB_API_URL?.endsWith("/api/v1");
  return Boolean(said);
}

/** GitHub's Actions; those of Gitea and Forgejo set the same variables, and one more. */
function actions(environ: Environ): Partial<Job> {
  const gitea = runsOnGitea(environ);
  const event = eventOf(environ.GITHUB_EVENT_PATH);
  const run = at(event, "workflow_run"); // of another workflow: its own commit says nothing of the pull request
  const pull = at(event, "pull_request") ?? at(run, "pull_requests", "0");
  const head = at(pull, "head", "repo", "full_name");
  return {
    ci: gitea ? "Gitea Actions" : "GitHub Actions",
    prNumber: prNumberOf(at(pull, "number")),
    // GITHUB_SHA is that of a merge which nobody has committed.
    commit:
      commitOf(at(pull, "head", "sha")) ?? commitOf(at(run, "head_sha")) ?? commitOf(environ.GITHUB_SHA),
    fromFork: at(event, "pull_request") !== undefined && head !== at(pull, "base", "repo", "full_name"),
    forge: gitea ? "gitea" : "github",
    forgeApi:
      gitea && environ.GITHUB_SERVER_URL ? `${environ.GITHUB_SERVER_URL}/api/v1` : environ.GITHUB_API_URL,
    repository: environ.GITHUB_REPOSITORY,
  };
}

function eventOf(path: string | undefined): unknown {
  try {
    return path ? JSON.parse(readFileSync(path, "utf8")) : undefined;
  } catch {
    return undefined; // an event that cannot be read says nothing
  }
}

function at(value: unknown, ...keys: string[]): unknown {
  let found = value;
  for (const key of keys) found = (found as Record<string, unknown> | null | undefined)?.[key];
  return found ?? undefined;
}

/** Return the token to call the forge with. A job token of GitLab cannot write comments, so it is not taken. */
export function forgeTokenOf(forge: ForgeKind | undefined, environ: Environ): string {
  // Gitea's runner calls its own token GITHUB_TOKEN: it is not one of GitHub's.
  const ofActions = ["GITHUB_TOKEN"];
  const gitea = runsOnGitea(environ);
  const names: Record<ForgeKind, string[]> = {
    github: [...(gitea ? [] : ofActions), "GH_TOKEN"],
    gitlab: ["GITLAB_TOKEN"],
    gitea: ["GITEA_TOKEN", "FORGEJO_TOKEN", ...(gitea ? ofActions : [])],
    bitbucket: ["BITBUCKET_TOKEN"],
  };
  const found = ["PRSHOTS_FORGE_TOKEN", ...(forge ? names[forge] : [])].map((name) => environ[name]?.trim());
  return found.find(Boolean) ?? "";
}
