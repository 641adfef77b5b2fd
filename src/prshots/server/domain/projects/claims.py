"""Validates the claims that a trust requires, and matches them against a token's claims.

A trust must name a repository or its owner, because anyone can get tokens from a public issuer. In such a
claim, a `*` may only follow a whole name. For example, `octo/*` matches the repositories of `octo`, but no
pattern can also match `octo-evil/app`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from prshots.contract.addresses import is_loopback
from prshots.contract.errors import InvalidInputError

NAMING = (
    *("repository_id", "repository", "repository_owner_id", "repository_owner"),  # GitHub, Gitea, Forgejo
    *("project_id", "project_path", "namespace_id", "namespace_path"),  # GitLab
    *("repositoryUuid", "workspaceUuid"),  # Bitbucket
    "sub",
)
"""The claims that identify a job's repository or its owner, most specific first.

They exclude `job_workflow_ref` and similar claims, because anyone can call a public workflow.
"""

MAX_CLAIMS = 10
MAX_NAME = 100
MAX_VALUE = 400
"""These limits keep a trust's anchor (name=value) below the maximum size of a PostgreSQL index entry."""

_NAME = re.compile(rf"[A-Za-z0-9_.:/-]{{1,{MAX_NAME}}}")
_PARTS = re.compile("[/:]")
_SUBJECT_WITH_IDS = re.compile(
    r"repo:(?P<owner>[^@/:]+)@[0-9]+/(?P<repository>[^@/:]+)@[0-9]+:(?P<rest>.*)", re.DOTALL
)
_NAMES_BEFORE_WILDCARD = {"sub": 2}  # in `repo:octo/…`, the first part is only a prefix


def check_claims(claims: Mapping[str, str]) -> None:
    """Raise InvalidInputError if a trust can't require these claims. The message says how to fix them."""
    if not 1 <= len(claims) <= MAX_CLAIMS:
        raise InvalidInputError(f"a trust takes 1 to {MAX_CLAIMS} claims; got {len(claims)}")
    for name, value in claims.items():
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"a claim's name takes 1 to {MAX_NAME} letters, digits and _ . : / -; got {name!r}"
            )
        if not 1 <= len(value) <= MAX_VALUE or not value.isprintable():
            raise InvalidInputError(f"the claim {name} takes 1 to {MAX_VALUE} printable characters")
        if name in NAMING and "*" in value:
            _check_wildcard(name, value)
    if not any(name in NAMING for name in claims):
        raise InvalidInputError(
            "a trust must name the repository, or every job of that issuer could upload: add a claim such "
            "as repository (GitHub) or project_path (GitLab)"
        )


def names_repository(issuer: str, claims: Mapping[str, str], address: str) -> bool:
    """Return whether a trust names exactly the repository at this web address, on the forge of its issuer."""
    parts = urlsplit(address.lower())
    path = parts.path.strip("/")
    subject = re.match("(?:repo|project_path):([^:]+):", claims.get("sub", ""))
    named = [claims.get("repository", ""), claims.get("project_path", ""), subject[1] if subject else ""]
    host = (urlsplit(issuer).hostname or "").removeprefix("token.actions.")
    is_there = parts.hostname == host.replace("githubusercontent.com", "github.com") or is_loopback(host)
    return is_there and "/" in path and "*" not in path and path in map(str.lower, named)


def _check_wildcard(name: str, value: str) -> None:
    before = value.partition("*")[0]
    parts = _PARTS.split(before)  # the last one is the text between a separator and the `*`
    if parts[-1] or sum(map(bool, parts)) < _NAMES_BEFORE_WILDCARD.get(name, 1):
        example = "repo:octo/app:*" if name == "sub" else "octo/*"
        raise InvalidInputError(
            f"in the claim {name}, a * may only come after a whole name, as in {example}; got {value!r}"
        )


def anchor_of(claims: Mapping[str, str]) -> str:
    """Return a trust's index key: text that every token matching these claims must contain."""
    name = next(name for name in NAMING if name in claims)
    return f"{name}={claims[name].partition('*')[0]}"


def anchors_of(token_claims: Mapping[str, Any]) -> set[str]:
    """Return the anchor of every trust that a token with these claims could match."""
    return {
        f"{name}={beginning}"
        for name in NAMING
        for text in _forms(name, token_claims)
        for beginning in _beginnings(text)
    }


def find_unmet(required: Mapping[str, str], token_claims: Mapping[str, Any]) -> str | None:
    """Return the first required claim that the token doesn't meet, or None if it meets all of them."""
    for name, value in required.items():
        if not any(_matches(value, text) for text in _forms(name, token_claims)):
            return name
    return None


def _forms(name: str, token_claims: Mapping[str, Any]) -> Iterator[str]:
    """Yield a claim's texts. GitHub's new `sub` has ids after the names, and a trust may omit those ids."""
    for text in texts_of(token_claims.get(name)):
        yield text
        if name == "sub" and (found := _SUBJECT_WITH_IDS.fullmatch(text)):
            yield f"repo:{found['owner']}/{found['repository']}:{found['rest']}"


def _matches(wanted: str, text: str) -> bool:
    """Match piece by piece. A regular expression could run for hours on a value full of `*`."""
    first, *others = wanted.split("*")
    if not others:
        return text == wanted
    *between, last = others
    position, end = len(first), len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last)):
        return False
    for piece in between:
        found = text.find(piece, position, max(end, 0))
        if found < 0:
            return False
        position = found + len(piece)
    return position <= end


def texts_of(claim: object) -> Iterator[str]:
    """Yield a claim's values as text: each item of a list, and numbers and booleans as in JSON."""
    for value in claim if isinstance(claim, list) else [claim]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, bool):
            yield "true" if value else "false"
        elif isinstance(value, int | float):
            yield str(value)


def _beginnings(text: str) -> Iterator[str]:
    """Yield the text and each of its prefixes that ends with a separator, if it can be an anchor."""
    ends = [found.end() for found in _PARTS.finditer(text[:MAX_VALUE])]
    return (text[:end] for end in [*ends, len(text)] if end <= MAX_VALUE and text[:end].isprintable())
