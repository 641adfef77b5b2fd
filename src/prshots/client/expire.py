"""Close a pull request: expire its screenshots and rewrite its comment to leave no broken image."""

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from prshots.client.ci import Job
from prshots.client.description import clean_description
from prshots.client.job_forge import with_fork_advice
from prshots.client.post_comment import Composer, post
from prshots.client.service import Client
from prshots.contract.comments import View
from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError, PrshotsError
from prshots.contract.replies import Expired
from prshots.contract.statements import message
from prshots.forges import Comment, Forge, Merge
from prshots.forges.sticky_comment import Posted, PostOutcome, has_marker

CONCURRENT_PURGES = 8
PURGE_SECONDS = 60.0
"""How long all purges together may take."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The result of closing. `left` is the number of screenshots that the project's policy keeps."""

    expired: Expired
    left: int
    posted: Posted
    replaced: int  # in the description
    not_described: str  # why the description wasn't changed
    purged: int = 0
    not_purged: int = 0


def close(
    service: Client, pr_number: int, forge: Forge, job: Job, *, merged_as: str = "", branch: str = ""
) -> Closed:
    """Expire the pull request's screenshots, rewrite its description and comment, and purge the image proxy.

    Without `merged_as`, this asks the forge whether the pull request was merged.

    Safe to repeat: a second call finishes failed steps. Raises ForgeError if the comment couldn't be changed
    (by then the screenshots are deleted), and the errors of the service's client.
    """
    proxied: list[str] | PrshotsError
    try:
        proxied = _proxied_images(forge, forge.comments(pr_number), pr_number)  # while they have images
    except PrshotsError as error:
        proxied = error
    if not merged_as and (merge := _merge_of(forge, pr_number, job)):
        merged_as, branch = merge.commit_sha, branch or merge.branch
    expired = service.expire(pr_number, merged_as=merged_as, branch=branch)
    described = clean_description(forge, pr_number)
    if left := service.comment(pr_number, view=View.LATEST).count:  # View.ALL counts only uploads
        return Closed(expired, left, Posted(PostOutcome.NONE), *described)
    if isinstance(proxied, PrshotsError):
        raise _unfinished_error(proxied, job) from proxied
    composer = Composer(service, pr_number, job, view=View.LATEST)
    try:
        posted = post(forge, composer, creates=False)
    except PrshotsError as error:
        raise _unfinished_error(error, job) from error
    purged = _purge(forge, proxied)
    return Closed(expired, left, posted, *described, purged=purged, not_purged=len(proxied) - purged)


def _merge_of(forge: Forge, pr_number: int, job: Job) -> Merge | None:
    """Ask the forge how the pull request was merged, unless the job's event already covers its end."""
    if job.closed and pr_number == job.pr_number:
        return None
    try:
        return forge.merge_of(pr_number)
    except PrshotsError:  # the screenshots are deleted anyway
        return None


def _proxied_images(forge: Forge, comments: Iterable[Comment], pr_number: int) -> list[str]:
    """Return the image proxy's addresses of all projects' comments: it fetches what remains again."""
    marker, proxied = forge.marker(pr_number), list[str]()
    for comment in comments:
        if comment.by_stranger or not has_marker(comment, marker):
            continue
        try:
            proxied += forge.proxied_images(comment.id)
        except NotFoundError:  # someone has just deleted it
            continue
    return proxied


def _purge(forge: Forge, addresses: Sequence[str]) -> int:
    """Purge images until the time is up. Return how many the proxy dropped."""
    until = time.monotonic() + PURGE_SECONDS
    with ThreadPoolExecutor(CONCURRENT_PURGES) as threads:
        return sum(threads.map(lambda url: time.monotonic() < until and forge.purge(url), addresses))


def _unfinished_error(error: PrshotsError, job: Job) -> ForgeError:
    reason = with_fork_advice(error, job) if isinstance(error, ForgeRefusedError) else error
    return ForgeError(message("comment_not_changed", why=reason))
