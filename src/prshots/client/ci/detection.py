"""The environment variables of each CI, and what they say about the pull request."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from prshots.client.ci import validate
from prshots.client.ci.actions_event import event_of, number_in
from prshots.client.ci.forge_addresses import (
    Place,
    api_root,
    forge_token,
    place_of_pull_request,
    place_of_remote,
    runs_on_gitea,
)
from prshots.client.ci.job import ForgeKind, Job, Lookup
from prshots.client.ci.validate import first

Environ = Mapping[str, str]


def detected(environ: Environ) -> Job:
    """Return the job that the environment describes; an empty one outside of a supported CI. Never raises."""
    return next((job_of(environ) for is_it, job_of in _CIS if is_it(environ)), Job())


def _is_set(name: str) -> Callable[[Environ], bool]:
    return lambda environ: validate.is_on(environ, name)


def _job(
    ci: str,
    environ: Environ,
    place: Place,
    *,
    commit_sha: str,
    run_url: str = "",
    api: str = "",
    closed: bool = False,
    from_fork: bool = False,
    lookup: Lookup | None = None,
) -> Job:
    return Job(
        ci=ci,
        pr_number=place.pr_number,
        commit_sha=commit_sha,
        closed=closed and place.pr_number is not None,
        from_fork=from_fork and place.pr_number is not None,
        forge=place.kind,
        forge_url=place.url,
        forge_api=validate.root(api) or (api_root(place.kind, place.url) if place.url else ""),
        repository=place.repository,
        forge_token=forge_token(place.kind, environ),
        run_url=validate.address(run_url),
        lookup=lookup,
    )


def _actions(environ: Environ) -> Job:
    """GitHub Actions. Gitea and Forgejo set the same variables."""
    on_gitea = runs_on_gitea(environ)
    event = event_of(environ)
    url = validate.root(environ.get("GITHUB_SERVER_URL"))
    repository = validate.repository(environ.get("GITHUB_REPOSITORY"))
    # Gitea's run pages use the run number of the repository.
    run = first(environ, "GITHUB_RUN_NUMBER" if on_gitea else "GITHUB_RUN_ID")
    return _job(
        "Gitea Actions" if on_gitea else "GitHub Actions",
        environ,
        Place(ForgeKind.GITEA if on_gitea else ForgeKind.GITHUB, url, repository, event.pr_number),
        api=first(environ, "GITHUB_API_URL"),
        commit_sha=event.commit_sha,
        run_url=f"{url}/{repository}/actions/runs/{run}" if url and repository and run else "",
        closed=event.closed,
        from_fork=event.from_fork,
        lookup=event.lookup,
    )


def _gitlab(environ: Environ) -> Job:
    own = validate.repository(environ.get("CI_PROJECT_ID"))
    target = validate.repository(environ.get("CI_MERGE_REQUEST_PROJECT_ID"))
    number = validate.pr_number(environ.get("CI_MERGE_REQUEST_IID"))
    source = first(environ, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    from_fork = bool(target and source) and source != target
    if number is None:  # a branch pipeline lists its open merge requests, as group/app!12,…
        path, _, iid = first(environ, "CI_OPEN_MERGE_REQUESTS").partition(",")[0].rpartition("!")
        number = validate.pr_number(iid)
        from_fork = bool(path) and path != first(environ, "CI_PROJECT_PATH")
        target = validate.repository(path) if from_fork else ""
    return _job(
        "GitLab CI",
        environ,
        # A fork's merge request is in the target project.
        Place(ForgeKind.GITLAB, validate.root(environ.get("CI_SERVER_URL")), target or own, number),
        api=first(environ, "CI_API_V4_URL"),
        # Set only in merged results pipelines, where CI_COMMIT_SHA is the merge commit.
        commit_sha=validate.commit(
            environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), environ.get("CI_COMMIT_SHA")
        ),
        run_url=first(environ, "CI_PIPELINE_URL"),
        from_fork=from_fork,
    )


def _bitbucket(environ: Environ) -> Job:
    url = "https://bitbucket.org"
    repository = validate.repository(environ.get("BITBUCKET_REPO_FULL_NAME"))
    number = validate.pr_number(environ.get("BITBUCKET_PR_ID"))
    build = first(environ, "BITBUCKET_BUILD_NUMBER")
    return _job(
        "Bitbucket Pipelines",
        environ,
        Place(ForgeKind.BITBUCKET, url, repository, number),
        commit_sha=validate.commit(environ.get("BITBUCKET_COMMIT")),
        run_url=f"{url}/{repository}/pipelines/results/{build}" if repository else "",
    )


def _circleci(environ: Environ) -> Job:
    # If a branch has several pull requests, use the first. CIRCLE_PR_NUMBER is set only for forks.
    page = first(environ, "CIRCLE_PULL_REQUEST", "CIRCLE_PULL_REQUESTS", "CI_PULL_REQUEST").partition(",")[0]
    forks_number = validate.pr_number(environ.get("CIRCLE_PR_NUMBER"))
    return _job(
        "CircleCI",
        environ,
        _place(page, first(environ, "CIRCLE_REPOSITORY_URL"), forks_number),
        commit_sha=validate.commit(environ.get("CIRCLE_SHA1")),
        run_url=first(environ, "CIRCLE_BUILD_URL"),
        from_fork=forks_number is not None,
    )


def _buildkite(environ: Environ) -> Job:
    place = _place(
        "",
        first(environ, "BUILDKITE_REPO"),
        validate.pr_number(environ.get("BUILDKITE_PULL_REQUEST")),  # "false" if there is none
        first(environ, "BUILDKITE_PIPELINE_PROVIDER"),
    )
    head = place_of_remote(first(environ, "BUILDKITE_PULL_REQUEST_REPO"))
    return _job(
        "Buildkite",
        environ,
        place,
        commit_sha=validate.commit(environ.get("BUILDKITE_COMMIT")),  # may be "HEAD"
        run_url=first(environ, "BUILDKITE_BUILD_URL"),
        from_fork=bool(head.repository) and head.repository.lower() != place.repository.lower(),
    )


def _azure(environ: Environ) -> Job:
    provider = first(environ, "BUILD_REPOSITORY_PROVIDER").lower()
    number = validate.pr_number(environ.get("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"))
    if number is None and "github" in provider:  # PULLREQUESTID is a different number there
        number = number_in(first(environ, "BUILD_SOURCEBRANCH"))
    elif number is None:
        number = validate.pr_number(environ.get("SYSTEM_PULLREQUEST_PULLREQUESTID"))
    collection = first(environ, "SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI").rstrip("/")
    project = quote(first(environ, "SYSTEM_TEAMPROJECT"), errors="replace")
    build = first(environ, "BUILD_BUILDID")
    return _job(
        "Azure Pipelines",
        environ,
        _place("", first(environ, "BUILD_REPOSITORY_URI"), number, provider),
        commit_sha=validate.commit(
            environ.get("SYSTEM_PULLREQUEST_SOURCECOMMITID"), environ.get("BUILD_SOURCEVERSION")
        ),
        run_url=f"{collection}/{project}/_build/results?buildId={build}" if project and build else "",
        from_fork=first(environ, "SYSTEM_PULLREQUEST_ISFORK").lower() == "true",
    )


def _woodpecker(environ: Environ) -> Job:
    url = validate.root(environ.get("CI_FORGE_URL"))
    return _job(
        "Woodpecker",
        environ,
        Place(
            _PROVIDERS.get(first(environ, "CI_FORGE_TYPE").lower()),
            url,
            validate.repository(environ.get("CI_REPO")),
            validate.pr_number(environ.get("CI_COMMIT_PULL_REQUEST")),
        ),
        commit_sha=validate.commit(environ.get("CI_COMMIT_SHA")),
        run_url=first(environ, "CI_PIPELINE_URL"),
        closed=first(environ, "CI_PIPELINE_EVENT") == "pull_request_closed",
    )


def _jenkins(environ: Environ) -> Job:
    """Return the job of a multibranch project, or of the GitHub Pull Request Builder plugin (ghprb…)."""
    number = validate.pr_number(first(environ, "CHANGE_ID", "ghprbPullId"))
    place = _place(
        first(environ, "CHANGE_URL", "ghprbPullLink"), first(environ, "GIT_URL", "GIT_URL_1"), number
    )
    head = place_of_remote(first(environ, "ghprbAuthorRepoGitUrl"))
    return _job(
        "Jenkins",
        environ,
        place,
        # GIT_COMMIT may be a merge commit. Only the plugin names the head.
        commit_sha=validate.commit(environ.get("ghprbActualCommit"), environ.get("GIT_COMMIT")),
        run_url=first(environ, "BUILD_URL"),
        from_fork=bool(first(environ, "CHANGE_FORK"))
        or (bool(head.repository) and head.repository != place.repository),
    )


def _place(page: str, remote: str, number: int | None, provider: str = "") -> Place:
    """Return where the pull request is, for a CI that supports several forges.

    The pull request's web page is the best source, then git's remote, then the CI's name for the forge.
    """
    found = place_of_pull_request(page)
    if found.kind is None:
        found = place_of_remote(remote)
    kind = found.kind or _PROVIDERS.get(provider.lower())
    return Place(kind, found.url, found.repository, number or found.pr_number)


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
