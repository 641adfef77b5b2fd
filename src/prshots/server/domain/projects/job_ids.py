"""Facts in a job's ID token beyond names: the ids of its repository, and its pull request.

A name can change hands: someone deletes or renames a repository, and another one takes its name. To prevent
misuse, a trust pins the ids behind the names that it requires. An id that the trust requires itself needs no
pin.
"""

import re
from collections.abc import Mapping
from typing import Any

from prshots.server.domain.projects.claims import MAX_VALUE, texts_of

_GITHUB_IDS = ("repository_id", "repository_owner_id")  # Gitea and Forgejo have some of these
_GITLAB_IDS = ("project_id", "namespace_id")

# The ids behind a claim whose value matches the pattern. GitLab's `group/*` has none, because a subgroup has
# its own namespace.
_IDS_BEHIND: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("repository", re.compile(r"[^/]+/[^/*]+"), _GITHUB_IDS),
    ("repository", re.compile(r"[^/]+/\*.*"), _GITHUB_IDS[1:]),
    ("repository_owner", re.compile(r"[^*]+"), _GITHUB_IDS[1:]),
    ("project_path", re.compile(r"[^*]+"), _GITLAB_IDS),
    ("namespace_path", re.compile(r"[^*]+"), _GITLAB_IDS[1:]),
    ("sub", re.compile(r"repo:[^/:*]+/[^/:*]+:.*"), _GITHUB_IDS),
    ("sub", re.compile(r"repo:[^/:*]+/\*.*"), _GITHUB_IDS[1:]),
    ("sub", re.compile(r"project_path:[^:*]+:.*"), _GITLAB_IDS),
)

# The claims that name a pull request. Jobs for `pull_request_target`, `workflow_run` and `issue_comment` have
# the base branch as `ref`. GitLab's tokens don't include the number so far.
_PULL_REQUEST = {
    "ref": re.compile(r"refs/pull/([1-9][0-9]{0,8})/(?:merge|head)"),
    "ref_path": re.compile(r"refs/merge-requests/([1-9][0-9]{0,8})/(?:merge|head|train)"),
    "merge_request_iid": re.compile(r"([1-9][0-9]{0,8})"),
    "pullRequestId": re.compile(r"([1-9][0-9]{0,8})"),
}

# Events that start a job on a branch. Any other event may belong to a pull request. GitLab's names follow
# GitHub's.
_EVENTS_OF_BRANCHES = {
    *("push", "schedule", "workflow_dispatch", "repository_dispatch"),
    *("web", "api", "trigger", "pipeline", "parent_pipeline"),
}


def ids_to_pin(required: Mapping[str, str], carried: Mapping[str, Any]) -> dict[str, str]:
    """Return the token's ids behind the names that a trust requires."""
    wanted = {
        name
        for claim, form, ids in _IDS_BEHIND
        if form.fullmatch(required.get(claim, ""))
        for name in ids
        if name not in required
    }
    return {name: text for name in sorted(wanted) if (text := _id(carried.get(name)))}


def differing_ids(pins: Mapping[str, str], carried: Mapping[str, Any]) -> dict[str, str]:
    """Return the token's ids that differ from the pinned ones. A missing id is empty."""
    return {name: _id(carried.get(name)) for name, pin in pins.items() if _id(carried.get(name)) != pin}


def pull_request_of(carried: Mapping[str, Any]) -> int | None:
    """Return the number of the pull request that a job runs for, if its claims include it."""
    for claim, form in _PULL_REQUEST.items():
        for text in texts_of(carried.get(claim)):
            if found := form.fullmatch(text):
                return int(found[1])
    return None


def branch_of(required: Mapping[str, str], carried: Mapping[str, Any]) -> str | None:
    """Return the branch whose baselines a job can write: its own branch, if the trust names a ref.

    A job for a pull request can't write any, even if it runs the base branch's code (`pull_request_target`).
    """
    if pull_request_of(carried) is not None or not _names_a_ref(required):
        return None
    event = _id(carried.get("event_name")) or _id(carried.get("pipeline_source"))
    if event and event not in _EVENTS_OF_BRANCHES:
        return None
    ref = _id(carried.get("ref_path")) or _id(carried.get("ref"))
    if ref.startswith("refs/"):
        return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
    return ref or None if _id(carried.get("ref_type")) in {"", "branch"} else None


def _names_a_ref(required: Mapping[str, str]) -> bool:
    """Return whether a trust is limited to certain refs. A lone `*` allows any ref."""
    named = [required.get(claim, "") for claim in ("ref", "ref_path")]
    named.append(required.get("sub", "").partition(":ref:")[2])
    return any(value.strip("*") for value in named)


def _id(carried: object) -> str:
    """Return a claim's value as text, or "" unless it has exactly one valid value."""
    texts = list(texts_of(carried))
    return texts[0] if len(texts) == 1 and len(texts[0]) <= MAX_VALUE and texts[0].isprintable() else ""
