"""The environment variables of each CI, and how they describe the pull request."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from prshots.client.ci.actions_event import job_of_event, number_in
from prshots.client.ci.job import Job
from prshots.contract import validate
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.validate import first
from prshots.forges.forge_addresses import (
    ForgeRepository,
    api_root,
    forge_token,
    pull_request_page,
    repository_of_pull_request,
    repository_of_remote,
    runs_on_gitea,
)

Environ = Mapping[str, str]


def detect_job(environ: Environ) -> Job:
    """Return the job that the environment describes, or an empty job outside a supported CI. Never raises."""
    return next((_normalize_job(job_of(environ)) for is_it, job_of in _CIS if is_it(environ)), Job())


def _normalize_job(job: Job) -> Job:
    """Return the job with either a pull request or a branch, never both."""
    job = replace(job, run_url=validate.address(job.run_url))
    if job.pr_number is None:
        job = replace(job, closed=False, already_closed=False, from_fork=False)
    if job.pr_number is not None or job.lookup is not None:
        return replace(job, branch="")
    return replace(job, target_branch="", source_branch="", title="", author="", base_sha="", merged_as="")


def _is_set(name: str) -> Callable[[Environ], bool]:
    return lambda environ: validate.is_on(environ, name)


def _job_at(
    place: ForgeRepository,
    environ: Environ,
    event: Job | None = None,
    *,
    api: str = "",
    repository_url: str = "",
) -> Job:
    """Return the event's job, with its pull request and its repository on the forge."""
    if not repository_url and place.url and "/" in place.repository:
        repository_url = f"{place.url}/{place.repository}"
    return replace(
        event or Job(),
        pr_number=place.pr_number,
        forge=place.kind,
        forge_url=place.url,
        forge_api=validate.root(api) or (api_root(place.kind, place.url) if place.url else ""),
        repository=place.repository,
        forge_token=forge_token(place.kind, environ),
        repository_url=repository_url,
        pr_url=pull_request_page(place.kind, repository_url, place.pr_number),
        is_forge_guessed=place.is_guessed,
    )


def _actions(environ: Environ) -> Job:
    """Return the job of GitHub Actions. Gitea and Forgejo set the same variables."""
    on_gitea = runs_on_gitea(environ)
    event = job_of_event(environ)
    url = validate.root(environ.get("GITHUB_SERVER_URL"))
    repository = validate.repository(environ.get("GITHUB_REPOSITORY"))
    kind = ForgeKind.GITEA if on_gitea else ForgeKind.GITHUB
    place = ForgeRepository(kind, url, repository, event.pr_number)
    # Gitea's run pages use the repository's run number.
    run = first(environ, "GITHUB_RUN_NUMBER" if on_gitea else "GITHUB_RUN_ID")
    return replace(
        _job_at(place, environ, event, api=first(environ, "GITHUB_API_URL")),
        ci="Gitea Actions" if on_gitea else "GitHub Actions",
        run_url=f"{url}/{repository}/actions/runs/{run}" if url and repository and run else "",
    )


def _gitlab(environ: Environ) -> Job:
    own = validate.repository(environ.get("CI_PROJECT_ID"))
    target = validate.repository(environ.get("CI_MERGE_REQUEST_PROJECT_ID"))
    number = validate.pr_number(environ.get("CI_MERGE_REQUEST_IID"))
    source = first(environ, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    from_fork = bool(target and source) and source != target
    branch, default_branch = (
        validate.branch(environ.get(name)) for name in ("CI_COMMIT_BRANCH", "CI_DEFAULT_BRANCH")
    )
    if number is None:  # a branch pipeline lists its open merge requests, as group/app!12,…
        path, _, iid = first(environ, "CI_OPEN_MERGE_REQUESTS").partition(",")[0].rpartition("!")
        from_fork = bool(path) and path != first(environ, "CI_PROJECT_PATH")
        # A job on the default branch belongs to that branch, even if a merge request merges it elsewhere.
        is_default = branch != "" and branch == default_branch and not from_fork
        number = None if is_default else validate.pr_number(iid)
        target = validate.repository(path) if from_fork else ""
    # A fork's merge request is in the target project.
    url = validate.root(environ.get("CI_SERVER_URL"))
    place = ForgeRepository(ForgeKind.GITLAB, url, target or own, number)
    page = "" if "/" in target else first(environ, "CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")
    api = first(environ, "CI_API_V4_URL")
    in_queue = first(environ, "CI_MERGE_REQUEST_EVENT_TYPE") == "merge_train"
    bases = ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA",) if in_queue else ()
    return replace(
        _job_at(place, environ, api=api, repository_url=validate.root(page)),
        ci="GitLab CI",
        # Only set in merged results pipelines, where CI_COMMIT_SHA is the merge commit.
        commit_sha=validate.commit(
            environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), environ.get("CI_COMMIT_SHA")
        ),
        run_url=first(environ, "CI_PIPELINE_URL"),
        from_fork=from_fork,
        branch=branch,
        default_branch=default_branch,
        target_branch=validate.branch(environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")),
        source_branch=validate.branch(first(environ, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")) or branch,
        title=validate.words(environ.get("CI_MERGE_REQUEST_TITLE")),
        base_sha=validate.full_commit(first(environ, *bases, "CI_MERGE_REQUEST_DIFF_BASE_SHA")),
        is_parallel=_is_more_than_one(environ.get("CI_NODE_TOTAL")),
        in_queue=in_queue,
    )


def _bitbucket(environ: Environ) -> Job:
    url = "https://bitbucket.org"
    repository = validate.repository(environ.get("BITBUCKET_REPO_FULL_NAME"))
    number = validate.pr_number(environ.get("BITBUCKET_PR_ID"))
    build = first(environ, "BITBUCKET_BUILD_NUMBER")
    branch = validate.branch(environ.get("BITBUCKET_BRANCH"))
    return replace(
        _job_at(ForgeRepository(ForgeKind.BITBUCKET, url, repository, number), environ),
        ci="Bitbucket Pipelines",
        commit_sha=validate.commit(environ.get("BITBUCKET_COMMIT")),
        run_url=f"{url}/{repository}/pipelines/results/{build}" if repository else "",
        branch=branch,
        source_branch=branch,
        target_branch=validate.branch(environ.get("BITBUCKET_PR_DESTINATION_BRANCH")),
    )


def _circleci(environ: Environ) -> Job:
    # If a branch has several pull requests, use the first. CIRCLE_PR_NUMBER is only set for forks.
    page = first(environ, "CIRCLE_PULL_REQUEST", "CIRCLE_PULL_REQUESTS", "CI_PULL_REQUEST").partition(",")[0]
    forks_number = validate.pr_number(environ.get("CIRCLE_PR_NUMBER"))
    branch = validate.branch(environ.get("CIRCLE_BRANCH"))  # pull/12 for a pull request from a fork
    return replace(
        _job_at(_find_repository(page, first(environ, "CIRCLE_REPOSITORY_URL"), forks_number), environ),
        ci="CircleCI",
        commit_sha=validate.commit(environ.get("CIRCLE_SHA1")),
        run_url=first(environ, "CIRCLE_BUILD_URL"),
        from_fork=forks_number is not None,
        branch=branch,
        source_branch="" if forks_number is not None else branch,
        is_parallel=_is_more_than_one(environ.get("CIRCLE_NODE_TOTAL")),
    )


def _buildkite(environ: Environ) -> Job:
    place = _find_repository(
        "",
        first(environ, "BUILDKITE_REPO"),
        validate.pr_number(environ.get("BUILDKITE_PULL_REQUEST")),  # "false" without a pull request
        first(environ, "BUILDKITE_PIPELINE_PROVIDER"),
    )
    head = repository_of_remote(first(environ, "BUILDKITE_PULL_REQUEST_REPO"))
    branch = validate.branch(environ.get("BUILDKITE_BRANCH"))
    # A fork's branch may share a name with one of ours.
    of_pull_request = first(environ, "BUILDKITE_PULL_REQUEST") not in {"", "false"}
    return replace(
        _job_at(place, environ),
        ci="Buildkite",
        commit_sha=validate.commit(environ.get("BUILDKITE_COMMIT")),  # may be "HEAD"
        run_url=first(environ, "BUILDKITE_BUILD_URL"),
        from_fork=bool(head.repository) and head.repository.lower() != place.repository.lower(),
        branch="" if of_pull_request or first(environ, "BUILDKITE_TAG") else branch,
        source_branch=branch,
        default_branch=validate.branch(environ.get("BUILDKITE_PIPELINE_DEFAULT_BRANCH")),
        target_branch=validate.branch(environ.get("BUILDKITE_PULL_REQUEST_BASE_BRANCH")),
        is_parallel=_is_more_than_one(environ.get("BUILDKITE_PARALLEL_JOB_COUNT")),
    )


def _azure(environ: Environ) -> Job:
    provider = first(environ, "BUILD_REPOSITORY_PROVIDER").lower()
    number = validate.pr_number(environ.get("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"))
    built = first(environ, "BUILD_SOURCEBRANCH")
    if number is None and "github" in provider:  # PULLREQUESTID is a different number there
        number = number_in(built)
    elif number is None:
        number = validate.pr_number(environ.get("SYSTEM_PULLREQUEST_PULLREQUESTID"))
    collection = first(environ, "SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI").rstrip("/")
    project = quote(first(environ, "SYSTEM_TEAMPROJECT"), errors="replace")
    build = first(environ, "BUILD_BUILDID")
    return replace(
        _job_at(_find_repository("", first(environ, "BUILD_REPOSITORY_URI"), number, provider), environ),
        ci="Azure Pipelines",
        commit_sha=validate.commit(
            environ.get("SYSTEM_PULLREQUEST_SOURCECOMMITID"), environ.get("BUILD_SOURCEVERSION")
        ),
        run_url=f"{collection}/{project}/_build/results?buildId={build}" if project and build else "",
        from_fork=first(environ, "SYSTEM_PULLREQUEST_ISFORK").lower() == "true",
        branch=validate.branch(built) if built.startswith("refs/heads/") else "",
        source_branch=validate.branch(environ.get("SYSTEM_PULLREQUEST_SOURCEBRANCH")),
        target_branch=validate.branch(environ.get("SYSTEM_PULLREQUEST_TARGETBRANCH")),
    )


def _woodpecker(environ: Environ) -> Job:
    event = first(environ, "CI_PIPELINE_EVENT")
    is_branch = event in {"push", "cron", "manual"}
    place = ForgeRepository(
        _PROVIDERS.get(first(environ, "CI_FORGE_TYPE").lower()),
        validate.root(environ.get("CI_FORGE_URL")),
        validate.repository(environ.get("CI_REPO")),
        validate.pr_number(environ.get("CI_COMMIT_PULL_REQUEST")),
    )
    return replace(
        _job_at(place, environ),
        ci="Woodpecker",
        commit_sha=validate.commit(environ.get("CI_COMMIT_SHA")),
        run_url=first(environ, "CI_PIPELINE_URL"),
        closed=event == "pull_request_closed",
        branch=validate.branch(environ.get("CI_COMMIT_BRANCH")) if is_branch else "",
        default_branch=validate.branch(environ.get("CI_REPO_DEFAULT_BRANCH")),
        source_branch=validate.branch(environ.get("CI_COMMIT_SOURCE_BRANCH")),
        target_branch=validate.branch(environ.get("CI_COMMIT_TARGET_BRANCH")),
    )


def _jenkins(environ: Environ) -> Job:
    """Return the job of a multibranch project, or of the GitHub Pull Request Builder plugin (ghprb…)."""
    number = validate.pr_number(first(environ, "CHANGE_ID", "ghprbPullId"))
    place = _find_repository(
        first(environ, "CHANGE_URL", "ghprbPullLink"), first(environ, "GIT_URL", "GIT_URL_1"), number
    )
    head = repository_of_remote(first(environ, "ghprbAuthorRepoGitUrl"))
    branch = validate.branch(
        first(environ, "BRANCH_NAME") or first(environ, "GIT_BRANCH").removeprefix("origin/")
    )
    return replace(
        _job_at(place, environ),
        ci="Jenkins",
        # GIT_COMMIT may be a merge commit. Only the plugin names the head.
        commit_sha=validate.commit(environ.get("ghprbActualCommit"), environ.get("GIT_COMMIT")),
        run_url=first(environ, "BUILD_URL"),
        from_fork=bool(first(environ, "CHANGE_FORK"))
        or (bool(head.repository) and head.repository != place.repository),
        branch="" if first(environ, "TAG_NAME") else branch,
        default_branch=branch if first(environ, "BRANCH_IS_PRIMARY") == "true" else "",
        target_branch=validate.branch(first(environ, "CHANGE_TARGET", "ghprbTargetBranch")),
        source_branch=validate.branch(first(environ, "CHANGE_BRANCH", "ghprbSourceBranch")),
        title=validate.words(first(environ, "CHANGE_TITLE", "ghprbPullTitle")),
        author=validate.words(first(environ, "CHANGE_AUTHOR", "ghprbPullAuthorLogin")),
    )


def _is_more_than_one(count: str | None) -> bool:
    return (validate.pr_number(count) or 1) > 1  # the same check accepts any number


def _find_repository(page: str, remote: str, number: int | None, provider: str = "") -> ForgeRepository:
    """Return the pull request's location, for a CI that supports several forges.

    The pull request's web page is the best source, then git's remote, then the CI's name for the forge.
    """
    found = repository_of_pull_request(page)
    if found.kind is None:
        found = repository_of_remote(remote)
    kind = found.kind or _PROVIDERS.get(provider.lower())
    return replace(found, kind=kind, pr_number=number or found.pr_number)


_PROVIDERS = {
    "github": ForgeKind.GITHUB,
    "githubenterprise": ForgeKind.GITHUB,
    "github_enterprise": ForgeKind.GITHUB,
    "gitlab": ForgeKind.GITLAB,
    "gitlab_ee": ForgeKind.GITLAB,
    "gitea": ForgeKind.GITEA,
    "forgejo": ForgeKind.GITEA,
    "bitbucket": ForgeKind.BITBUCKET,
}
"""The names that CIs use for the forges."""

_CIS: tuple[tuple[Callable[[Environ], bool], Callable[[Environ], Job]], ...] = (
    (runs_on_gitea, _actions),
    (_is_set("GITHUB_ACTIONS"), _actions),
    (_is_set("GITLAB_CI"), _gitlab),
    (_is_set("BITBUCKET_BUILD_NUMBER"), _bitbucket),
    (_is_set("CIRCLECI"), _circleci),
    (_is_set("BUILDKITE"), _buildkite),
    (_is_set("TF_BUILD"), _azure),
    (lambda environ: first(environ, "CI") == "woodpecker", _woodpecker),
    (_is_set("JENKINS_URL"), _jenkins),
)
