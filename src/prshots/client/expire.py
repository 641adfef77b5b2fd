"""Close a pull request: expire its screenshots, and leave no broken image in its comment and description."""

import re
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from itertools import compress

import httpx

from prshots.client.ci import Job
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

MAX_IMAGES = 50
"""How many addresses to request. Others stay as they are."""

CONCURRENT_QUESTIONS = 8
TIMEOUT_SECONDS = 2.0

_FENCED = r"^[ \t>]*(`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?![ \t>]*\1)[^\n]*)*(?:\n[^\n]*)?"
_INLINE_CODE = r"(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))*?(?<!`)\2(?!`)"
_PATH = r"/i/[0-9a-f]{32}\.[a-z0-9.]+\?exp=[0-9]+&(?:amp;)?token=[A-Za-z0-9_.-]+"
_ADDRESS = rf"""(https?://[^\s()<>"'\[\]]*{_PATH})"""
_MARKDOWN = rf"""!\[(?:\\.|\[[^\[\]\n]*\]|[^\[\]\\\n])*\]\(<?{_ADDRESS}>?(?: +"[^"\n]*")?\)"""
_HTML = rf"""<img\b[^<>]*\ssrc\s*=\s*["']{_ADDRESS}["'][^<>]*>"""
_LINKED = rf"\[{_MARKDOWN}\]\([^()\n]*\)|<a\b[^<>]*>\s*{_HTML}\s*</a>"
_PARTS = re.compile(f"{_FENCED}|{_INLINE_CODE}|{_LINKED}|{_MARKDOWN}|{_HTML}", re.MULTILINE)
"""Code, which shows no images, or an image with its link. The last group of an image is its address."""


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


def find_images(text: str) -> list[str]:
    """Return the addresses that look like images of a prshots service."""
    found = (_address_in(part) for part in _PARTS.finditer(text))
    return list(dict.fromkeys(address for address in found if "://" in address))


def replace_images(text: str, deleted: Collection[str]) -> str:
    """Return the text with words in place of these images and the links around them."""
    words = message("screenshot_deleted")
    return _PARTS.sub(lambda part: words if _address_in(part) in deleted else part[0], text)


def clean_description(forge: Forge, pr_number: int) -> tuple[int, str]:
    """Replace deleted images, which agents and people paste there. Return how many, and why it couldn't."""
    try:
        if not (deleted := _find_deleted(find_images(forge.description(pr_number))[:MAX_IMAGES])):
            return 0, ""
        text = forge.description(pr_number)  # again: somebody may have changed it
        if (cleaned := replace_images(text, deleted)) != text:
            forge.set_description(pr_number, cleaned)
    except PrshotsError as error:
        return 0, str(error)
    return len(deleted), ""


def _find_deleted(addresses: Collection[str]) -> set[str]:
    """Request each address, without a token: only the service knows which images became baselines."""

    def is_deleted(address: str) -> bool:
        with suppress(httpx.HTTPError, httpx.InvalidURL):
            return client.head(unescape(address)).status_code == httpx.codes.GONE
        return False

    with httpx.Client(timeout=TIMEOUT_SECONDS) as client, ThreadPoolExecutor(CONCURRENT_QUESTIONS) as threads:
        return set(compress(addresses, threads.map(is_deleted, addresses)))


def _address_in(part: re.Match[str]) -> str:
    return part[part.lastindex or 0]
