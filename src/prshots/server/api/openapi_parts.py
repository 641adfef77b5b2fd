"""What the operations of the OpenAPI document share: fields, replies and errors."""

from typing import Any

from prshots.contract.limits import (
    COMMIT_SHA,
    IMAGE_ID,
    MAX_BRANCH_CHARACTERS,
    MAX_NAME_CHARACTERS,
    MAX_PR_NUMBER,
    THEMES,
    VIEWPORT,
)

ABOUT_IMAGE_ID = "The `id` from the upload's reply: 32 hexadecimal characters."

PR_NUMBER = {"type": "integer", "minimum": 1, "maximum": MAX_PR_NUMBER}
NAME = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_CHARACTERS,
    "description": "What the screenshot shows. Any text without a NUL.",
    "example": "checkout/cart",
}
A_COMMIT = {
    "type": "string",
    "pattern": f"^{COMMIT_SHA.pattern}$",
    "description": "7 to 40 hexadecimal characters.",
}
A_VIEWPORT = {
    "type": "string",
    "pattern": f"^{VIEWPORT.pattern}$",
    "description": "`<width>x<height>`, such as `1280x800`.",
    "example": "1280x800",
}
AN_IMAGE_ID = {"type": "string", "pattern": f"^{IMAGE_ID.pattern}$"}
TOKEN: list[dict[str, list[str]]] = [{"uploadToken": []}]

SECURITY_SCHEMES = {
    "uploadToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "`msr_` and 64 hexadecimal characters. Created in the dashboard, with "
        "`prshots token create PROJECT`, or in exchange for a CI job's ID token.",
    }
}


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def json_reply(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


RATE_LIMIT_HEADERS = {
    "RateLimit-Policy": {
        "schema": {"type": "string"},
        "description": 'The limit: `"uploads";q=120;w=60`. A project\'s own limit is named `project`.',
    },
    "RateLimit": {
        "schema": {"type": "string"},
        "description": "How many uploads are left, and the seconds until one more is left: "
        '`"uploads";r=119;t=60`. Missing while uploads cannot be counted.',
    },
}


def error_reply(description: str, *messages: str, retry_after: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if messages:
        schema["enum"] = list(messages)
    reply = json_reply(description, object_of({"error": schema}))
    if retry_after:
        reply["headers"] = {
            "Retry-After": {
                "schema": {"type": "integer"},
                "description": "Seconds to wait before a retry.",
            }
        }
    return reply


UNAUTHORIZED = error_reply("The token is missing or invalid.", "unauthorized")
OTHER_PULL_REQUEST = error_reply("The token is for another pull request, which its job runs for.")
TIMEOUT = error_reply("The request body took too long.", "request body timed out")
FAULT = error_reply(
    "An internal error. The service's log has the details, under the reply's `X-Request-Id`.",
    "internal error",
)
FULL = error_reply("The storage is full.", "storage full, retry later", retry_after=True)
_OUTAGES = ("storage unavailable, retry later", "database unavailable, retry later")
UNAVAILABLE = error_reply("The store or the database does not respond.", *_OUTAGES, retry_after=True)
UNAVAILABLE_OR_BUSY = error_reply(
    "The store or the database does not respond, or the token has too many requests in progress.",
    *_OUTAGES,
    "too many uploads in progress, retry later",
    retry_after=True,
)

A_THEME = {
    "type": "string",
    "enum": ["", *THEMES],
    "description": "Optional. With another theme, it is another shot.",
}
A_BRANCH = {"type": "string", "minLength": 1, "maxLength": MAX_BRANCH_CHARACTERS, "example": "main"}
A_FULL_COMMIT = {"type": "string", "pattern": "^[0-9a-fA-F]{40}$"}
A_URL = {"type": "string", "format": "uri"}
