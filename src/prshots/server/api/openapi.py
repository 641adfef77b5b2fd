"""The OpenAPI document: the parameters, replies and errors of every public route."""

import copy
from typing import Any

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker, View
from prshots.contract.formats import FORMATS
from prshots.contract.limits import MAX_NAME_CHARACTERS
from prshots.server.api.openapi_compare import COMPARISON_PATHS, NOT_ITS_BRANCH
from prshots.server.api.openapi_parts import (
    A_BRANCH,
    A_COMMIT,
    A_FULL_COMMIT,
    A_THEME,
    A_VIEWPORT,
    ABOUT_IMAGE_ID,
    AN_IMAGE_ID,
    FAULT,
    FULL,
    NAME,
    OTHER_PULL_REQUEST,
    PR_NUMBER,
    RATE_LIMIT_HEADERS,
    SECURITY_SCHEMES,
    TIMEOUT,
    TOKEN,
    UNAUTHORIZED,
    UNAVAILABLE,
    UNAVAILABLE_OR_BUSY,
    error_reply,
    json_reply,
    object_of,
)
from prshots.server.api.openapi_staged import staging_paths
from prshots.server.domain.comparison.baselines import BAD_MERGED_AS
from prshots.server.domain.images.checks import BAD_LIMIT, BAD_MARKER, BAD_THEME, BAD_VIEW, payload_too_large

DESCRIPTION = (
    "Upload a screenshot and get a signed, time-limited image URL and ready-to-paste markdown. One comment "
    'per pull request lists all screenshots. Every error is `{"error": "<message>"}`.'
)

_UPLOADED = json_reply(
    "Stored. The URL is valid for 365 days, or until the image expires.",
    object_of(
        {
            "id": AN_IMAGE_ID,
            "view_url": {"type": "string", "format": "uri"},
            "markdown": {"type": "string", "description": "`![<name>](<view_url>)`"},
        }
    ),
) | {
    "links": {"delete": {"operationId": "deleteImage", "parameters": {"image_id": "$response.body#/id"}}},
    "headers": RATE_LIMIT_HEADERS,
}

_RATE_LIMITED = error_reply(
    "Too many uploads in a minute for the project. The default limit is 120.",
    "rate limited",
    retry_after=True,
)
_RATE_LIMITED["headers"] |= RATE_LIMIT_HEADERS


_BEFORE_URL = {
    "type": "string",
    "format": "uri",
    "description": "Only there if the upload had a `before`. It is deleted with the image.",
}
_UPLOADED_PAIR = copy.deepcopy(_UPLOADED)
_UPLOADED_PAIR["content"]["application/json"]["schema"]["properties"]["before_url"] = _BEFORE_URL


def _upload(max_image_bytes: int, *, of_branch: bool = False) -> dict[str, Any]:
    too_large = str(payload_too_large(max_image_bytes))
    too_much = f"A file has {max_image_bytes:,} bytes or more, or the form is far too long."
    about = ("",) if of_branch else ("", "before: ")
    return {
        "summary": "Upload a baseline" if of_branch else "Upload a screenshot",
        "operationId": "uploadBaseline" if of_branch else "upload",
        "responses": {
            "200": _UPLOADED if of_branch else _UPLOADED_PAIR,
            "400": error_reply(
                "The form is invalid. The message names the first invalid field.",
                "invalid multipart/form-data body",
                "image file required",
                "name required",
                "branch required" if of_branch else "pr_number required",
                "commit_sha required",
                "viewport must be like 1280x800",
                BAD_THEME,
            ),
            "401": UNAUTHORIZED,
            "403": NOT_ITS_BRANCH if of_branch else OTHER_PULL_REQUEST,
            "408": TIMEOUT,
            "413": error_reply(too_much, *(which + too_large for which in about)),
            "415": error_reply(
                "The image type is not supported, or the content does not match the declared type.",
                *(which + wrong for which in about for wrong in _WRONG_TYPES),
            ),
            "429": _RATE_LIMITED,
            "500": FAULT,
            "503": UNAVAILABLE_OR_BUSY,
            "507": FULL,
        },
        "security": TOKEN,
        "requestBody": {
            "required": True,
            "content": {"multipart/form-data": _form(max_image_bytes, of_branch)},
        },
    }


_WRONG_TYPES = (
    "unsupported content-type (png/jpeg/webp)",
    *(
        f"declared {known.content_type}, but the file content is not a valid {known.label}"
        for known in FORMATS
    ),
)


def _form(max_image_bytes: int, of_branch: bool) -> dict[str, Any]:
    image = {
        "type": "string",
        "format": "binary",
        "description": f"A PNG, JPEG or WebP file, smaller than {max_image_bytes:,} bytes.",
    }
    target = (
        {"branch": A_BRANCH, "commit_sha": A_FULL_COMMIT}
        if of_branch
        else {"pr_number": PR_NUMBER, "commit_sha": A_COMMIT}
    )
    form = object_of({"image": image, "name": NAME, **target, "viewport": A_VIEWPORT})
    form["properties"]["theme"] = A_THEME
    files = {"image": {"contentType": ", ".join(known.content_type for known in FORMATS)}}
    if not of_branch:
        what = "Optional. What the image shows as it was before. The two are shown and compared as a pair."
        form["properties"]["before"] = image | {"description": what}
        files["before"] = files["image"]
    return {
        # Unknown fields are ignored, but every field needs a name.
        "schema": form | {"propertyNames": {"minLength": 1}},
        "encoding": files,
    }


_DELETE: dict[str, Any] = {
    "summary": "Delete an image now, regardless of the policy",
    "operationId": "deleteImage",
    "responses": {
        "200": json_reply("Deleted.", object_of({"ok": {"const": True}, "id": AN_IMAGE_ID})),
        "401": UNAUTHORIZED,
        "403": OTHER_PULL_REQUEST,
        "404": error_reply("The project has no such image.", "not found"),
        "500": FAULT,
        "503": error_reply(
            "The image could not be deleted now. After `expire failed`, the hourly sweep deletes it. After "
            "`database unavailable`, delete it again.",
            "expire failed, retry later",
            "database unavailable, retry later",
            retry_after=True,
        ),
        "507": FULL,
    },
    "security": TOKEN,
    "parameters": [
        {
            "name": "image_id",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "description": ABOUT_IMAGE_ID},
        }
    ],
}

_COUNTS = {
    "heading": {"type": "string", "description": "The heading line of the markdown."},
    "count": {"type": "integer", "minimum": 0, "description": "All screenshots."},
    "shown": {"type": "integer", "minimum": 0, "description": "Screenshots with a picture."},
    "listed": {"type": "integer", "minimum": 0, "description": "Screenshots with only a line."},
    "omitted": {"type": "integer", "minimum": 0, "description": "Screenshots with neither."},
}
_COMMENT_REPLY = object_of(
    {"pr_number": PR_NUMBER, "markdown": {"type": "string", "maxLength": MAX_COMMENT_BYTES}}
)
_COMMENT_REPLY["properties"] |= _COUNTS

_COMMENT: dict[str, Any] = {
    "summary": "Get the pull request's comment as markdown",
    "operationId": "comment",
    "responses": {
        "200": json_reply(
            "The first line is the marker `<!-- svc:pr-<pr_number> -->`, to find the comment again. "
            "With `limit`, `marker` or `view`, the reply also has the heading and the counts.",
            _COMMENT_REPLY,
        ),
        "400": error_reply("A parameter is invalid.", "pr_number required", BAD_LIMIT, BAD_MARKER, BAD_VIEW),
        "401": UNAUTHORIZED,
        "403": OTHER_PULL_REQUEST,
        "500": FAULT,
        "503": UNAVAILABLE,
        "507": FULL,
    },
    "security": TOKEN,
    "parameters": [
        {"name": "pr_number", "in": "query", "required": True, "schema": PR_NUMBER},
        {
            "name": "limit",
            "in": "query",
            "description": "The most bytes of UTF-8 that the markdown may have. If it is too long, the "
            "oldest screenshots lose their picture, and the oldest of those their line.",
            "schema": {"type": "integer", "minimum": MIN_COMMENT_BYTES, "maximum": MAX_COMMENT_BYTES},
        },
        {
            "name": "marker",
            "in": "query",
            "description": "`html` (the default), or `link` for forges that show HTML as text: the marker is "
            "then `[//]: # (svc:pr-<pr_number>)`, and the markdown has no HTML.",
            "schema": {"type": "string", "enum": list(Marker)},
        },
        {
            "name": "view",
            "in": "query",
            "description": "`all` (the default): every image, oldest first. `latest`: the newest image of "
            "each shot. `changes`: what differs from the base, before and after.",
            "schema": {"type": "string", "enum": list(View)},
        },
    ],
}

_EXPIRE_BODY = object_of({"pr_number": PR_NUMBER})
_EXPIRE_BODY["properties"] |= {
    "merged_as": A_FULL_COMMIT
    | {
        "type": ["string", "null"],
        "description": "The merge commit. Changed, moved and new images become its baselines. The reply then "
        "also has `baselines`, their number.",
    },
    "branch": A_BRANCH | {"type": ["string", "null"], "description": "The branch that it was merged into."},
}

_EXPIRE: dict[str, Any] = {
    "summary": "Apply the expiry policy to a closed pull request",
    "operationId": "expire",
    "responses": {
        "200": json_reply(
            "Done. The hourly sweep deletes images that could not be deleted now.",
            object_of(
                {
                    "pr_number": PR_NUMBER,
                    "policy": {"type": "string", "enum": ["pr_close", "retain_days", "manual"]},
                    "marked": {"type": "integer", "minimum": 0},
                    "expired": {"type": "integer", "minimum": 0},
                }
            ),
        ),
        "400": error_reply(
            "The body is not JSON with a positive integer `pr_number`, or another field is invalid.",
            "pr_number required",
            BAD_MERGED_AS,
            "branch required",
        ),
        "401": UNAUTHORIZED,
        "403": OTHER_PULL_REQUEST,
        "408": TIMEOUT,
        "500": FAULT,
        "503": UNAVAILABLE,
        "507": FULL,
    },
    "security": TOKEN,
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": _EXPIRE_BODY}},
    },
}

_EXCHANGE: dict[str, Any] = {
    "summary": "Exchange a CI job's ID token for an upload token",
    "operationId": "exchangeToken",
    "responses": {
        "200": json_reply(
            "The project trusts the job. The token is valid until `expires_at`, a Unix time in 15 minutes.",
            object_of(
                {
                    "token": {"type": "string", "pattern": "^msr_[0-9a-f]{64}$"},
                    "expires_at": {"type": "integer"},
                    "project": {"type": "string"},
                    "project_id": {"type": "string"},
                    "organization": {"type": "string", "description": "The name of its organization."},
                }
            ),
        ),
        "400": error_reply("The job must say which project it means. The message says how."),
        "401": error_reply("The ID token is missing or refused. The service's log says why.", "unauthorized"),
        "408": TIMEOUT,
        "500": FAULT,
        "503": error_reply(
            "The database or the issuer of the ID token does not respond.",
            "database unavailable, retry later",
            "issuer unavailable, retry later",
            retry_after=True,
        ),
        "507": FULL,
    },
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["id_token"],
                    "properties": {
                        "id_token": {"type": "string", "description": "A JSON Web Token."},
                        "project": {
                            "type": "string",
                            "description": "`organization/name`, or the project's id. Optional, or a name "
                            "alone, only for a project of the organization `local`.",
                        },
                    },
                }
            }
        },
    },
}

_LIMITS: dict[str, Any] = {
    "summary": "Get the limits of this service",
    "operationId": "limits",
    "responses": {
        "200": json_reply(
            "An image must be smaller than `max_image_bytes`. You may cache the reply for a minute.",
            object_of(
                {
                    "max_image_bytes": {"type": "integer", "minimum": 1},
                    "uploads_per_minute": {"type": "integer", "minimum": 1},
                    "max_name_characters": {"const": MAX_NAME_CHARACTERS},
                }
            ),
        ),
        "500": FAULT,
    },
}

_HEALTH: dict[str, Any] = {
    "summary": "Check that the API is up",
    "operationId": "healthz",
    "responses": {200: json_reply("The API is up.", object_of({"status": {"const": "ok"}}))},
}


def document(*, version: str, base_url: str, max_image_bytes: int) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "prshots", "version": version, "description": DESCRIPTION},
        "servers": [{"url": base_url}],
        "paths": {
            "/v1/upload": {"post": _upload(max_image_bytes)},
            "/v1/images/{image_id}": {"delete": _DELETE},
            "/v1/comment": {"get": _COMMENT},
            "/v1/expire": {"post": _EXPIRE},
            "/v1/baseline": {"post": _upload(max_image_bytes, of_branch=True)},
            **COMPARISON_PATHS,
            **staging_paths(_upload(max_image_bytes)),
            "/v1/limits": {"get": _LIMITS},
            "/v1/oidc/token": {"post": _EXCHANGE},
            "/healthz": {"get": _HEALTH},
        },
        "components": {"securitySchemes": SECURITY_SCHEMES},
    }
