"""Converts fields of the public API's requests from text or JSON to the domain's types.

The domain defines which values are valid. Every function raises InvalidInputError.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeVar

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker
from prshots.contract.errors import InvalidInputError
from prshots.server.api.upload_form import UploadForm
from prshots.server.domain.images import checks
from prshots.server.domain.images.models import BranchPlace, ShotKey

E = TypeVar("E", bound=StrEnum)
F = TypeVar("F")
T = TypeVar("T")

BAD_LIMIT = f"limit must be a whole number from {MIN_COMMENT_BYTES} to {MAX_COMMENT_BYTES}"
BAD_MARKER = f"marker must be {' or '.join(Marker)}"
BAD_VIEW = "view must be all, latest or changes"

NOT_TEXT = "\0"
"""Replaces a field that isn't a string. Every check rejects this text."""

_DIGITS = re.compile(r"[0-9]{1,10}")


def text_of(fields: Mapping[str, object], name: str) -> str:
    """Return a field's text, or "" if it is missing."""
    value = fields.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else NOT_TEXT


def flag_of(fields: Mapping[str, object], name: str, default: bool | None = None) -> bool:
    """Return whether a field is true. Without a default, the field is required."""
    value = fields.get(name, default)
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false")
    return value


def pr_number_from_text(text: str | None) -> int:
    """Parse a pull request's number from ASCII digits."""
    return checks.check_pr_number(_number(text))


def pr_number_from_json(value: object) -> int:
    """Accept a JSON integer: 7 or 7.0, which are equal in JSON, but not "7" or true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return checks.check_pr_number(value if isinstance(value, int) and not isinstance(value, bool) else 0)


def shot_of(fields: Mapping[str, object]) -> ShotKey:
    return ShotKey(
        checks.check_name(text_of(fields, "name")),
        checks.check_viewport(text_of(fields, "viewport")),
        checks.check_theme(text_of(fields, "theme")),
    )


def branch_of(fields: Mapping[str, object]) -> str:
    return checks.check_branch(text_of(fields, "branch"))


def place_of(fields: Mapping[str, object]) -> BranchPlace:
    return BranchPlace(branch_of(fields), checks.check_branch_repository(text_of(fields, "repository")))


def read_upload(
    form: UploadForm,
    target: Callable[[Mapping[str, str]], T],
    commit: re.Pattern[str],
    max_image_bytes: int,
) -> tuple[T, checks.CheckedUpload]:
    """Return the upload's destination, as read by `target`, and the upload.

    Also raises PayloadTooLargeError, UnsupportedTypeError.
    """
    if form.image is None:
        raise InvalidInputError("image file required")
    uploaded_to, fields = read_upload_fields(form.fields, target, commit)
    if form.oversized:
        raise checks.payload_too_large(max_image_bytes)
    return uploaded_to, checks.check_files(fields, form.image, form.before, max_image_bytes)


def read_upload_fields(
    fields: Mapping[str, F], target: Callable[[Mapping[str, F]], T], commit: re.Pattern[str]
) -> tuple[T, checks.UploadFields]:
    """Return the upload's destination and its other fields.

    Checks the fields in the documented order, so an upload with two mistakes always gets the same error.
    """
    name = checks.check_name(text_of(fields, "name"))
    return target(fields), checks.UploadFields(
        name,
        checks.check_commit(text_of(fields, "commit_sha"), commit),
        checks.check_viewport(text_of(fields, "viewport")),
        checks.check_theme(text_of(fields, "theme")),
    )


def comment_limit_from_text(text: str | None) -> int:
    limit = _number(text)
    if not MIN_COMMENT_BYTES <= limit <= MAX_COMMENT_BYTES:
        raise InvalidInputError(BAD_LIMIT)
    return limit


def choice_from_text(kind: type[E], text: str | None, refusal: str) -> E:
    if text not in tuple(kind):
        raise InvalidInputError(refusal)
    return kind(text)


def _number(text: str | None) -> int:
    return int(text) if text is not None and _DIGITS.fullmatch(text) else 0
