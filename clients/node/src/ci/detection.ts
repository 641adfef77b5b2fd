/** Each CI's own variables, and what they say about the pull request. */
import { eventOf, numberIn } from "./actions_event.js";
import {
  apiRoot,
  type ForgeRepository,
  forgeToken,
  repositoryOfPullRequest,
  repositoryOfRemote,
  runsOnGitea,
} from "./forge_addresses.js";
import { type Environ, type ForgeKind, type Job, NO_JOB, normalizeJob } from "./job.js";
import * as validate from "./validate.js";
import { first } from "./validate.js";

/** Return what the environment says; an empty job if it is from no CI that we know. */
export function detectJob(environ: Environ): Job {
  return normalizeJob(CIS.find(([runs]) => runs(environ))?.[1](environ) ?? NO_JOB);
}

/** What the CI says besides the place of the pull request. */
type Said = Partial<Job> & Pick<Job, "commitSha"> & { api?: string };

function jobAt(ci: string, environ: Environ, place: ForgeRepository, { api, ...said }: Said): Job {
  const { kind, url, repository, prNumber, isGuessed = false } = place;
  const isNamed = url !== "" && repository.includes("/");
  return {
    ...NO_JOB,
    repositoryUrl: isNamed ? `${url}/${repository}` : "",
    ...said,
    ci,
    prNumber,
    closed: Boolean(said.closed) && prNumber !== undefined,
    alreadyClosed: Boolean(said.alreadyClosed) && prNumber !== undefined,
    fromFork: Boolean(said.fromFork) && prNumber !== undefined,
    forge: kind,
    forgeUrl: url,
    forgeApi: validate.root(api) || (url ? apiRoot(kind, url) : ""),
    repository,
    forgeToken: forgeToken(kind, environ),
    isForgeGuessed: isGuessed,
    runUrl: validate.address(said.runUrl),
  };
}

/** Return the branch that a variable names. */
function branchIn(environ: Environ, ...names: string[]): string {
  return validate.branch(first(environ, ...names));
}

function isSeveral(count: string | undefined): boolean {
  return (validate.prNumber(count) ?? 1) > 1; // any number, checked in the same way
}

/** GitHub Actions. Gitea's and Forgejo's Actions set the same variables. */
function actions(environ: Environ): Job {
  const onGitea = runsOnGitea(environ);
  const { prNumber, ...said } = eventOf(environ);
  const place: ForgeRepository = {
    kind: onGitea ? "gitea" : "github",
    url: validate.root(environ.GITHUB_SERVER_URL),
    repository: validate.repository(environ.GITHUB_REPOSITORY),
    prNumber,
  };
  const { url, repository } = place;
  // Gitea's run pages use the run number of the repository.
  const run = first(environ, onGitea ? "GITHUB_RUN_NUMBER" : "GITHUB_RUN_ID");
  const runUrl = url && repository && run ? `${url}/${repository}/actions/runs/${run}` : "";
  const api = first(environ, "GITHUB_API_URL");
  return jobAt(onGitea ? "Gitea Actions" : "GitHub Actions", environ, place, { api, runUrl, ...said });
}

function gitlab(environ: Environ): Job {
  const own = validate.repository(environ.CI_PROJECT_ID);
  let target = validate.repository(environ.CI_MERGE_REQUEST_PROJECT_ID);
  let prNumber = validate.prNumber(environ.CI_MERGE_REQUEST_IID);
  const source = first(environ, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID");
  const [branch, defaultBranch] = [
    branchIn(environ, "CI_COMMIT_BRANCH"),
    branchIn(environ, "CI_DEFAULT_BRANCH"),
  ];
  let fromFork = Boolean(target && source) && source !== target;
  if (prNumber === undefined) {
    // A branch pipeline lists the open merge requests of its branch: group/app!12,group/app!13
    const [open = ""] = first(environ, "CI_OPEN_MERGE_REQUESTS").split(",");
    const path = open.slice(0, Math.max(open.lastIndexOf("!"), 0));
    fromFork = path !== "" && path !== first(environ, "CI_PROJECT_PATH");
    // A job on the default branch is for that branch, even if a merge request merges it elsewhere.
    const isDefault = branch !== "" && branch === defaultBranch && !fromFork;
    prNumber = isDefault ? undefined : validate.prNumber(open.slice(open.lastIndexOf("!") + 1));
    target = fromFork ? validate.repository(path) : "";
  }
  const inQueue = first(environ, "CI_MERGE_REQUEST_EVENT_TYPE") === "merge_train";
  const bases = inQueue ? ["CI_MERGE_REQUEST_TARGET_BRANCH_SHA"] : [];
  // A fork's merge request is discussed in the target project.
  const repository = target || own;
  const url = validate.root(environ.CI_SERVER_URL);
  return jobAt(
    "GitLab CI",
    environ,
    { kind: "gitlab", url, repository, prNumber },
    {
      api: first(environ, "CI_API_V4_URL"),
      // Only in a merged results pipeline, where CI_COMMIT_SHA is the merge, is the first one set.
      commitSha: validate.commit(environ.CI_MERGE_REQUEST_SOURCE_BRANCH_SHA, environ.CI_COMMIT_SHA),
      runUrl: first(environ, "CI_PIPELINE_URL"),
      fromFork,
      repositoryUrl: target.includes("/")
        ? url && `${url}/${target}`
        : validate.root(first(environ, "CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")),
      branch,
      defaultBranch,
      targetBranch: branchIn(environ, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
      sourceBranch: branchIn(environ, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") || branch,
      title: validate.words(environ.CI_MERGE_REQUEST_TITLE),
      baseSha: validate.fullCommit(first(environ, ...bases, "CI_MERGE_REQUEST_DIFF_BASE_SHA")),
      isParallel: isSeveral(environ.CI_NODE_TOTAL),
      inQueue,
    },
  );
}

function bitbucket(environ: Environ): Job {
  const branch = branchIn(environ, "BITBUCKET_BRANCH");
  const place: ForgeRepository = {
    kind: "bitbucket",
    url: "https://bitbucket.org",
    repository: validate.repository(environ.BITBUCKET_REPO_FULL_NAME),
    prNumber: validate.prNumber(environ.BITBUCKET_PR_ID),
  };
  return jobAt("Bitbucket Pipelines", environ, place, {
    commitSha: validate.commit(environ.BITBUCKET_COMMIT),
    runUrl: place.repository
      ? `${place.url}/${place.repository}/pipelines/results/${first(environ, "BITBUCKET_BUILD_NUMBER")}`
      : "",
    branch,
    sourceBranch: branch,
    targetBranch: branchIn(environ, "BITBUCKET_PR_DESTINATION_BRANCH"),
  });
}

function circleci(environ: Environ): Job {
  // A branch may have several pull requests: the first counts. The number alone is set only for a fork.
  const pages = first(environ, "CIRCLE_PULL_REQUEST", "CIRCLE_PULL_REQUESTS", "CI_PULL_REQUEST");
  const forksNumber = validate.prNumber(environ.CIRCLE_PR_NUMBER);
  const place = placeOf(pages.split(",")[0] ?? "", first(environ, "CIRCLE_REPOSITORY_URL"), forksNumber);
  const branch = branchIn(environ, "CIRCLE_BRANCH"); // pull/12 for a fork's
  const fromFork = forksNumber !== undefined;
  return jobAt("CircleCI", environ, place, {
    commitSha: validate.commit(environ.CIRCLE_SHA1),
    runUrl: first(environ, "CIRCLE_BUILD_URL"),
    fromFork,
    branch,
    sourceBranch: fromFork ? "" : branch,
    isParallel: isSeveral(environ.CIRCLE_NODE_TOTAL),
  });
}

function buildkite(environ: Environ): Job {
  const place = placeOf(
    "",
    first(environ, "BUILDKITE_REPO"),
    validate.prNumber(environ.BUILDKITE_PULL_REQUEST), // "false" without one
    first(environ, "BUILDKITE_PIPELINE_PROVIDER"),
  );
  const head = repositoryOfRemote(first(environ, "BUILDKITE_PULL_REQUEST_REPO")).repository;
  const branch = branchIn(environ, "BUILDKITE_BRANCH");
  // A fork's branch may have the name of one of ours.
  const ofPullRequest = !["", "false"].includes(first(environ, "BUILDKITE_PULL_REQUEST"));
  return jobAt("Buildkite", environ, place, {
    commitSha: validate.commit(environ.BUILDKITE_COMMIT), // may be "HEAD"
    runUrl: first(environ, "BUILDKITE_BUILD_URL"),
    fromFork: head !== "" && head.toLowerCase() !== place.repository.toLowerCase(),
    branch: ofPullRequest || first(environ, "BUILDKITE_TAG") ? "" : branch,
    sourceBranch: branch,
    defaultBranch: branchIn(environ, "BUILDKITE_PIPELINE_DEFAULT_BRANCH"),
    targetBranch: branchIn(environ, "BUILDKITE_PULL_REQUEST_BASE_BRANCH"),
    isParallel: isSeveral(environ.BUILDKITE_PARALLEL_JOB_COUNT),
  });
}

function azure(environ: Environ): Job {
  const provider = first(environ, "BUILD_REPOSITORY_PROVIDER").toLowerCase();
  const prNumber =
    validate.prNumber(environ.SYSTEM_PULLREQUEST_PULLREQUESTNUMBER) ??
    // With GitHub, PULLREQUESTID is a different number.
    (provider.includes("github")
      ? numberIn(first(environ, "BUILD_SOURCEBRANCH"))
      : validate.prNumber(environ.SYSTEM_PULLREQUEST_PULLREQUESTID));
  const place = placeOf("", first(environ, "BUILD_REPOSITORY_URI"), prNumber, provider);
  const collection = first(environ, "SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI");
  const project = encodeURIComponent(first(environ, "SYSTEM_TEAMPROJECT"));
  const build = first(environ, "BUILD_BUILDID");
  return jobAt("Azure Pipelines", environ, place, {
    commitSha: validate.commit(environ.SYSTEM_PULLREQUEST_SOURCECOMMITID, environ.BUILD_SOURCEVERSION),
    runUrl:
      project && build ? `${collection.replace(/\/+$/, "")}/${project}/_build/results?buildId=${build}` : "",
    fromFork: first(environ, "SYSTEM_PULLREQUEST_ISFORK").toLowerCase() === "true",
    branch: first(environ, "BUILD_SOURCEBRANCH").startsWith("refs/heads/")
      ? branchIn(environ, "BUILD_SOURCEBRANCH")
      : "",
    sourceBranch: branchIn(environ, "SYSTEM_PULLREQUEST_SOURCEBRANCH"),
    targetBranch: branchIn(environ, "SYSTEM_PULLREQUEST_TARGETBRANCH"),
  });
}

function woodpecker(environ: Environ): Job {
  const place: ForgeRepository = {
    kind: PROVIDERS.get(first(environ, "CI_FORGE_TYPE").toLowerCase()),
    url: validate.root(environ.CI_FORGE_URL),
    repository: validate.repository(environ.CI_REPO),
    prNumber: validate.prNumber(environ.CI_COMMIT_PULL_REQUEST),
  };
  const event = first(environ, "CI_PIPELINE_EVENT");
  const isOfBranch = ["push", "cron", "manual"].includes(event);
  return jobAt("Woodpecker", environ, place, {
    commitSha: validate.commit(environ.CI_COMMIT_SHA),
    runUrl: first(environ, "CI_PIPELINE_URL"),
    closed: event === "pull_request_closed",
    branch: isOfBranch ? branchIn(environ, "CI_COMMIT_BRANCH") : "",
    defaultBranch: branchIn(environ, "CI_REPO_DEFAULT_BRANCH"),
    sourceBranch: branchIn(environ, "CI_COMMIT_SOURCE_BRANCH"),
    targetBranch: branchIn(environ, "CI_COMMIT_TARGET_BRANCH"),
  });
}

/** A multibranch project, or the plugin GitHub Pull Request Builder (ghprb…). */
function jenkins(environ: Environ): Job {
  const prNumber = validate.prNumber(first(environ, "CHANGE_ID", "ghprbPullId"));
  const page = first(environ, "CHANGE_URL", "ghprbPullLink");
  const place = placeOf(page, first(environ, "GIT_URL", "GIT_URL_1"), prNumber);
  const head = repositoryOfRemote(first(environ, "ghprbAuthorRepoGitUrl")).repository;
  const branch = validate.branch(
    first(environ, "BRANCH_NAME") || first(environ, "GIT_BRANCH").replace(/^origin\//, ""),
  );
  return jobAt("Jenkins", environ, place, {
    // GIT_COMMIT is a merge if the project builds merges. Only the plugin names the head.
    commitSha: validate.commit(environ.ghprbActualCommit, environ.GIT_COMMIT),
    runUrl: first(environ, "BUILD_URL"),
    fromFork: first(environ, "CHANGE_FORK") !== "" || (head !== "" && head !== place.repository),
    branch: first(environ, "TAG_NAME") ? "" : branch,
    defaultBranch: first(environ, "BRANCH_IS_PRIMARY") === "true" ? branch : "",
    targetBranch: branchIn(environ, "CHANGE_TARGET", "ghprbTargetBranch"),
    sourceBranch: branchIn(environ, "CHANGE_BRANCH", "ghprbSourceBranch"),
    title: validate.words(first(environ, "CHANGE_TITLE", "ghprbPullTitle")),
    author: validate.words(first(environ, "CHANGE_AUTHOR", "ghprbPullAuthorLogin")),
  });
}

/**
 * Return where the pull request is, in a CI that serves several forges. The pull request's page is the best source; otherwise
 * the address that git fetches from, and the CI's name for the forge.
 */
function placeOf(page: string, remote: string, prNumber: number | undefined, provider = ""): ForgeRepository {
  const byPage = repositoryOfPullRequest(page);
  const found = byPage.kind ? byPage : repositoryOfRemote(remote);
  const kind = found.kind ?? PROVIDERS.get(provider.toLowerCase());
  return { ...found, kind, prNumber: prNumber ?? found.prNumber };
}

/** The CIs' names for the forges. */
const PROVIDERS = new Map<string, ForgeKind>([
  ["github", "github"],
  ["githubenterprise", "github"],
  ["github_enterprise", "github"],
  ["gitlab", "gitlab"],
  ["gitlab_ee", "gitlab"],
  ["gitea", "gitea"],
  ["forgejo", "gitea"],
  ["bitbucket", "bitbucket"],
]);

const isSet = (name: string) => (environ: Environ) => validate.isOn(environ, name);

const CIS: [(environ: Environ) => boolean, (environ: Environ) => Job][] = [
  [runsOnGitea, actions],
  [isSet("GITHUB_ACTIONS"), actions],
  [isSet("GITLAB_CI"), gitlab],
  [isSet("BITBUCKET_BUILD_NUMBER"), bitbucket],
  [isSet("CIRCLECI"), circleci],
  [isSet("BUILDKITE"), buildkite],
  [isSet("TF_BUILD"), azure],
  [(environ) => first(environ, "CI") === "woodpecker", woodpecker],
  [isSet("JENKINS_URL"), jenkins],
];
