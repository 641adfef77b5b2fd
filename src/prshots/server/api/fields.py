"""Fields of the public API's requests: from the type that they come in to the type that the domain takes.

The domain has the rules for their values. Each raises InvalidInputError.
"""

import re
from collections.abc import Mapping

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker, View
from prshots.contract.errors import InvalidInputError
from prshots.server.domain.images.checks import check_branch, check_branch_repository, check_pr_number
from prshots.server.domain.images.models import BranchPlace

BAD_LIMIT = f"limit must be a whole number from {MIN_COMMENT_BYTES} to {MAX_COMMENT_BYTES}"
BAD_MARKER = f"marker must be {' or '.join(Marker)}"
BAD_VIEW = "view must be all, latest or changes"

NOT_TEXT = "\0"
"""The text of a field that is not a string: one that no rule allows."""

_DIGITS = re.compile(r"[0-9]{1,10}")


def text_of(fields: Mapping[str, object], name: str) -> str:
    """Return a field's text; "" if it is missing."""
    value = fields.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else NOT_TEXT


def flag_of(fields: Mapping[str, object], name: str) -> bool | None:
    """Return whether a field is true; None if it is neither true nor false."""
    value = fields.get(name)
    return value if isinstance(value, bool) else None


def pr_number_from_text(text: str | None) -> int:
    """Accept ASCII digits within range."""
    return check_pr_number(_number(text))


def pr_number_from_json(value: object) -> int:
    """Accept a JSON integer: 7 or 7.0, which are equal in JSON, but not "7" or true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return check_pr_number(value if isinstance(value, int) and not isinstance(value, bool) else 0)


def branch_of(fields: Mapping[str, object]) -> str:
    return check_branch(text_of(fields, "branch"))


def place_of(fields: Mapping[str, object]) -> BranchPlace:
    return BranchPlace(branch_of(fields), check_branch_repository(text_of(fields, "repository")))


def comment_limit_from_text(text: str | None) -> int:
    limit = _number(text)
    if not MIN_COMMENT_BYTES <= limit <= MAX_COMMENT_BYTES:
        raise InvalidInputError(BAD_LIMIT)
    return limit


def marker_from_text(text: str | None) -> Marker:
    if text not in tuple(Marker):
        raise InvalidInputError(BAD_MARKER)
    return Marker(text)


def view_from_text(text: str | None) -> View:
    if text not in tuple(View):
        raise InvalidInputError(BAD_VIEW)
    return View(text)


def _number(text: str | None) -> int:
    return int(text) if text is not None and _DIGITS.fullmatch(text) else 0
