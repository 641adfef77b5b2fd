"""The event file of GitHub, Gitea and Forgejo Actions.

The variables alone are misleading: for a pull request, they name a trial merge commit or the base branch.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from prshots.client.ci.job import Job, Lookup
from prshots.contract import validate

MAX_BYTES = 32 * 1024**2
"""GitHub sends at most 25 MB."""

_WITH_THE_BASES_COMMIT = {"check_run", "check_suite", "issue_comment", "pull_request_target", "workflow_run"}
"""Events whose GITHUB_SHA is on the base branch, not on the pull request."""

_OF_A_BRANCH = {"push", "schedule", "workflow_dispatch"}
"""Events that build GITHUB_REF itself. For others, GITHUB_REF is the default branch, but they build something
else."""

QUEUE_REF = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-([1-9][0-9]*)-[0-9a-f]{40}")
"""The branch of a pull request in GitHub's merge queue."""


def job_of_event(environ: Mapping[str, str]) -> Job:
    """Return the job of the event file. Missing values come from the variables. The forge is left out.

    The content identifies the event, because in a reusable workflow, Gitea names every event `workflow_call`.
    """
    said = _read(validate.first(environ, "GITHUB_EVENT_PATH"))
    job = _job_of(environ, said)
    return replace(job, default_branch=validate.branch(_part(said, "repository").get("default_branch")))


def _job_of(environ: Mapping[str, str], said: Mapping[str, Any]) -> Job:
    name = validate.first(environ, "GITHUB_EVENT_NAME")
    ref = validate.first(environ, "GITHUB_REF")
    built = "" if name in _WITH_THE_BASES_COMMIT else validate.commit(environ.get("GITHUB_SHA"))
    if pull := _part(said, "pull_request"):
        number = validate.pr_number(pull.get("number")) or number_in(ref)
        return _of_pull_request(number, pull, built, closed=said.get("action") == "closed")
    if group := _part(said, "merge_group"):
        return _of_merge_group(group, ref, built)
    if deployment := _part(said, "deployment"):  # before workflow_run, which the event also has
        return _of_deployment(said, deployment, ref, built)
    for part in ("workflow_run", "check_suite", "check_run"):
        if run := _part(said, part):
            return _of_run(said, run)
    issue = _part(said, "issue")
    if _part(issue, "pull_request"):  # a comment on a pull request: the event doesn't name the commit
        number = validate.pr_number(issue.get("number"))
        lookup = Lookup.HEAD if number is not None else None
        return Job(pr_number=number, already_closed=issue.get("state") == "closed", lookup=lookup)
    is_push = name in _OF_A_BRANCH or (name == "workflow_call" and "after" in said)
    return Job(
        pr_number=number_in(ref),
        commit_sha=built,
        branch=validate.branch(ref) if is_push and ref.startswith("refs/heads/") else "",
        target_branch=validate.branch(environ.get("GITHUB_BASE_REF")),
        source_branch=validate.branch(environ.get("GITHUB_HEAD_REF")),
    )


def _of_pull_request(number: int | None, pull: Mapping[str, Any], built: str, *, closed: bool) -> Job:
    head, base = _part(pull, "head"), _part(pull, "base")
    is_merged = closed and pull.get("merged") is True
    return Job(
        pr_number=number,
        commit_sha=validate.commit(head.get("sha"), built),
        closed=closed,
        already_closed=not closed and pull.get("state") == "closed",
        from_fork=_is_fork(_part(head, "repo"), _part(base, "repo")),
        target_branch=validate.branch(base.get("ref")),
        source_branch=validate.branch(head.get("ref")),
        title=validate.words(pull.get("title")),
        author=validate.words(_part(pull, "user").get("login")),
        merged_as=validate.full_commit(pull.get("merge_commit_sha")) if is_merged else "",
    )


def _of_merge_group(group: Mapping[str, Any], ref: str, built: str) -> Job:
    number = number_in(ref)
    return Job(
        pr_number=number,
        commit_sha=validate.commit(group.get("head_sha"), built),
        target_branch=validate.branch(group.get("base_ref")),
        base_sha=validate.full_commit(group.get("base_sha")),
        in_queue=number is not None,
    )


def _of_run(said: Mapping[str, Any], run: Mapping[str, Any]) -> Job:
    """Return the job of a workflow run, a check suite or a check run.

    GitHub lists every pull request with this head, including those of other repositories.
    """
    sha = validate.commit(run.get("head_sha"))
    number, target_branch = _own_pull_request(said, run, sha)
    started_by = run.get("event")
    lookup = None
    if number is None and sha:
        if isinstance(started_by, str) and started_by.startswith("pull_request"):
            lookup = Lookup.PULL_REQUEST
        elif started_by is None or run.get("pull_requests"):
            lookup = Lookup.ANY_PULL_REQUEST
    is_fork = _is_fork(_part(run, "head_repository"), _part(said, "repository"))
    is_push = started_by == "push" and not is_fork
    return Job(
        pr_number=number,
        commit_sha=sha,
        from_fork="head_repository" in run and is_fork,
        lookup=lookup,
        branch=validate.branch(run.get("head_branch")) if is_push else "",
        target_branch=target_branch,
        has_failed=run.get("conclusion") not in (None, "success"),
    )


def _of_deployment(said: Mapping[str, Any], deployment: Mapping[str, Any], ref: str, built: str) -> Job:
    sha = validate.commit(deployment.get("sha"), built)
    named = deployment.get("ref")
    number = number_in(ref) or number_in(named if isinstance(named, str) else "")
    target_branch, run = "", _part(said, "workflow_run")
    if number is None and validate.commit(run.get("head_sha")) == sha:
        number, target_branch = _own_pull_request(said, run, sha)
    lookup = None if number is not None or not sha else Lookup.ANY_PULL_REQUEST
    return Job(pr_number=number, commit_sha=sha, lookup=lookup, target_branch=target_branch)


def _own_pull_request(said: Mapping[str, Any], run: Mapping[str, Any], sha: str) -> tuple[int | None, str]:
    """Return the only pull request in this repository with this head, or None, and its target branch."""
    listed = run.get("pull_requests")
    own = _part(said, "repository").get("id")
    found = {
        (validate.pr_number(pull.get("number")), validate.branch(_part(pull, "base").get("ref")))
        for pull in (listed if isinstance(listed, list) else ())
        if isinstance(pull, dict)
        and own is not None
        and _part(_part(pull, "base"), "repo").get("id") == own
        and validate.commit(_part(pull, "head").get("sha")) == sha
    }
    return found.pop() if len(found) == 1 and sha else (None, "")


def _read(path: str) -> dict[str, Any]:
    try:
        if not path or not Path(path).is_file():
            return {}
        with Path(path).open("rb") as file:
            read = file.read(MAX_BYTES + 1)
        said = json.loads(read) if len(read) <= MAX_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _part(of: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = of.get(name)
    return found if isinstance(found, dict) else {}


def _is_fork(head: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """Return whether the pull request comes from another repository, even a deleted one."""
    return head.get("full_name") != base.get("full_name")


def number_in(ref: str) -> int | None:
    """Return the number from a ref such as refs/pull/12/merge, or from that of a merge queue."""
    if found := QUEUE_REF.fullmatch(ref):
        return validate.pr_number(found[1])
    return validate.pr_number(ref.split("/")[2]) if ref.startswith("refs/pull/") else None
