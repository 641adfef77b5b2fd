"""Checks of an upload's fields and files. Most raise InvalidInputError."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from prshots.contract import errors, limits
from prshots.contract.formats import BY_CONTENT_TYPE, LEADING_BYTES, ImageFormat

BAD_REPOSITORY = f"repository must be owner/name, at most {limits.MAX_REPOSITORY_CHARACTERS} characters"
BAD_THEME = f"theme must be {' or '.join(limits.THEMES)}"


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """An uploaded file. Bytes past the size limit are dropped, but `size` still counts them."""

    content_type: str
    chunks: Sequence[bytes]
    size: int


@dataclass(frozen=True, slots=True)
class UploadFields:
    """The valid form fields of an upload, without its destination."""

    name: str
    commit_sha: str
    viewport: str
    theme: str


@dataclass(frozen=True, slots=True)
class CheckedFile:
    chunks: Sequence[bytes]
    size: int
    ext: str

    def sha256(self) -> str:
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(chunk)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """A valid upload, without its destination."""

    fields: UploadFields
    image: CheckedFile
    before: CheckedFile | None = None


def check_files(
    fields: UploadFields, image: UploadedFile, before: UploadedFile | None, max_image_bytes: int
) -> CheckedUpload:
    """Check the files of an upload. Raises PayloadTooLargeError, UnsupportedTypeError."""
    checked = _check_file(image, max_image_bytes)
    return CheckedUpload(fields, checked, _check_before_image(before, max_image_bytes) if before else None)


def check_name(name: str) -> str:
    # PostgreSQL can't store NUL characters.
    if not 1 <= len(name) <= limits.MAX_NAME_CHARACTERS or "\0" in name:
        raise errors.InvalidInputError("name required")
    return name


def check_pr_number(pr_number: int) -> int:
    if not 1 <= pr_number <= limits.MAX_PR_NUMBER:
        raise errors.InvalidInputError("pr_number required")
    return pr_number


def check_branch(branch: str) -> str:
    # PostgreSQL can't store NUL characters.
    if not 1 <= len(branch) <= limits.MAX_BRANCH_CHARACTERS or "\0" in branch:
        raise errors.InvalidInputError("branch required")
    return branch


def check_branch_repository(repository: str) -> str:
    """Return the branch's repository in lower case, or "" for the project's own."""
    if repository and (
        len(repository) > limits.MAX_REPOSITORY_CHARACTERS or not limits.REPOSITORY.fullmatch(repository)
    ):
        raise errors.InvalidInputError(BAD_REPOSITORY)
    return repository.lower()


def check_commit(commit_sha: str, form: re.Pattern[str]) -> str:
    return check_form(form, commit_sha, "commit_sha required")


def check_viewport(viewport: str) -> str:
    return check_form(limits.VIEWPORT, viewport, "viewport must be like 1280x800")


def check_theme(theme: str) -> str:
    if theme and theme not in limits.THEMES:
        raise errors.InvalidInputError(BAD_THEME)
    return theme


def check_form(form: re.Pattern[str], text: str, message: str) -> str:
    """Raise InvalidInputError with this message unless the text matches the pattern."""
    if not form.fullmatch(text):
        raise errors.InvalidInputError(message)
    return text


def is_image_id(text: str) -> bool:
    return limits.IMAGE_ID.fullmatch(text) is not None


def payload_too_large(max_image_bytes: int) -> errors.PayloadTooLargeError:
    return errors.PayloadTooLargeError(f"payload too large (max {max_image_bytes / 1024**2:g}MB)")


def check_content_type(content_type: str) -> ImageFormat:
    """Return the image format of a content type. Raises UnsupportedTypeError."""
    image_format = BY_CONTENT_TYPE.get(content_type)
    if image_format is None:
        raise errors.UnsupportedTypeError("unsupported content-type (png/jpeg/webp)")
    return image_format


def _check_file(file: UploadedFile, max_image_bytes: int) -> CheckedFile:
    if file.size >= max_image_bytes:
        raise payload_too_large(max_image_bytes)
    image_format = check_content_type(file.content_type)
    head = b"".join(chunk[:LEADING_BYTES] for chunk in file.chunks)
    if not image_format.matches(head):
        raise errors.UnsupportedTypeError(
            f"declared {file.content_type}, but the file content is not a valid {image_format.label}"
        )
    return CheckedFile(file.chunks, file.size, image_format.ext)


def _check_before_image(file: UploadedFile, max_image_bytes: int) -> CheckedFile:
    try:
        return _check_file(file, max_image_bytes)
    except (errors.PayloadTooLargeError, errors.UnsupportedTypeError) as error:
        raise type(error)(f"before: {error}") from None
