"""The part of the OpenAPI document about staged images and one-time URLs."""

from copy import deepcopy
from typing import Any

from prshots.contract.formats import FORMATS
from prshots.contract.limits import MAX_REPOSITORY_CHARACTERS, REPOSITORY
from prshots.server.api.openapi_parts import (
    A_BRANCH,
    A_COMMIT,
    A_THEME,
    A_URL,
    A_VIEWPORT,
    AN_IMAGE_ID,
    FAULT,
    FULL,
    NAME,
    OTHER_PULL_REQUEST,
    PR_NUMBER,
    TIMEOUT,
    TOKEN,
    UNAUTHORIZED,
    UNAVAILABLE,
    UNAVAILABLE_OR_BUSY,
    error_reply,
    json_reply,
    object_of,
)
from prshots.server.domain.images.checks import BAD_REPOSITORY, BAD_THEME
from prshots.server.domain.images.put_urls import BAD_WITH_BEFORE, BEFORE_FIRST, NO_TARGET
from prshots.server.domain.images.staging import BAD_FROM_FORK, MOST_LISTED

_NOT_ITS_BRANCH = error_reply("The token came from a CI job, which cannot stage images of this branch.")
_NOT_ITS_OWN = error_reply("The token came from a CI job of another pull request or branch.")
_A_REPOSITORY = {
    "type": "string",
    "pattern": f"^({REPOSITORY.pattern})?$",
    "maxLength": MAX_REPOSITORY_CHARACTERS,
    "description": "Optional: the `owner/name` that has the branch, if it is not the project's own.",
    "example": "acme/shop",
}
_A_TIME = {"type": "integer", "description": "A Unix time."}
_COUNT = {"type": "integer", "minimum": 0}
_STAGED_FIELDS = {"expires_at": _A_TIME, "dashboard_url": A_URL}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    allowed = {"enum": [None, *schema["enum"]]} if "enum" in schema else {}
    return schema | {"type": ["string", "null"]} | allowed


def staging_paths(upload: dict[str, Any]) -> dict[str, Any]:
    """Return the routes. What they share with an upload comes from its operation."""
    return {
        "/v1/staged": {"post": _stage(upload), "get": _LIST},
        "/v1/staged/move": {"post": _MOVE},
        "/v1/put-urls": {"post": _PUT_URLS},
        "/v1/put/{secret}": {"put": _put(upload)},
    }


def _stage(upload: dict[str, Any]) -> dict[str, Any]:
    stage = deepcopy(upload)
    stage |= {"summary": "Upload a screenshot before its pull request exists", "operationId": "stage"}
    stage["responses"]["403"] = _NOT_ITS_BRANCH
    _extend(stage["responses"]["200"], _STAGED_FIELDS)
    errors = stage["responses"]["400"]["content"]["application/json"]["schema"]["properties"]["error"]
    at = errors["enum"].index("pr_number required")
    errors["enum"][at : at + 1] = ["branch required", BAD_REPOSITORY]
    form = stage["requestBody"]["content"]["multipart/form-data"]["schema"]
    form["required"] = ["branch" if name == "pr_number" else name for name in form["required"]]
    del form["properties"]["pr_number"]
    form["properties"] |= {"branch": A_BRANCH, "repository": _A_REPOSITORY}
    return stage


def _extend(reply: dict[str, Any], properties: dict[str, Any]) -> None:
    schema = reply["content"]["application/json"]["schema"]
    schema["properties"] |= properties
    schema["required"] += list(properties)


_SHOT = object_of(
    {
        "id": AN_IMAGE_ID,
        "view_url": A_URL,
        "markdown": {"type": "string"},
        **_STAGED_FIELDS,
        "name": NAME,
        "viewport": A_VIEWPORT,
        "theme": A_THEME,
        "commit_sha": A_COMMIT,
    }
)
_SHOT["properties"]["before_url"] = A_URL | {"description": "Only there if it was uploaded with its before."}
_LIST: dict[str, Any] = {
    "summary": "List what is staged for a branch",
    "operationId": "listStaged",
    "responses": {
        "200": json_reply(
            f"The newest {MOST_LISTED:,} images, in upload order.",
            object_of({"branch": A_BRANCH, "staged": {"type": "array", "items": _SHOT}}),
        ),
        "400": error_reply("A parameter is invalid."),
        "401": UNAUTHORIZED,
        "403": _NOT_ITS_BRANCH,
        "500": FAULT,
        "503": UNAVAILABLE,
        "507": FULL,
    },
    "security": TOKEN,
    "parameters": [
        {"name": "branch", "in": "query", "required": True, "schema": A_BRANCH},
        {
            "name": "repository",
            "in": "query",
            "description": "List only what a move to a pull request from this repository would move.",
            "schema": _A_REPOSITORY,
        },
    ],
}


def _json_post(
    summary: str, operation_id: str, body: dict[str, Any], replies: dict[str, Any]
) -> dict[str, Any]:
    return {
        "summary": summary,
        "operationId": operation_id,
        "responses": replies
        | {
            "401": UNAUTHORIZED,
            "408": TIMEOUT,
            "500": FAULT,
            "503": UNAVAILABLE_OR_BUSY,
            "507": FULL,
        },
        "security": TOKEN,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
    }


_MOVE_BODY = object_of({"branch": A_BRANCH, "pr_number": PR_NUMBER, "from_fork": {"type": "boolean"}})
_MOVE_BODY["properties"]["repository"] = _or_null(_A_REPOSITORY)
_MOVE = _json_post(
    "Move what is staged for a branch to its pull request",
    "moveStaged",
    _MOVE_BODY,
    {
        "200": json_reply(
            "What is moved now belongs to the pull request, under the same URLs.",
            object_of(
                {
                    "branch": A_BRANCH,
                    "pr_number": PR_NUMBER,
                    "moved": _COUNT,
                    "kept": _COUNT | {"description": "How many images stay staged for the branch."},
                    "reason": {"type": "string", "description": "Why they stay; empty if none does."},
                }
            ),
        ),
        "400": error_reply(
            f"The body is invalid, such as `{BAD_FROM_FORK}`. The message names the first invalid field."
        ),
        "403": OTHER_PULL_REQUEST,
    },
)

_PUT_URLS_BODY = object_of(
    {
        "name": NAME,
        "commit_sha": A_COMMIT,
        "viewport": A_VIEWPORT,
        "content_type": {"type": "string", "enum": [known.content_type for known in FORMATS]},
    }
)
_PUT_URLS_BODY["properties"] |= {
    "theme": _or_null(A_THEME),
    "pr_number": PR_NUMBER,
    "branch": A_BRANCH,
    "repository": _or_null(_A_REPOSITORY),
    "with_before": {"type": "boolean", "description": "Also return a URL for the image's before."},
}
_PUT_URLS_BODY["oneOf"] = [{"required": ["pr_number"]}, {"required": ["branch"]}]
_PUT_URLS_REPLY = object_of({"put_url": A_URL, "expires_at": _A_TIME})
_PUT_URLS_REPLY["properties"]["before_put_url"] = A_URL | {"description": "Only there with `with_before`."}
_PUT_URLS = _json_post(
    "Get a URL that takes one image, without a token",
    "createPutUrl",
    _PUT_URLS_BODY,
    {
        "200": json_reply("`PUT` the image to `put_url` within 10 minutes.", _PUT_URLS_REPLY),
        "400": error_reply(
            f"The body is invalid, such as `{NO_TARGET}`, `{BAD_THEME}` or `{BAD_WITH_BEFORE}`. The message "
            "names the first invalid field."
        ),
        "403": _NOT_ITS_OWN,
        "415": error_reply("The type is not supported.", "unsupported content-type (png/jpeg/webp)"),
    },
)


def _put(upload: dict[str, Any]) -> dict[str, Any]:
    of_upload = upload["responses"]
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        "summary": "Upload an image to a one-time URL",
        "operationId": "put",
        "responses": {
            "200": json_reply(
                "Stored. The reply is that of `/v1/upload` or, for a branch, of `/v1/staged`.",
                of_upload["200"]["content"]["application/json"]["schema"],
            ),
            "400": error_reply("The body is incomplete.", "image file required"),
            "404": error_reply("The URL is unknown, was used, or has expired.", "not found"),
            "408": TIMEOUT,
            "409": error_reply("The image's before has its own URL.", BEFORE_FIRST),
            "415": error_reply(
                "The Content-Type is not the one that the URL is for, or the content does not match it."
            ),
            **{status: of_upload[status] for status in ("413", "429", "500", "503", "507")},
        },
        "parameters": [
            {
                "name": "secret",
                "in": "path",
                "required": True,
                "description": "From the `put_url`. The body is the image, with the declared Content-Type.",
                "schema": {"type": "string"},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {known.content_type: binary for known in FORMATS},
        },
    }
