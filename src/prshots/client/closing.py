"""A pull request has closed: its screenshots go, and its comment says so instead of showing broken images."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from prshots.client.ci import Job
from prshots.client.comment_text import CommentText, count_in, gone
from prshots.client.forges import Comment, Forge
from prshots.client.forges.forks import refused
from prshots.client.posting import Composer
from prshots.client.service import Client, Expired
from prshots.client.sticky_comment import OurComments, Outcome, Posted, keep_current
from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError, PrshotsError
from prshots.contract.limits import Policy

PURGES_AT_ONCE = 8
LONGEST_PURGE_SECONDS = 60.0

NO_COMMENT = Posted(Outcome.NONE)


@dataclass(frozen=True, slots=True)
class Closed:
    """What became of it. `left`: how many screenshots the comment still shows, as the policy keeps them."""

    expired: Expired
    left: int
    posted: Posted = NO_COMMENT
    purged: int = 0
    not_purged: int = 0


@dataclass(frozen=True, slots=True)
class _Before:
    """What the pull request showed before its screenshots went."""

    count: int
    proxied: Sequence[str]


def close(service: Client, pr_number: int, forge: Forge, job: Job) -> Closed:
    """Expire the pull request's screenshots, rewrite its comment, and have the image proxy drop its copies.

    To do it again does no harm, and finishes what failed. Raises ForgeError when the comment could not be
    changed (the screenshots have gone by then), and what the service's calls raise.
    """
    before: _Before | PrshotsError
    try:
        before = _seen(forge, OurComments(forge, pr_number).all())  # while there is something to see
    except PrshotsError as error:
        before = error
    expired = service.expire(pr_number)
    left = CommentText.of(service.comment(pr_number)).count
    if left:
        return Closed(expired, left)
    if isinstance(before, PrshotsError):
        raise _unfinished(before, job) from before
    try:
        posted = _rewritten(Composer(service, pr_number, job), forge, before, expired)
    except PrshotsError as error:
        raise _unfinished(error, job) from error
    done = _purged(forge, before.proxied)
    return Closed(expired, left, posted, purged=done, not_purged=len(before.proxied) - done)


def _seen(forge: Forge, comments: Sequence[Comment]) -> _Before:
    proxied: list[str] = []
    for comment in comments:
        try:
            proxied += forge.proxied_images(comment.id)
        except NotFoundError:  # somebody has just removed it
            continue
    return _Before(max((count_in(comment.body) for comment in comments), default=0), proxied)


def _rewritten(composer: Composer, forge: Forge, before: _Before, expired: Expired) -> Posted:
    def text() -> str:
        comment = CommentText.of(markdown := composer.service.comment(composer.pr_number))
        if before.count and not comment.count:  # else something was uploaded meanwhile
            markdown = gone(comment.marker, before.count, because_closed=expired.policy == Policy.PR_CLOSE)
        return composer.fitted(markdown, forge)

    return keep_current(forge, composer.pr_number, text, creating=False)


def _purged(forge: Forge, addresses: Sequence[str]) -> int:
    """Return how many the image proxy has dropped, of those that there was time to ask for."""
    until = time.monotonic() + LONGEST_PURGE_SECONDS
    with ThreadPoolExecutor(PURGES_AT_ONCE) as threads:
        return sum(threads.map(lambda url: time.monotonic() < until and forge.purge(url), addresses))


def _unfinished(error: PrshotsError, job: Job) -> ForgeError:
    reason = refused(error, job) if isinstance(error, ForgeRefusedError) else error
    return ForgeError(
        f"the screenshots are deleted, but the comment could not be changed: {reason}. "
        "Run the same again to finish it"
    )
