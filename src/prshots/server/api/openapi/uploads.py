"""The operations that accept an image: for a pull request or branch, staged, or with a one-time URL."""

from collections.abc import Sequence
from typing import Any

from prshots.contract.formats import FORMATS
from prshots.contract.replies import Moved, OneTimeUrls, Staged, StagedList, Uploaded
from prshots.server.api.openapi.operations import (
    FULL_OR_OVER_QUOTA,
    INVALID_PARAMETER,
    RATE_LIMIT_HEADERS,
    RATE_LIMITED,
    Operation,
    Reply,
    error_reply,
    json_body,
    json_reply,
    operation,
    parameter,
    path_parameter,
    required_parameter,
)
from prshots.server.api.openapi.schemas import FIELDS, FULL_COMMIT, named, object_of, or_null, schema_of
from prshots.server.api.put_urls import NO_TARGET
from prshots.server.api.upload import BAD_KEY, KEY
from prshots.server.domain.images.checks import BAD_REPOSITORY, BAD_THEME, payload_too_large
from prshots.server.domain.images.put_urls import BEFORE_FIRST
from prshots.server.domain.images.staging import MOST_LISTED

NOT_ITS_BRANCH = error_reply("The token belongs to a CI job that can't write baselines for this branch.")
_CANNOT_STAGE = error_reply("The token belongs to a CI job that can't stage images for this branch.")
_NOT_ITS_OWN = error_reply("The token belongs to a CI job for another pull request or branch.")
_UNSUPPORTED = "unsupported content-type (png/jpeg/webp)"
_WRONG_TYPES = (
    _UNSUPPORTED,
    *(f"declared {kind.content_type}, but the file content is not a valid {kind.label}" for kind in FORMATS),
)
_IDEMPOTENCY_KEY = parameter(
    "Idempotency-Key",
    {"type": "string", "pattern": f"^{KEY.pattern}$"},
    "Optional. For 24 hours, an upload with the same key gets the first reply again and isn't stored.",
) | {"in": "header"}
_CONTENT_TYPES = [kind.content_type for kind in FORMATS]
_MESSAGES = {
    "name": "name required",
    "pr_number": "pr_number required",
    "branch": "branch required",
    "repository": BAD_REPOSITORY,
    "commit_sha": "commit_sha required",
    "viewport": "viewport must be like 1280x800",
    "theme": BAD_THEME,
}


def upload_paths(max_image_bytes: int) -> dict[str, Any]:
    upload = _upload("Upload a screenshot", "upload", max_image_bytes, ["pr_number"])
    upload_baseline = _upload(
        "Upload a baseline", "uploadBaseline", max_image_bytes, ["branch"], NOT_ITS_BRANCH, is_baseline=True
    )
    stage = _upload(
        "Upload a screenshot before its pull request exists",
        "stage",
        max_image_bytes,
        ["branch", "repository"],
        _CANNOT_STAGE,
        reply=Staged,
    )
    return {
        "/v1/upload": {"post": upload},
        "/v1/baseline": {"post": upload_baseline},
        "/v1/staged": {"post": stage, "get": _LIST_STAGED},
        "/v1/staged/move": {"post": _MOVE_STAGED},
        "/v1/put-urls": {"post": _CREATE_PUT_URL},
        "/v1/put/{secret}": {"put": _put(max_image_bytes)},
    }


def _upload(
    summary: str,
    operation_id: str,
    max_image_bytes: int,
    target: Sequence[str],
    forbidden: Reply | None = None,
    *,
    reply: type[Any] = Uploaded,
    is_baseline: bool = False,
) -> Operation:
    """Describe an upload. `target` lists the fields for its destination. The first one is required."""
    stored = json_reply("Stored.", schema_of(reply))
    if is_baseline:
        del stored["content"]["application/json"]["schema"]["properties"]["before_url"]
    link = {"operationId": "deleteImage", "parameters": {"image_id": "$response.body#/id"}}
    files = ("",) if is_baseline else ("", "before: ")
    replies = {
        "200": stored | {"links": {"delete": link}, "headers": RATE_LIMIT_HEADERS},
        "400": error_reply(
            "The form is invalid. The message names the first invalid field.",
            BAD_KEY,
            "invalid multipart/form-data body",
            "image file required",
            *(_MESSAGES[field] for field in ("name", *target, "commit_sha", "viewport", "theme")),
        ),
        **({"403": forbidden} if forbidden else {}),
        "413": _too_large(max_image_bytes, files),
        "415": error_reply(
            "The image type is not supported, or the content does not match the declared type.",
            *(file + wrong for file in files for wrong in _WRONG_TYPES),
        ),
        "429": RATE_LIMITED,
        "507": FULL_OR_OVER_QUOTA,
    }
    form = _form(max_image_bytes, target, is_baseline=is_baseline)
    return operation(
        summary, operation_id, replies, body={"multipart/form-data": form}, parameters=[_IDEMPOTENCY_KEY]
    )


def _too_large(max_image_bytes: int, files: Sequence[str]) -> Reply:
    message = str(payload_too_large(max_image_bytes))
    return error_reply(
        f"A file has {max_image_bytes:,} bytes or more, or the form is far too large.",
        *(file + message for file in files),
    )


def _form(max_image_bytes: int, target: Sequence[str], *, is_baseline: bool) -> dict[str, Any]:
    image = {
        "type": "string",
        "format": "binary",
        "description": f"A PNG, JPEG or WebP file, smaller than {max_image_bytes:,} bytes.",
    }
    required = {"image": image} | named("name", target[0], "commit_sha", "viewport")
    optional = named(*target[1:], "theme")
    if is_baseline:
        required["commit_sha"] = FULL_COMMIT
    else:
        what = "Optional. The before image. The two images are shown and compared as a pair."
        optional["before"] = image | {"description": what}
    types = {"contentType": ", ".join(_CONTENT_TYPES)}
    return {
        # The API ignores unknown fields, but every field needs a name.
        "schema": object_of(required, optional) | {"propertyNames": {"minLength": 1}},
        "encoding": {name: types for name in ("image", "before") if name in required | optional},
    }


_LIST_STAGED = operation(
    "List a branch's staged images",
    "listStaged",
    {
        "200": json_reply(f"The newest {MOST_LISTED:,} images, in upload order.", schema_of(StagedList)),
        "400": INVALID_PARAMETER,
        "403": _CANNOT_STAGE,
    },
    parameters=[
        required_parameter("branch"),
        parameter(
            "repository",
            FIELDS["repository"],
            "List only images that can move to a pull request from this repository.",
        ),
    ],
)

_MOVE_STAGED = operation(
    "Move staged images of a branch to its pull request",
    "moveStaged",
    {
        "200": json_reply(
            "The moved images now belong to the pull request, under the same URLs.", schema_of(Moved)
        ),
        "400": error_reply(
            "The body is invalid, such as `from_fork must be true or false`. The message names the first "
            "invalid field."
        ),
        "403": _NOT_ITS_OWN,
    },
    body=json_body(
        named("branch", "pr_number") | {"from_fork": {"type": "boolean"}},
        {"repository": or_null(FIELDS["repository"])},
    ),
)

_PUT_URL_FIELDS = object_of(
    named("name", "commit_sha", "viewport") | {"content_type": {"type": "string", "enum": _CONTENT_TYPES}},
    {
        "theme": or_null(FIELDS["theme"]),
        **named("pr_number", "branch"),
        "repository": or_null(FIELDS["repository"]),
        "with_before": {"type": "boolean", "description": "Also return a URL for the before image."},
    },
) | {"oneOf": [{"required": ["pr_number"]}, {"required": ["branch"]}]}
_CREATE_PUT_URL = operation(
    "Get a one-time URL to upload an image without a token",
    "createPutUrl",
    {
        "200": json_reply("`PUT` the image to `put_url` within 10 minutes.", schema_of(OneTimeUrls)),
        "400": error_reply(
            f"The body is invalid, such as `{NO_TARGET}`, `{BAD_THEME}` or `with_before must be true or "
            "false`. The message names the first invalid field."
        ),
        "403": _NOT_ITS_OWN,
        "415": error_reply("The type is not supported.", _UNSUPPORTED),
        "429": RATE_LIMITED,
    },
    body={"application/json": {"schema": _PUT_URL_FIELDS}},
)


def _put(max_image_bytes: int) -> Operation:
    binary = {"schema": {"type": "string", "format": "binary"}}
    return operation(
        "Upload an image to a one-time URL",
        "put",
        {
            "200": json_reply(
                "Stored. The reply is the same as from `/v1/upload` or, for a branch, `/v1/staged`.",
                schema_of(Uploaded),
            ),
            "400": error_reply("The body is incomplete.", "image file required"),
            "404": error_reply("The URL is unknown, was used, or has expired.", "not found"),
            "409": error_reply("The before image has its own URL.", BEFORE_FIRST),
            "413": _too_large(max_image_bytes, ("", "before: ")),
            "415": error_reply(
                "The Content-Type isn't the one that the URL was created for, or the content doesn't match."
            ),
            "429": RATE_LIMITED,
            "507": FULL_OR_OVER_QUOTA,
        },
        body=dict.fromkeys(_CONTENT_TYPES, binary),
        parameters=[
            path_parameter(
                "secret", "From the `put_url`. The body is the image, with the declared Content-Type."
            )
        ],
        needs_token=False,
    )
