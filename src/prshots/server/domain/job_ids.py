"""What a job's ID token says beyond names: the ids of its repository, and its pull request.

A name can be given to someone else: a repository is deleted or renamed, and another one takes its name. So a
trust pins the ids behind the names that it requires. An id that a trust requires itself needs no pin.
"""

import re
from collections.abc import Mapping
from typing import Any

from prshots.server.domain.claims import MAX_VALUE, texts_of

_GITHUB_IDS = ("repository_id", "repository_owner_id")  # also Gitea and Forgejo, as far as they have them
_GITLAB_IDS = ("project_id", "namespace_id")

# The ids behind a claim whose value, up to its first `*`, matches. A `group/*` of GitLab has none: the
# namespace of a subgroup is another one.
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
# the base branch as `ref`. GitLab says it in none of its claims so far.
_PULL_REQUEST = {
    "ref": re.compile(r"refs/pull/([1-9][0-9]{0,8})/(?:merge|head)"),
    "ref_path": re.compile(r"refs/merge-requests/([1-9][0-9]{0,8})/(?:merge|head|train)"),
    "merge_request_iid": re.compile(r"([1-9][0-9]{0,8})"),
    "pullRequestId": re.compile(r"([1-9][0-9]{0,8})"),
}


def ids_to_pin(required: Mapping[str, str], carried: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids, as this token has them, behind the names that a trust requires."""
    wanted = {
        name
        for claim, form, ids in _IDS_BEHIND
        if form.fullmatch(required.get(claim, ""))
        for name in ids
        if name not in required
    }
    return {name: text for name in sorted(wanted) if (text := _id(carried.get(name)))}


def differing_ids(pins: Mapping[str, str], carried: Mapping[str, Any]) -> dict[str, str]:
    """Return this token's ids that are not the pinned ones; one that it does not have is empty."""
    return {name: _id(carried.get(name)) for name, pin in pins.items() if _id(carried.get(name)) != pin}


def pull_request_of(carried: Mapping[str, Any]) -> int | None:
    """Return the number of the pull request that a job runs for, if its claims say it."""
    for claim, form in _PULL_REQUEST.items():
        for text in texts_of(carried.get(claim)):
            if found := form.fullmatch(text):
                return int(found[1])
    return None


def _id(carried: object) -> str:
    """Return a claim's value as text; "" if it has none, or several."""
    texts = list(texts_of(carried))
    return texts[0] if len(texts) == 1 and len(texts[0]) <= MAX_VALUE and texts[0].isprintable() else ""
