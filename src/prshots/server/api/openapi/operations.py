"""The parts that all operations in the OpenAPI document share: their structure and common errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from prshots.contract.errors import QUOTA_REACHED
from prshots.server.api.openapi.schemas import FIELDS, Schema, object_of

Operation = dict[str, Any]
Reply = dict[str, Any]

SECURITY_SCHEMES = {
    "uploadToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "`msr_` and 64 hexadecimal characters. Create one in the dashboard or with "
        "`prshots token create PROJECT`, or exchange a CI job's ID token for one.",
    }
}
RATE_LIMIT_HEADERS = {
    "RateLimit-Policy": {
        "schema": {"type": "string"},
        "description": 'The limit: `"uploads";q=120;w=60`. A project\'s own limit is named `project`. Other '
        "calls have their own limits, such as `compare`.",
    },
    "RateLimit": {
        "schema": {"type": "string"},
        "description": "How many uploads or calls remain, and the seconds until one more is available: "
        '`"uploads";r=119;t=60`. Missing while they cannot be counted.',
    },
}
_RETRY_AFTER = {
    "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait before a retry."}
}


def json_reply(description: str, schema: Schema) -> Reply:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def error_reply(description: str, *messages: str, retry_after: bool = False) -> Reply:
    message = {"type": "string"} | ({"enum": list(messages)} if messages else {})
    headers = {"headers": _RETRY_AFTER} if retry_after else {}
    return json_reply(description, object_of({"error": message})) | headers


_OTHER_PULL_REQUEST = error_reply("The token belongs to a CI job for another pull request.")
_INVALID_BODY = error_reply("The body is invalid. The message names the first invalid field.")
RATE_LIMITED = error_reply(
    "Too many uploads, or calls of this kind, in a minute for the project. `RateLimit-Policy` has the limit.",
    "rate limited",
    retry_after=True,
)
RATE_LIMITED["headers"] = RATE_LIMITED["headers"] | RATE_LIMIT_HEADERS
INVALID_PARAMETER = error_reply("A parameter is invalid.")
_OUTAGES = ("storage unavailable, retry later", "database unavailable, retry later")
_UNAUTHORIZED = error_reply("The token is missing or invalid.", "unauthorized")
_TIMEOUT = error_reply("The request body took too long.", "request body timed out")
FAULT = error_reply(
    "An internal error. The service's log has the details, under the reply's `X-Request-Id`.",
    "internal error",
)
_UNAVAILABLE = error_reply("The store or the database does not respond.", *_OUTAGES, retry_after=True)
_UNAVAILABLE_OR_BUSY = error_reply(
    "The store or the database does not respond, or the project has too many requests in progress.",
    *_OUTAGES,
    "too many uploads in progress, retry later",
    retry_after=True,
)
FULL_OR_OVER_QUOTA = error_reply(
    "The storage is full, or a quota is reached. `Retry-After` is only set if the storage is full.",
    "storage full, retry later",
    QUOTA_REACHED,
    retry_after=True,
)
_FULL = error_reply("The storage is full.", "storage full, retry later", retry_after=True)


def operation(
    summary: str,
    operation_id: str,
    replies: dict[str, Reply],
    *,
    body: Mapping[str, Any] | None = None,
    parameters: Sequence[dict[str, Any]] = (),
    needs_token: bool = True,
) -> Operation:
    """Return an operation that uses the database. `body` maps content types to content.

    Adds the errors that every such operation can have, unless `replies` defines its own.
    """
    common: dict[str, Reply] = {"500": FAULT, "503": _UNAVAILABLE, "507": _FULL}
    described: Operation = {"summary": summary, "operationId": operation_id}
    if needs_token:
        common |= {"401": _UNAUTHORIZED, "403": _OTHER_PULL_REQUEST}
        described["security"] = [{"uploadToken": []}]
    if body:
        common |= {"400": _INVALID_BODY, "408": _TIMEOUT, "503": _UNAVAILABLE_OR_BUSY}
        described["requestBody"] = {"required": True, "content": body}
    if parameters:
        described["parameters"] = list(parameters)
    return described | {"responses": dict(sorted((common | replies).items()))}


def json_body(required: Schema, optional: Schema | None = None) -> dict[str, Any]:
    return {"application/json": {"schema": object_of(required, optional)}}


def parameter(name: str, schema: Schema, description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def required_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": FIELDS[name], "required": True}


def path_parameter(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
    }
