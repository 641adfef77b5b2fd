"""The OpenAPI document: the parameters, replies and errors of every public route."""

from typing import Any

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker
from prshots.contract.formats import FORMATS
from prshots.contract.limits import COMMIT_SHA, IMAGE_ID, MAX_NAME_CHARACTERS, MAX_PR_NUMBER, VIEWPORT
from prshots.server.domain.upload_checks import BAD_LIMIT, BAD_MARKER, payload_too_large

DESCRIPTION = (
    "Upload a screenshot and get a signed, time-limited image URL and ready-to-paste markdown. One comment "
    'per pull request lists all screenshots. Every error is `{"error": "<message>"}`.'
)

_ABOUT_IMAGE_ID = "The `id` from the upload's reply: 32 hexadecimal characters."

_PR_NUMBER = {"type": "integer", "minimum": 1, "maximum": MAX_PR_NUMBER}
_NAME = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_CHARACTERS,
    "description": "What the screenshot shows. Any text without a NUL.",
    "example": "checkout/cart",
}
_COMMIT_SHA = {
    "type": "string",
    "pattern": f"^{COMMIT_SHA.pattern}$",
    "description": "7 to 40 hexadecimal characters.",
}
_VIEWPORT = {
    "type": "string",
    "pattern": f"^{VIEWPORT.pattern}$",
    "description": "`<width>x<height>`, such as `1280x800`.",
    "example": "1280x800",
}
_IMAGE_ID = {"type": "string", "pattern": f"^{IMAGE_ID.pattern}$"}
_TOKEN: list[dict[str, list[str]]] = [{"uploadToken": []}]

_SECURITY_SCHEMES = {
    "uploadToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "`msr_` and 64 hexadecimal characters. Created in the dashboard, with "
        "`prshots token create PROJECT`, or in exchange for a CI job's ID token.",
    }
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _error(description: str, *messages: str, retry_after: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if messages:
        schema["enum"] = list(messages)
    reply = _json(description, _object({"error": schema}))
    if retry_after:
        reply["headers"] = {
            "Retry-After": {
                "schema": {"type": "integer"},
                "description": "Seconds to wait before a retry.",
            }
        }
    return reply


_UNAUTHORIZED = _error("The token is missing or invalid.", "unauthorized")
_OTHER_PULL_REQUEST = _error("The token is for another pull request, which its job runs for.")
_TIMEOUT = _error("The request body took too long.", "request body timed out")
_FAULT = _error(
    "An internal error. The service's log has the details, under the reply's `X-Request-Id`.",
    "internal error",
)
_FULL = _error("The storage is full.", "storage full, retry later", retry_after=True)
_OUTAGES = ("storage unavailable, retry later", "database unavailable, retry later")
_UNAVAILABLE = _error("The store or the database does not respond.", *_OUTAGES, retry_after=True)
_UNAVAILABLE_OR_BUSY = _error(
    "The store or the database does not respond, or the token has too many requests in progress.",
    *_OUTAGES,
    "too many uploads in progress, retry later",
    retry_after=True,
)

_UPLOADED = _json(
    "Stored. The URL is valid for 365 days, or until the image expires.",
    _object(
        {
            "id": _IMAGE_ID,
            "view_url": {"type": "string", "format": "uri"},
            "markdown": {"type": "string", "description": "`![<name>](<view_url>)`"},
        }
    ),
) | {
    "links": {"delete": {"operationId": "deleteImage", "parameters": {"image_id": "$response.body#/id"}}},
}


def _upload(max_image_bytes: int) -> dict[str, Any]:
    too_large = str(payload_too_large(max_image_bytes))
    too_much = f"The image has {max_image_bytes:,} bytes or more, or the form is far too long."
    return {
        "summary": "Upload a screenshot",
        "operationId": "upload",
        "responses": {
            "200": _UPLOADED,
            "400": _error(
                "The form is invalid. The message names the first invalid field.",
                "invalid multipart/form-data body",
                "image file required",
                "name required",
                "pr_number required",
                "commit_sha required",
                "viewport must be like 1280x800",
            ),
            "401": _UNAUTHORIZED,
            "403": _OTHER_PULL_REQUEST,
            "408": _TIMEOUT,
            "413": _error(too_much, too_large),
            "415": _error(
                "The image type is not supported, or the content does not match the declared type.",
                *_WRONG_TYPES,
            ),
            "429": _error(
                "Too many uploads in a minute for the project. The default limit is 120.",
                "rate limited",
                retry_after=True,
            ),
            "500": _FAULT,
            "503": _UNAVAILABLE_OR_BUSY,
            "507": _FULL,
        },
        "security": _TOKEN,
        "requestBody": {"required": True, "content": {"multipart/form-data": _form(max_image_bytes)}},
    }


_WRONG_TYPES = (
    "unsupported content-type (png/jpeg/webp)",
    *(
        f"declared {known.content_type}, but the file content is not a valid {known.label}"
        for known in FORMATS
    ),
)


def _form(max_image_bytes: int) -> dict[str, Any]:
    image = {
        "type": "string",
        "format": "binary",
        "description": f"A PNG, JPEG or WebP file, smaller than {max_image_bytes:,} bytes.",
    }
    return {
        "schema": _object(
            {
                "image": image,
                "name": _NAME,
                "pr_number": _PR_NUMBER,
                "commit_sha": _COMMIT_SHA,
                "viewport": _VIEWPORT,
            }
        )
        | {"propertyNames": {"minLength": 1}},  # unknown fields are ignored, but every field needs a name
        "encoding": {"image": {"contentType": ", ".join(known.content_type for known in FORMATS)}},
    }


_DELETE: dict[str, Any] = {
    "summary": "Delete an image now, regardless of the policy",
    "operationId": "deleteImage",
    "responses": {
        "200": _json("Deleted.", _object({"ok": {"const": True}, "id": _IMAGE_ID})),
        "401": _UNAUTHORIZED,
        "403": _OTHER_PULL_REQUEST,
        "404": _error("The project has no such image.", "not found"),
        "500": _FAULT,
        "503": _error(
            "The image could not be deleted now. After `expire failed`, the hourly sweep deletes it. After "
            "`database unavailable`, delete it again.",
            "expire failed, retry later",
            "database unavailable, retry later",
            retry_after=True,
        ),
        "507": _FULL,
    },
    "security": _TOKEN,
    "parameters": [
        {
            "name": "image_id",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "description": _ABOUT_IMAGE_ID},
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
_COMMENT_REPLY = _object(
    {"pr_number": _PR_NUMBER, "markdown": {"type": "string", "maxLength": MAX_COMMENT_BYTES}}
)
_COMMENT_REPLY["properties"] |= _COUNTS

_COMMENT: dict[str, Any] = {
    "summary": "Get the pull request's comment as markdown",
    "operationId": "comment",
    "responses": {
        "200": _json(
            "The first line is the marker `<!-- svc:pr-<pr_number> -->`, to find the comment again. "
            "With `limit` or `marker`, the reply also has the heading and the counts.",
            _COMMENT_REPLY,
        ),
        "400": _error("A parameter is invalid.", "pr_number required", BAD_LIMIT, BAD_MARKER),
        "401": _UNAUTHORIZED,
        "403": _OTHER_PULL_REQUEST,
        "500": _FAULT,
        "503": _UNAVAILABLE,
        "507": _FULL,
    },
    "security": _TOKEN,
    "parameters": [
        {"name": "pr_number", "in": "query", "required": True, "schema": _PR_NUMBER},
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
    ],
}

_EXPIRE: dict[str, Any] = {
    "summary": "Apply the expiry policy to a closed pull request",
    "operationId": "expire",
    "responses": {
        "200": _json(
            "Done. The hourly sweep deletes images that could not be deleted now.",
            _object(
                {
                    "pr_number": _PR_NUMBER,
                    "policy": {"type": "string", "enum": ["pr_close", "retain_days", "manual"]},
                    "marked": {"type": "integer", "minimum": 0},
                    "expired": {"type": "integer", "minimum": 0},
                }
            ),
        ),
        "400": _error("The body is not JSON with a positive integer `pr_number`.", "pr_number required"),
        "401": _UNAUTHORIZED,
        "403": _OTHER_PULL_REQUEST,
        "408": _TIMEOUT,
        "500": _FAULT,
        "503": _UNAVAILABLE,
        "507": _FULL,
    },
    "security": _TOKEN,
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": _object({"pr_number": _PR_NUMBER})}},
    },
}

_EXCHANGE: dict[str, Any] = {
    "summary": "Exchange a CI job's ID token for an upload token",
    "operationId": "exchangeToken",
    "responses": {
        "200": _json(
            "The project trusts the job. The token is valid until `expires_at`, a Unix time in 15 minutes.",
            _object(
                {
                    "token": {"type": "string", "pattern": "^msr_[0-9a-f]{64}$"},
                    "expires_at": {"type": "integer"},
                    "project": {"type": "string"},
                    "project_id": {"type": "string"},
                    "organization": {"type": "string", "description": "The name of its organization."},
                }
            ),
        ),
        "400": _error("The job must say which project it means. The message says how."),
        "401": _error("The ID token is missing or refused. The service's log says why.", "unauthorized"),
        "408": _TIMEOUT,
        "500": _FAULT,
        "503": _error(
            "The database or the issuer of the ID token does not respond.",
            "database unavailable, retry later",
            "issuer unavailable, retry later",
            retry_after=True,
        ),
        "507": _FULL,
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
        "200": _json(
            "An image must be smaller than `max_image_bytes`. You may cache the reply for a minute.",
            _object(
                {
                    "max_image_bytes": {"type": "integer", "minimum": 1},
                    "uploads_per_minute": {"type": "integer", "minimum": 1},
                    "max_name_characters": {"const": MAX_NAME_CHARACTERS},
                }
            ),
        ),
        "500": _FAULT,
    },
}

_HEALTH: dict[str, Any] = {
    "summary": "Check that the API is up",
    "operationId": "healthz",
    "responses": {200: _json("The API is up.", _object({"status": {"const": "ok"}}))},
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
            "/v1/limits": {"get": _LIMITS},
            "/v1/oidc/token": {"post": _EXCHANGE},
            "/healthz": {"get": _HEALTH},
        },
        "components": {"securitySchemes": _SECURITY_SCHEMES},
    }
