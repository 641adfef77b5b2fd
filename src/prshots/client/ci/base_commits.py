"""The base of a pull request: the commits of the target branch to compare it with.

The list starts where the pull request branched off, or at the commit that CI merged it with, and follows
first parents. The client deepens a shallow clone, but no further than needed. See decision 0025.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from prshots.client.ci.actions_event import QUEUE_REF
from prshots.client.ci.checkout import default_branch, full_commit
from prshots.client.ci.git import Say, commit_at, fetch, git, is_shallow, remote_name, remote_refs
from prshots.client.ci.job import Job
from prshots.contract import validate
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import MAX_BASE_COMMITS, MAX_QUEUED_PULLS
from prshots.contract.statements import message

ENOUGH_COMMITS = 50
"""The client deepens a shallow clone until the list has this many commits. By default, a branch keeps
baselines for as many."""

DEPTHS = (ENOUGH_COMMITS, 4 * ENOUGH_COMMITS, 20 * ENOUGH_COMMITS)
"""The successive depths to fetch to find where the pull request branched off."""

_QUEUES = {
    ForgeKind.GITHUB: ("refs/heads/gh-readonly-queue/*", QUEUE_REF),
    ForgeKind.GITLAB: ("refs/merge-requests/*/train", re.compile(r"refs/merge-requests/([1-9][0-9]*)/train")),
}
"""For each forge, the refs of its queues, and where such a ref has the number of its pull request."""


@dataclass(frozen=True, slots=True)
class BaseCommits:
    """The branch to compare with, and its commits, newest first. Without commits, `unknown` says why."""

    branch: str
    commits: tuple[str, ...] = ()
    unknown: str = ""


def base_of(job: Job, commit_sha: str, branch: str, say: Say) -> BaseCommits:
    """Return the base of a commit: on the given branch, else on the pull request's target. Never raises.

    Calls `say` with a sentence if git takes longer than a second or can't fetch.
    """
    target = branch or job.target_branch or default_branch(job)
    head = full_commit(commit_sha)
    start = _merge_target(head) or (job.base_sha if commit_sha == job.commit_sha else "")
    if start and (not branch or branch == job.target_branch):
        return BaseCommits(target, _history_from(start, target, say))
    if problem := git("rev-parse", "--git-dir").error:
        return BaseCommits(target, unknown=problem)
    if not head:
        return BaseCommits(target, unknown=message("commit_not_in_checkout", commit=commit_sha))
    return _commits_since_fork_point(target, head, say)


def queued_pulls(job: Job, base_commits: Collection[str], say: Say) -> list[int]:
    """Return the pull requests ahead in a merge queue: the job's screenshots also show their changes.

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


def _merge_target(head: str) -> str:
    """Return HEAD^1, the commit that CI merged the head with, or "" if HEAD isn't such a merge.

    The commit itself names its parents, even in a clone that doesn't have them.
    """
    headers = git("cat-file", "commit", "HEAD").output.partition("\n\n")[0].splitlines()
    match [validate.full_commit(line[7:]) for line in headers if line.startswith("parent ")]:
        case [onto, merged] if head and merged == head:
            return onto
    return ""


def _history_from(start: str, target: str, say: Say) -> tuple[str, ...]:
    """Return the history of a known commit, or only the commit if the remote provides no more."""
    found, shallow = _first_parents(start), is_shallow()
    if not found or (shallow and len(found) < ENOUGH_COMMITS):
        depth = ENOUGH_COMMITS if shallow else 0
        if fetch(start, depth=depth, say=say, what=target).error:
            fetch(_refspec(target), depth=depth, say=say, what=target)
        found = _first_parents(start)
    return found or (start,)


def _commits_since_fork_point(target: str, head: str, say: Say) -> BaseCommits:
    """Return the history of the commit where the head branched off the target."""
    found: tuple[str, ...] = ()
    problem = ""
    for depth in DEPTHS if is_shallow() else (0,):
        problem = _fetch_branches(target, head, depth, say)
        found = _first_parents(_merge_base(target, head))
        if problem or len(found) >= ENOUGH_COMMITS or not is_shallow():
            break
    if problem and found:
        say(message("could_not_fetch", branch=target, why=problem))
    nothing_shared = message("no_shared_commit", branch=target, commit=head[:7])
    return BaseCommits(target, found, "" if found else problem or nothing_shared)


def _fetch_branches(target: str, head: str, depth: int, say: Say) -> str:
    """Fetch the target branch, and as much of the head as is missing. Return why the first failed.

    This fetches one ref at a time, because git may deepen only one of two. The head is optional, because some
    remotes don't serve a commit by its SHA.
    """
    problem = fetch(_refspec(target), depth=depth, say=say, what=target).error
    if not problem and (depth or not commit_at(head)):
        fetch(head, depth=depth, say=say, what=head[:7])
    return problem


def _merge_base(target: str, head: str) -> str:
    tip = commit_at(_tracking(target)) or commit_at(f"refs/heads/{target}")
    return git("merge-base", "--end-of-options", tip, head).output.strip() if tip else ""


def _first_parents(start: str) -> tuple[str, ...]:
    if not start:
        return ()
    limit = f"--max-count={MAX_BASE_COMMITS}"
    listed = git("rev-list", "--first-parent", limit, "--end-of-options", start, "--")
    return tuple(listed.output.split())


def _refspec(target: str) -> str:
    return f"+refs/heads/{target}:{_tracking(target)}"


def _tracking(target: str) -> str:
    return f"refs/remotes/{remote_name() or 'origin'}/{target}"
