"""The pull requests ahead of a job's own in a merge queue: its screenshots also show their changes."""

import re
from collections.abc import Collection

from prshots.client.ci.actions_event import QUEUE_REF
from prshots.client.ci.git import Say, remote_refs
from prshots.client.ci.job import Job
from prshots.contract import validate
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import MAX_QUEUED_PULLS
from prshots.contract.statements import message

_QUEUES = {
    ForgeKind.GITHUB: ("refs/heads/gh-readonly-queue/*", QUEUE_REF),
    ForgeKind.GITLAB: ("refs/merge-requests/*/train", re.compile(r"refs/merge-requests/([1-9][0-9]*)/train")),
}
"""For each forge, the refs of its queues, and where such a ref has the number of its pull request."""


def queued_pulls(job: Job, base_commits: Collection[str], say: Say) -> list[int]:
    """Return the pull requests whose queued commits are in the base. Empty unless the job is in a queue.

    Never raises: calls `say` if git can't list the queue.
    """
    if not job.in_queue or job.forge not in _QUEUES:
        return []
    pattern, form = _QUEUES[job.forge]
    listed = remote_refs(pattern)
    if listed.error:
        say(message("queue_unknown", why=listed.error))
    numbers = {
        validate.pr_number(found[1])
        for commit, _, ref in (line.partition("\t") for line in listed.output.splitlines())
        if commit in base_commits and (found := form.fullmatch(ref))
    }
    return sorted(filter(None, numbers - {job.pr_number}))[-MAX_QUEUED_PULLS:]
