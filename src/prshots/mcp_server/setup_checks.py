"""Check what showing screenshots needs: the service, its token, git and the forge. Changes nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prshots.client.ci import detected
from prshots.client.ci.checkout import checked_out
from prshots.client.ci.local_checkout import at_desk
from prshots.client.heads import Head
from prshots.client.service import Client
from prshots.contract.errors import PrshotsError


@dataclass(frozen=True, slots=True)
class Finding:
    about: str
    ok: bool
    words: str


def findings(
    environ: Mapping[str, str], connect: Callable[[], Client], head: Callable[[], Head]
) -> Iterator[Finding]:
    """Yield one finding per check. Never raises."""
    yield _of_service(connect)
    yield _of_git(environ)
    yield _of_pull_request(head)


def _of_service(connect: Callable[[], Client]) -> Finding:
    try:
        with connect() as service:
            if service.limits() is None:
                words = (
                    f"{service.url} does not answer as a prshots service: check PRSHOTS_URL and your network"
                )
                return Finding("service", ok=False, words=words)
            service.comment(1)  # any pull request will do: only the token matters
            return Finding("service", ok=True, words=f"{service.url} accepts the upload token")
    except PrshotsError as error:
        return Finding("service", ok=False, words=str(error))


def _of_git(environ: Mapping[str, str]) -> Finding:
    if name := detected(environ).ci:
        return Finding("git", ok=True, words=f"runs in {name}, which names the commit and the branch")
    desk = at_desk(environ)
    if desk.problem or not (commit := checked_out()):
        return Finding("git", ok=False, words=desk.problem or "no commit yet: commit first")
    where = desk.repository or "a repository without a remote on a forge"
    return Finding("git", ok=True, words=f"branch {desk.branch} of {where}, at {commit[:7]}")


def _of_pull_request(head: Callable[[], Head]) -> Finding:
    try:
        found = head()
    except PrshotsError as error:
        return Finding("pull request", ok=False, words=str(error))
    if found.job.pr_number is None:
        words = f"none known, because {found.unknown}; screenshots are staged for the branch"
        return Finding("pull request", ok=True, words=words)
    return Finding("pull request", ok=True, words=f"number {found.job.pr_number} in {found.job.repository}")
