"""Checks of an upload's form, and of requests' parameters. Most raise InvalidInputError."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker, View
from prshots.contract.errors import (
    ForbiddenError,
    InvalidInputError,
    PayloadTooLargeError,
    UnsupportedTypeError,
)
from prshots.contract.formats import BY_CONTENT_TYPE, LEADING_BYTES, ImageFormat
from prshots.contract.limits import (
    IMAGE_ID,
    MAX_BRANCH_CHARACTERS,
    MAX_NAME_CHARACTERS,
    MAX_PR_NUMBER,
    MAX_REPOSITORY_CHARACTERS,
    REPOSITORY,
    THEMES,
    VIEWPORT,
)

BAD_LIMIT = f"limit must be a whole number from {MIN_COMMENT_BYTES} to {MAX_COMMENT_BYTES}"
BAD_MARKER = f"marker must be {' or '.join(Marker)}"
BAD_VIEW = "view must be all, latest or changes"
BAD_REPOSITORY = f"repository must be owner/name, at most {MAX_REPOSITORY_CHARACTERS} characters"
BAD_THEME = f"theme must be {' or '.join(THEMES)}"

_PR_NUMBER = re.compile(r"[0-9]{1,10}")
_LIMIT = re.compile(r"[0-9]{1,10}")

T = TypeVar("T")
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The uploaded image. Past the size limit its bytes are not kept, but `size` still counts them."""

    content_type: str
    chunks: Sequence[bytes]
    size: int

    def sha256(self) -> str:
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(chunk)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A parsed upload, not yet validated. `oversized`: the form without the files is too large.

    `before` is what the image shows as it was before, if it came with it.
    """

    image: UploadedFile | None
    fields: Mapping[str, str]
    oversized: bool = False
    before: UploadedFile | None = None


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """A valid upload, without what it is uploaded to. `before` differs from it in its file only."""

    file: UploadedFile
    name: str
    commit_sha: str
    viewport: str
    theme: str
    ext: str
    before: "CheckedUpload | None" = None


def check_upload(
    form: UploadForm,
    target: Callable[[Mapping[str, str]], T],
    *,
    commit: re.Pattern[str],
    max_image_bytes: int,
) -> tuple[T, CheckedUpload]:
    """Validate in the documented order: an upload with two mistakes always gets the same error.

    `target` reads what the image is uploaded to: a pull request or a branch.
    """
    if form.image is None:
        raise InvalidInputError("image file required")
    uploaded_to, (name, commit_sha, viewport, theme) = check_fields(form.fields, target, commit)
    if form.oversized or form.image.size >= max_image_bytes:
        raise payload_too_large(max_image_bytes)
    ext = _checked_format(form.image).ext
    checked = CheckedUpload(form.image, name, commit_sha, viewport, theme, ext)
    if form.before:
        before_ext = _checked_before(form.before, max_image_bytes).ext
        before = replace(checked, file=form.before, ext=before_ext)
        checked = replace(checked, before=before)
    return uploaded_to, checked


def check_fields(
    fields: Mapping[str, F], target: Callable[[Mapping[str, F]], T], commit: re.Pattern[str]
) -> tuple[T, tuple[str, str, str, str]]:
    """Return the target, name, commit, viewport and theme of an upload."""
    name = checked_name(fields.get("name"))
    return target(fields), (
        name,
        matching(commit, fields.get("commit_sha"), "commit_sha required"),
        matching(VIEWPORT, fields.get("viewport"), "viewport must be like 1280x800"),
        checked_theme(fields.get("theme")),
    )


def pr_number_of(fields: Mapping[str, str]) -> int:
    return pr_number_from_text(fields.get("pr_number"))


def branch_of(fields: Mapping[str, object]) -> str:
    branch = fields.get("branch")
    # PostgreSQL does not store a NUL.
    if not isinstance(branch, str) or not 1 <= len(branch) <= MAX_BRANCH_CHARACTERS or "\0" in branch:
        raise InvalidInputError("branch required")
    return branch


def repository_of(fields: Mapping[str, object]) -> str:
    """Return the repository that has a branch, in lower case; "" for the project's own."""
    repository = fields.get("repository")
    if repository is None or repository == "":
        return ""
    is_valid = isinstance(repository, str) and len(repository) <= MAX_REPOSITORY_CHARACTERS
    if not is_valid or not REPOSITORY.fullmatch(str(repository)):
        raise InvalidInputError(BAD_REPOSITORY)
    return str(repository).lower()


def checked_theme(theme: object) -> str:
    if theme is None or theme == "":
        return ""
    if theme not in THEMES:
        raise InvalidInputError(BAD_THEME)
    return str(theme)


def require_pr(only_pr: int | None, pr_number: int) -> None:
    """Raise ForbiddenError for another pull request than the one that the caller's token is for."""
    if only_pr not in {None, pr_number}:
        raise ForbiddenError(
            f"this token is for pull request {only_pr} only, which its job runs for; got {pr_number}"
        )


def is_image_id(text: str) -> bool:
    return IMAGE_ID.fullmatch(text) is not None


def payload_too_large(max_image_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(f"payload too large (max {max_image_bytes / 1024**2:g}MB)")


def pr_number_from_text(text: str | None) -> int:
    """Raise InvalidInputError unless the text is ASCII digits within range."""
    number = int(text) if text is not None and _PR_NUMBER.fullmatch(text) else 0
    return _in_range(number)


def pr_number_from_json(value: object) -> int:
    """Accept a JSON integer: 7 or 7.0, which are equal in JSON, but not "7" or true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _in_range(value if isinstance(value, int) and not isinstance(value, bool) else 0)


def comment_limit_from_text(text: str | None) -> int:
    """Raise InvalidInputError unless the text is ASCII digits within range."""
    limit = int(text) if text is not None and _LIMIT.fullmatch(text) else 0
    if not MIN_COMMENT_BYTES <= limit <= MAX_COMMENT_BYTES:
        raise InvalidInputError(BAD_LIMIT)
    return limit


def marker_from_text(text: str | None) -> Marker:
    """Raise InvalidInputError for a marker that is unknown."""
    if text not in tuple(Marker):
        raise InvalidInputError(BAD_MARKER)
    return Marker(text)


def view_from_text(text: str | None) -> View:
    if text not in tuple(View):
        raise InvalidInputError(BAD_VIEW)
    return View(text)


def _in_range(pr_number: int) -> int:
    if not 1 <= pr_number <= MAX_PR_NUMBER:
        raise InvalidInputError("pr_number required")
    return pr_number


def checked_name(name: object) -> str:
    # PostgreSQL does not store a NUL.
    if not isinstance(name, str) or not name or len(name) > MAX_NAME_CHARACTERS or "\0" in name:
        raise InvalidInputError("name required")
    return name


def matching(pattern: re.Pattern[str], text: object, message: str) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise InvalidInputError(message)
    return text


def format_of(content_type: object) -> ImageFormat:
    """Raise UnsupportedTypeError."""
    image_format = BY_CONTENT_TYPE.get(content_type) if isinstance(content_type, str) else None
    if image_format is None:
        raise UnsupportedTypeError("unsupported content-type (png/jpeg/webp)")
    return image_format


def _checked_format(file: UploadedFile) -> ImageFormat:
    image_format = format_of(file.content_type)
    if not image_format.matches(_head(file.chunks)):
        raise UnsupportedTypeError(
            f"declared {file.content_type}, but the file content is not a valid {image_format.label}"
        )
    return image_format


def _checked_before(file: UploadedFile, max_image_bytes: int) -> ImageFormat:
    try:
        if file.size >= max_image_bytes:
            raise payload_too_large(max_image_bytes)
        return _checked_format(file)
    except (PayloadTooLargeError, UnsupportedTypeError) as error:
        raise type(error)(f"before: {error}") from None


def _head(chunks: Sequence[bytes]) -> bytes:
    head = b""
    for chunk in chunks:
        head += chunk[: LEADING_BYTES - len(head)]
        if len(head) == LEADING_BYTES:
            break
    return head
