"""Compare a pull request's screenshots with its base, and wait for the result."""

import re
import time

from prshots.client.ci import Job
from prshots.client.ci.base_commits import base_of, queued_pulls
from prshots.client.ci.git import Say, commit_at
from prshots.client.heads import Head
from prshots.client.move_staged import move_staged
from prshots.client.replies import ComparisonReply
from prshots.client.service import Client
from prshots.contract.comments import View
from prshots.contract.errors import CallError, InvalidInputError, NotFoundError
from prshots.contract.replies import ComparisonState, Verdict
from prshots.contract.statements import called, message
from prshots.forges.deadline import current_deadline
from prshots.forges.forge_addresses import pull_request_page

WAIT_SECONDS = 10 * 60.0
POLL_SECONDS = 1.0
TELL_SECONDS = 10.0

_NEWEST_COMMIT = re.compile(r"^At `([0-9a-f]{7})` · ", re.MULTILINE)
"""The newest commit, in the comment with the newest image of each shot."""


def compare_with_base(
    service: Client, job: Job, pr_number: int, commit_sha: str, branch: str, *, complete: bool, say: Say
) -> ComparisonReply:
    """Compare with the base that git finds, on the given branch or the pull request's target, and wait.

    If git can't find it, the newest baselines are the base, and `say` gets the reason. Raises CallError if
    the result isn't there after 10 minutes or at the command's deadline, or if a run of another commit takes
    over, and the errors of the service's client.
    """
    base = base_of(job, commit_sha, branch, say)
    found = service.compare(
        pr_number,
        commit_sha=commit_sha,
        branch=base.branch,
        commits=base.commits,
        complete=complete,
        queued_pulls=queued_pulls(job, base.commits, say),
    )
    started = told = time.monotonic()
    while found.state is ComparisonState.RUNNING:
        now = time.monotonic()
        if now - started > WAIT_SECONDS or now + POLL_SECONDS > current_deadline():
            raise CallError(message("still_running", seconds=round(now - started)))
        if now - told >= TELL_SECONDS:
            told = now
            say(message("still_comparing", seconds=round(now - started)))
        time.sleep(POLL_SECONDS)
        latest = service.comparison(pr_number)
        if latest is None or latest.commit_sha != found.commit_sha:
            other = f"commit {latest.commit_sha[:7]}" if latest else "none"
            raise CallError(message("comparison_replaced", commit=commit_sha[:7], other=other))
        found = latest
    if base.unknown and found.state is not ComparisonState.NO_BASELINE:
        say(message("base_unknown", commit=commit_sha[:7], why=base.unknown, branch=base.branch))
    return found


def find_newest_commit(service: Client, head: Head, say: Say) -> str:
    """Move the branch's staged screenshots, and return the newest commit with screenshots.

    CI names the commit. On your machine, HEAD may be newer than the screenshots, or of another repository.
    Raises InvalidInputError if there are no screenshots, or if the checkout doesn't have their commit.
    """
    if words := move_staged(service, head)[1]:
        say(f"Note: {words}.")
    if head.job.commit_sha:
        return head.job.commit_sha
    number = head.pr_number
    newest = _NEWEST_COMMIT.search(service.comment(number, view=View.LATEST).markdown)
    if newest is None:
        raise InvalidInputError(
            f"pull request {number} has no screenshots yet: run {called('prshots show')} with their paths"
        )
    if found := commit_at(newest[1]):
        return found
    raise InvalidInputError(
        f"this checkout doesn't have commit {newest[1]}, the newest with screenshots of pull request "
        f"{number}: run git fetch, or use a checkout of the project's repository"
    )


def describe(service: Client, pr_number: int, job: Job) -> str:
    """Send CI's facts about the pull request to the service. Return its page on the dashboard.

    Return "" if the service rejects one of the values. Raises the errors of the service's client.
    """
    about = {
        "repository": job.repository_url,
        "url": pull_request_page(job.forge, job.repository_url, pr_number),
    }
    if pr_number == job.pr_number:
        about |= {"title": job.title, "source_branch": job.source_branch, "author": job.author}
    try:
        return service.describe(pr_number, {name: text for name, text in about.items() if text})
    except InvalidInputError:
        return ""


def view_and_page(service: Client, pr_number: int, job: Job) -> tuple[View, str]:
    """Return the comment's default view, and the pull request's page on the dashboard.

    The view is the changes if there is a comparison, otherwise the latest images. The page is empty without
    images.
    """
    if found := service.comparison(pr_number):
        return View.CHANGES, found.dashboard_url
    try:
        return View.LATEST, describe(service, pr_number, job)
    except NotFoundError:
        return View.LATEST, ""


def summary(found: ComparisonReply) -> str:
    """Return the result in one sentence."""
    match found.state:
        case ComparisonState.NO_BASELINE:
            return message("no_baselines", branch=found.branch)
        case ComparisonState.FAILED:
            return message("comparison_failed", branch=found.branch)
    base = found.branch
    if found.base_commit:
        base = message("base_at", branch=found.branch, commit=found.base_commit[:7])
    sums = [f"{count:,} {name}" for name in Verdict if (count := found.counts.get(name, 0))]
    counts = ", ".join(sums) or message("no_screenshots")
    own = message("own_before_image" if found.pairs == 1 else "own_before_images")
    if found.pairs and found.pairs == sum(found.counts.values()):
        words = message("compared_with_own", own=own, counts=counts)
    else:
        pairs = message("pairs_with_own", pairs=f"{found.pairs:,}", own=own) if found.pairs else ""
        words = message("compared", base=base, counts=counts, pairs=pairs)
    if found.state is not ComparisonState.INCOMPLETE:
        return words
    if found.pairs and not found.base_commit:
        return message("others_not_compared", summary=words, branch=found.branch)
    return message("incomplete", summary=words)
