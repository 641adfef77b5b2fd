"""Ask the forge for facts that an Actions job's event omits: its pull request, or the pull request's head."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar, cast

from prshots.client.ci import Job, Lookup
from prshots.client.job_forge import forge_of
from prshots.contract.errors import CallError, InvalidInputError, PrshotsError
from prshots.contract.statements import message
from prshots.forges.forge import ForgePullRequest, IssueForge
from prshots.forges.sender import OnWait, ignore_wait

T = TypeVar("T")


def with_pull_request(job: Job, on_wait: OnWait = ignore_wait) -> Job:
    """Return the job with its pull request, which stays None if the job isn't for one.

    Raises InvalidInputError if the forge doesn't say, and CallError if it fails.
    """
    if job.pr_number is not None or job.lookup not in {Lookup.PULL_REQUEST, Lookup.ANY_PULL_REQUEST}:
        return job
    missing = message("no_pull_request_in_event", commit=job.commit_sha[:7])
    advice = message("set_pull_request")
    sha = job.commit_sha
    found = _ask_forge(job, missing, advice, lambda forge: forge.pull_requests_with_head(sha), on_wait)
    still_open = [pull for pull in found if pull.is_open]
    if len(still_open) > 1:
        numbers = ", ".join(map(str, sorted(pull.number for pull in still_open)))
        raise InvalidInputError(message("head_of_several", missing=missing, numbers=numbers, advice=advice))
    if job.lookup is Lookup.PULL_REQUEST and not found:
        raise InvalidInputError(message("head_of_none", missing=missing, advice=advice))
    # The pull request may have been closed since the run for it started.
    pulls = still_open or (found[-1:] if job.lookup is Lookup.PULL_REQUEST else [])
    return _with_facts(job, pulls[0]) if pulls else replace(job, lookup=None)


def with_head(job: Job, pr_number: int, on_wait: OnWait = ignore_wait) -> Job:
    """Return the job with the head of its pull request. Raises InvalidInputError and CallError."""
    if job.lookup is not Lookup.HEAD:
        return job
    missing = message("no_head_in_event", number=pr_number)
    advice = message("set_commit")
    pull = _ask_forge(job, missing, advice, lambda forge: forge.pull_request(pr_number), on_wait)
    if not pull.head_sha:
        raise InvalidInputError(message("head_not_reported", missing=missing, advice=advice))
    return _with_facts(job, pull)


def _with_facts(job: Job, pull: ForgePullRequest) -> Job:
    return replace(
        job,
        pr_number=pull.number,
        commit_sha=pull.head_sha,
        target_branch=pull.target_branch,
        already_closed=not pull.is_open,
        lookup=None,
    )


def _ask_forge(
    job: Job, missing: str, advice: str, question: Callable[[IssueForge], T], on_wait: OnWait
) -> T:
    """Return the forge's answer. Only jobs on GitHub and Gitea have to ask."""
    try:
        with closing(cast("IssueForge", forge_of(job, on_wait))) as forge:
            return question(forge)
    except PrshotsError as error:
        kind = CallError if isinstance(error, CallError) else InvalidInputError
        raise kind(message("cannot_ask_forge", missing=missing, why=error, advice=advice)) from error
