"""Check what showing screenshots needs: the service, its token, git and the forge. Changes nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prshots.client.ci import detect_job
from prshots.client.ci.checkout import head_commit
from prshots.client.ci.local_checkout import find_local_checkout
from prshots.client.heads import Head
from prshots.client.service import Client
from prshots.contract.errors import PrshotsError


@dataclass(frozen=True, slots=True)
class SetupCheck:
    about: str
    ok: bool
    words: str


def check_setup(
    environ: Mapping[str, str], connect: Callable[[], Client], head: Callable[[], Head]
) -> Iterator[SetupCheck]:
    """Yield one finding per check. Never raises."""
    yield _check_service(connect)
    yield _check_git(environ)
    yield _check_pull_request(head)


def _check_service(connect: Callable[[], Client]) -> SetupCheck:
    try:
        with connect() as service:
            if service.limits() is None:
                words = (
                    f"{service.url} does not answer as a prshots service: check PRSHOTS_URL and your network"
                )
                return SetupCheck("service", ok=False, words=words)
            service.comment(1)  # any pull request will do: only the token matters
            return SetupCheck("service", ok=True, words=f"{service.url} accepts the upload token")
    except PrshotsError as error:
        return SetupCheck("service", ok=False, words=str(error))


def _check_git(environ: Mapping[str, str]) -> SetupCheck:
    if name := detect_job(environ).ci:
        return SetupCheck("git", ok=True, words=f"runs in {name}, which names the commit and the branch")
    desk = find_local_checkout(environ)
    if desk.problem or not (commit := head_commit()):
        return SetupCheck("git", ok=False, words=desk.problem or "no commit yet: commit first")
    where = desk.repository or "a repository without a remote on a forge"
    return SetupCheck("git", ok=True, words=f"branch {desk.branch} of {where}, at {commit[:7]}")


def _check_pull_request(head: Callable[[], Head]) -> SetupCheck:
    try:
        found = head()
    except PrshotsError as error:
        return SetupCheck("pull request", ok=False, words=str(error))
    if found.job.pr_number is None:
        words = f"none known, because {found.unknown}; screenshots are staged for the branch"
        return SetupCheck("pull request", ok=True, words=words)
    return SetupCheck(
        "pull request", ok=True, words=f"number {found.job.pr_number} in {found.job.repository}"
    )
