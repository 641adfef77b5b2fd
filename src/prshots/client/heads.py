"""The pull request of the checked-out branch, and the branch of a pull request."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from prshots.client.ci import Job, detect_job
from prshots.client.ci.checkout import default_branch
from prshots.client.ci.git import git, remote_name
from prshots.client.job_forge import forge_of, why_no_token
from prshots.client.lookup import with_pull_request
from prshots.contract import validate
from prshots.contract.errors import InvalidInputError, PrshotsError
from prshots.contract.statements import called, message
from prshots.forges import Forge, ForgePullRequest
from prshots.forges.forge_addresses import ForgeRepository, api_root, forge_token, repository_of_remote
from prshots.forges.sender import OnWait, ignore_wait

# Facts from git on your machine, where no CI describes the job: the repository, its forge, and the branch. A
# branch is at `origin`, unless git is configured to push it elsewhere. Its pull requests are at `upstream` if
# there is such a remote, as in a clone of your fork. Otherwise they are where the branch is.

UPSTREAM = "upstream"


@dataclass(frozen=True, slots=True)
class Head:
    """The branch of an existing or future pull request. `job` has the pull request, if it is known.

    `repository` has the branch: the project's own, or another one with `from_fork`. `unknown` is why the pull
    request isn't known. `unsure` is why the forge couldn't be asked whether the branch belongs to it.
    """

    job: Job
    branch: str
    repository: str = ""
    from_fork: bool = False
    unknown: str = ""
    unsure: str = ""

    @property
    def pr_number(self) -> int:
        """The pull request's number. Raises InvalidInputError if it isn't known."""
        if self.job.pr_number is None:
            raise InvalidInputError(message("no_pull_request", why=self.unknown))
        return self.job.pr_number


def find_local_checkout(environ: Mapping[str, str]) -> Head:
    """Return the working folder's head according to git. Its job describes the repository, as CI would.

    `unknown` is why no pull request can have this head, or empty if one can. Never raises.
    """
    if problem := git("rev-parse", "--git-dir").error:
        why = "" if problem.startswith("not a git repository") else f" ({problem})"
        return Head(Job(), "", unknown=f"not in a git repository{why}: change to your checkout")
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
        is_forge_guessed=True,
    )
    job = replace(job, default_branch=default_branch(job))
    return Head(job, branch, head.repository or base.repository, is_fork, _problem(job, is_fork=is_fork))


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
    return repository_of_remote(git("remote", "get-url", "--end-of-options", remote).output.strip() or remote)


def _key(place: ForgeRepository) -> tuple[str, str]:
    return place.url.rpartition("://")[2].lower(), place.repository.lower()


def current_head(
    environ: Mapping[str, str],
    pr: int | None,
    with_options: Callable[[Job], Job] = lambda job: job,
    on_wait: OnWait = ignore_wait,
) -> Head:
    """Return the head from CI, or on your machine from git and the forge. Raises InvalidInputError.

    `with_options` replaces detected values with the user's.
    """
    job = detect_job(environ)
    if job.ci:
        return head_in_ci(with_options(job), pr, on_wait)
    checkout = find_local_checkout(environ)
    return _head_of_checkout(_with_job(checkout, with_options(checkout.job)), pr, on_wait)


def _with_job(checkout: Head, job: Job) -> Head:
    """Return the checkout with another job.

    Its branch stays in its repository, which may be a fork of the job's.
    """
    if job.repository == checkout.job.repository:
        return replace(checkout, job=job)
    return replace(
        checkout,
        job=replace(job, repository_url=""),
        repository=checkout.repository or job.repository,
        from_fork="/" in job.repository and checkout.repository.lower() not in {"", job.repository.lower()},
    )


def head_in_ci(job: Job, pr: int | None, on_wait: OnWait = ignore_wait) -> Head:
    """Return the head from CI. Raises InvalidInputError if neither CI nor the forge names one."""
    if pr is not None and pr != job.pr_number:  # CI describes another pull request
        other = replace(job, pr_number=pr, closed=False, already_closed=False)
        return Head(replace(other, title="", author="", source_branch="", pr_url=""), "")
    job = with_pull_request(job, on_wait)
    repository = (
        job.repository if "/" in job.repository else repository_of_remote(job.repository_url).repository
    )
    if job.pr_number is None and job.branch in {"", job.default_branch}:
        where = f"for {job.branch}" if job.branch else "for no branch"
        raise InvalidInputError(f"no pull request: this {job.ci} job runs {where}. Use {called('--pr')}")
    if job.pr_number is None:
        return Head(job, job.branch, repository, unknown=f"this {job.ci} job isn't for a pull request")
    return Head(job, job.source_branch, repository, job.from_fork)


def _head_of_checkout(checkout: Head, pr: int | None, on_wait: OnWait) -> Head:
    """Return the head according to git and the forge.

    Without a pull request, `unknown` says why. Raises InvalidInputError if there is no branch either, or if
    the branch has several pull requests.
    """
    if pr is None and checkout.unknown:
        raise InvalidInputError(f"no pull request: {checkout.unknown}. Or use {called('--pr')}")
    known = replace(checkout, job=replace(checkout.job, pr_number=pr), unknown="")
    reason = _why_not_ask_forge(checkout.job)
    if not reason:
        try:
            with closing(forge_of(checkout.job, on_wait)) as forge:
                return _ask_forge(forge, known)
        except InvalidInputError:
            raise
        except PrshotsError as error:
            reason = f"the forge cannot be asked: {error}"
    if pr is None:
        return replace(known, unknown=reason, unsure=reason)
    return replace(known, job=replace(known.job, source_branch=""), unsure=reason)


def _ask_forge(forge: Forge, known: Head) -> Head:
    if known.job.pr_number is not None:
        return _with_pull_request(forge.pull_request(known.job.pr_number), known)
    found = forge.open_from(known.branch, known.repository if known.from_fork else "")
    if len(found) > 1:
        numbers = ", ".join(str(pull.number) for pull in sorted(found, key=lambda pull: pull.number))
        several = f"{known.branch} is the head of several pull requests: {numbers}"
        raise InvalidInputError(f"{several}. Use {called('--pr')}")
    if not found:
        where = known.job.repository or forge.label
        return replace(known, unknown=f"{where} has no open pull request from {known.branch}")
    return _with_pull_request(found[0], known)


def _with_pull_request(pull: ForgePullRequest, known: Head) -> Head:
    job = replace(
        known.job,
        pr_number=pull.number,
        already_closed=not pull.is_open,
        target_branch=pull.target_branch,
        source_branch=pull.branch,
        title=pull.title,
        author=pull.author,
        pr_url=pull.url,
    )
    same = "" if pull.from_fork else known.job.repository  # GitLab doesn't name it
    return Head(job, pull.branch, pull.repository or same, pull.from_fork)


def _why_not_ask_forge(job: Job) -> str:
    """Return why the forge can't be asked, or "" if it can."""
    if not job.repository:
        return f"no git remote points to a forge: use {called('--repository')}, such as owner/name"
    if job.forge is None:
        where, options = job.forge_url or "the remote", f"{called('--forge')} and {called('--forge-url')}"
        return f"{where} is an unknown kind of forge: use {options}"
    if not job.forge_token:
        return f"there is no token for {job.forge}: set PRSHOTS_FORGE_TOKEN"
    return why_no_token(job)
