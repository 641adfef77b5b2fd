"""The event file of GitHub, Gitea and Forgejo Actions.

The variables alone are misleading: for a pull request they name a trial merge commit, or the base branch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prshots.client.ci import validate

MAX_BYTES = 32 * 1024**2
"""GitHub sends at most 25 MB."""

_WITH_THE_BASES_COMMIT = {"issue_comment", "pull_request_target", "workflow_run"}
"""Events whose GITHUB_SHA is on the base branch, not on the pull request."""


@dataclass(frozen=True, slots=True)
class Event:
    pr_number: int | None = None
    commit_sha: str = ""
    closed: bool = False
    from_fork: bool = False


def event_of(environ: Mapping[str, str]) -> Event:
    """Read the event file. Where it has no value, use the variables."""
    name = validate.first(environ, "GITHUB_EVENT_NAME")
    said = _read(validate.first(environ, "GITHUB_EVENT_PATH"))
    ref = validate.first(environ, "GITHUB_REF")
    built = "" if name in _WITH_THE_BASES_COMMIT else validate.commit(environ.get("GITHUB_SHA"))
    if pull := _part(said, "pull_request"):
        head, base = _part(pull, "head"), _part(pull, "base")
        return Event(
            pr_number=validate.pr_number(pull.get("number")) or number_in(ref),
            commit_sha=validate.commit(head.get("sha"), built),
            closed=name.startswith("pull_request") and said.get("action") == "closed",
            from_fork=_is_fork(_part(head, "repo"), _part(base, "repo")),
        )
    if run := _part(said, "workflow_run"):
        pulls = run.get("pull_requests")
        first = pulls[0] if isinstance(pulls, list) and pulls else None
        return Event(
            pr_number=validate.pr_number(first.get("number")) if isinstance(first, dict) else None,
            commit_sha=validate.commit(run.get("head_sha")),
            from_fork=_is_fork(_part(run, "head_repository"), _part(said, "repository")),
        )
    issue = _part(said, "issue")
    if _part(issue, "pull_request"):  # a comment on a pull request: the event does not name the commit
        return Event(pr_number=validate.pr_number(issue.get("number")))
    return Event(pr_number=number_in(ref), commit_sha=built)


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
    """Return the pull request's number in refs/pull/12/merge."""
    return validate.pr_number(ref.split("/")[2]) if ref.startswith("refs/pull/") else None
