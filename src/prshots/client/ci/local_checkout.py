"""Facts from git on your machine, where no CI describes the job: the repository, its forge, and the branch.

A branch is at `origin`, unless git is configured to push it elsewhere. Its pull requests are at `upstream` if
there is such a remote, as in a clone of your fork. Otherwise they are where the branch is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prshots.client.ci import validate
from prshots.client.ci.checkout import default_branch
from prshots.client.ci.forge_addresses import ForgeRepository, api_root, forge_token, repository_of_remote
from prshots.client.ci.git import git, remote_name
from prshots.client.ci.job import Job

UPSTREAM = "upstream"


@dataclass(frozen=True, slots=True)
class LocalCheckout:
    """A working copy. `job` describes the repository of the pull requests, as CI would.

    `repository` is the repository with the branch, which differs from the job's for a fork. `problem` is why
    no pull request can have this branch as its head, or empty if one can.
    """

    job: Job
    repository: str = ""
    is_fork: bool = False
    problem: str = ""

    @property
    def branch(self) -> str:
        return self.job.source_branch


def find_local_checkout(environ: Mapping[str, str]) -> LocalCheckout:
    """Return the working folder's checkout according to git. Never raises."""
    if problem := git("rev-parse", "--git-dir").error:
        why = "" if problem.startswith("not a git repository") else f" ({problem})"
        return LocalCheckout(Job(), problem=f"not in a git repository{why}: change to your checkout")
    branch = validate.branch(git("symbolic-ref", "--quiet", "HEAD").output)
    base, head = _repository_of(_base_remote()), _repository_of(_head_remote(branch))
    is_fork = bool(head.repository and base.repository) and _key(head) != _key(base)
    job = Job(
        forge=base.kind,
        forge_url=base.url,
        forge_api=api_root(base.kind, base.url) if base.url else "",
        repository=base.repository,
        forge_token=forge_token(base.kind, environ),
        source_branch=branch,
        repository_url=f"{base.url}/{base.repository}" if base.repository else "",
    )
    job = replace(job, default_branch=default_branch(job))
    return LocalCheckout(job, head.repository or base.repository, is_fork, _problem(job, is_fork=is_fork))


def _problem(job: Job, *, is_fork: bool) -> str:
    if not job.source_branch:
        return "HEAD is detached, so there is no branch: git switch to one, or git switch -c NAME"
    if job.source_branch == job.default_branch and not is_fork:
        return (
            f"{job.source_branch} is the default branch, which has no pull request: create a "
            "branch with git switch -c NAME"
        )
    return ""


def _base_remote() -> str:
    """Return the remote for pull requests."""
    return UPSTREAM if UPSTREAM in git("remote").output.split() else remote_name()


def _head_remote(branch: str) -> str:
    """Return the remote that has or will get the branch. It may be an address instead of a name."""
    if branch:
        for key in (f"branch.{branch}.pushRemote", "remote.pushDefault"):
            if found := git("config", "--get", key).output.strip():
                return found
        # A branch that tracks another branch, such as upstream's main, isn't pushed there.
        merged = git("config", "--get", f"branch.{branch}.merge").output.strip()
        tracked = git("config", "--get", f"branch.{branch}.remote").output.strip()
        if tracked not in {"", "."} and merged == f"refs/heads/{branch}":
            return tracked
    return remote_name() or _base_remote()


def _repository_of(remote: str) -> ForgeRepository:
    """Return the repository of a remote, given by its name or its address."""
    if not remote or remote.startswith("-"):
        return ForgeRepository()
    return repository_of_remote(git("remote", "get-url", remote).output.strip() or remote)


def _key(place: ForgeRepository) -> tuple[str, str]:
    return place.url.rpartition("://")[2].lower(), place.repository.lower()
