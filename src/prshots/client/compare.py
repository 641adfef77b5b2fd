"""Compare a pull request's screenshots with its base, and wait for the result."""

import time
from collections.abc import Callable

from prshots.client.ci import Job
from prshots.client.ci.base_commits import BaseCommits, base_of
from prshots.client.ci.forge_addresses import pull_request_page
from prshots.client.replies import ComparisonReply
from prshots.client.service import Client
from prshots.contract.comments import View
from prshots.contract.errors import CallError, InvalidInputError, ServiceTooOldError
from prshots.contract.replies import ComparisonState, Verdict

WAIT_SECONDS = 10 * 60.0
POLL_SECONDS = 1.0
TELL_SECONDS = 10.0

Say = Callable[[str], None]


def compare_and_wait(
    service: Client, pr_number: int, commit_sha: str, base: BaseCommits, *, complete: bool, say: Say
) -> ComparisonReply:
    """Compare, and wait until the result is final.

    Raises CallError if it takes longer than 10 minutes, or if a run of another commit takes over; also
    ServiceTooOldError, and the errors of the service's client.
    """
    found = service.compare(
        pr_number, commit_sha=commit_sha, branch=base.branch, commits=base.commits, complete=complete
    )
    started = told = time.monotonic()
    while found.state is ComparisonState.RUNNING:
        now = time.monotonic()
        if now - started > WAIT_SECONDS:
            minutes = f"{WAIT_SECONDS / 60:.0f} minutes"
            raise CallError(f"the comparison still runs after {minutes}: run prshots compare again")
        if now - told >= TELL_SECONDS:
            told = now
            say(f"Still comparing after {now - started:.0f} s …")
        time.sleep(POLL_SECONDS)
        latest = service.comparison(pr_number)
        if latest is None or latest.commit_sha != found.commit_sha:
            other = f"commit {latest.commit_sha[:7]}" if latest else "none"
            raise CallError(f"the comparison of {commit_sha[:7]} was replaced: the latest is of {other}")
        found = latest
    return found


def compare_with_base(
    service: Client, job: Job, pr_number: int, commit_sha: str, branch: str, *, complete: bool, say: Say
) -> ComparisonReply:
    """Compare with the base that git finds, on the given branch or the pull request's target.

    If git cannot find it, the newest baselines are the base, and `say` gets the reason. Raises what
    `compare_and_wait` raises.
    """
    base = base_of(job, commit_sha, branch, say)
    found = compare_and_wait(service, pr_number, commit_sha, base, complete=complete, say=say)
    if base.unknown and found.state is not ComparisonState.NO_BASELINE:
        say(
            f"Note: git does not know the base of {commit_sha[:7]}: {base.unknown}. So the newest baselines "
            f"of {base.branch} were compared."
        )
    return found


def describe(service: Client, pr_number: int, job: Job) -> str:
    """Tell the service what CI knows about the pull request. Return its page on the dashboard.

    A text that the service does not accept is no reason to fail: then return an empty text. Raises
    ServiceTooOldError, and the errors of the service's client.
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
    """Return what the comment shows by default, and the pull request's page on the dashboard.

    The changes if there is a comparison, otherwise the latest images. The page is empty without images, or if
    the service is too old.
    """
    if found := service.comparison(pr_number):
        return View.CHANGES, found.dashboard_url
    try:
        return View.LATEST, describe(service, pr_number, job)
    except ServiceTooOldError:
        return View.LATEST, ""


def summary(found: ComparisonReply) -> str:
    """Return the result in one sentence."""
    match found.state:
        case ComparisonState.NO_BASELINE:
            return (
                f"Nothing to compare with: {found.branch} has no baselines yet. Run prshots upload on "
                f"{found.branch} to create them."
            )
        case ComparisonState.FAILED:
            return f"The comparison with {found.branch} failed. Run prshots compare again."
    at = f" at {found.base_commit[:7]}" if found.base_commit else ""
    sums = [f"{count:,} {name}" for name in Verdict if (count := found.counts.get(name, 0))]
    words = ", ".join(sums) or "no screenshots"
    own_before = f"{'its' if found.pairs == 1 else 'their'} own before"
    if found.pairs and found.pairs == sum(found.counts.values()):
        words = f"Compared with {own_before}: {words}."
    elif found.pairs:
        words = f"Compared with {found.branch}{at}: {words} ({found.pairs:,} with {own_before})."
    else:
        words = f"Compared with {found.branch}{at}: {words}."
    if found.state is not ComparisonState.INCOMPLETE:
        return words
    if found.pairs and not found.base_commit:
        return f"{words} The other screenshots are not compared: {found.branch} has no baselines yet."
    return f"{words} Some screenshots of the base are missing in this run: see prshots compare --complete."
