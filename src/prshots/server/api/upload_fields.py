"""The fields of an upload, from a form or JSON, in the documented order.

So an upload with two mistakes always gets the same error.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from prshots.contract.errors import InvalidInputError
from prshots.server.api.fields import text_of
from prshots.server.api.upload_form import UploadForm
from prshots.server.domain.images.checks import (
    Upload,
    UploadFields,
    check_commit,
    check_name,
    check_theme,
    check_viewport,
)

F = TypeVar("F")
T = TypeVar("T")


def read_upload(
    form: UploadForm, target: Callable[[Mapping[str, str]], T], commit: re.Pattern[str]
) -> tuple[T, Upload]:
    """Return what the image is uploaded to, as `target` reads it, and the upload.

    Raises InvalidInputError.
    """
    if form.image is None:
        raise InvalidInputError("image file required")
    uploaded_to, fields = read_upload_fields(form.fields, target, commit)
    return uploaded_to, Upload(fields, form.image, form.before, form.oversized)


def read_upload_fields(
    fields: Mapping[str, F], target: Callable[[Mapping[str, F]], T], commit: re.Pattern[str]
) -> tuple[T, UploadFields]:
    """Return what the image is uploaded to, and the other fields. Raises InvalidInputError."""
    name = check_name(text_of(fields, "name"))
    return target(fields), UploadFields(
        name,
        check_commit(text_of(fields, "commit_sha"), commit),
        check_viewport(text_of(fields, "viewport")),
        check_theme(text_of(fields, "theme")),
    )
