"""The part of the OpenAPI document about baselines, comparison and pull requests."""

from typing import Any

from prshots.contract.limits import MAX_BASE_COMMITS, MAX_KNOWN_SHOTS
from prshots.contract.replies import MANUAL, ComparisonState, Verdict
from prshots.server.api.openapi_parts import (
    A_BRANCH,
    A_COMMIT,
    A_FULL_COMMIT,
    A_THEME,
    A_URL,
    A_VIEWPORT,
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
from prshots.server.domain.projects.names import MAX_ADDRESS

NOT_ITS_BRANCH = error_reply("The token came from a CI job, which cannot write baselines of this branch.")

_COUNT = {"type": "integer", "minimum": 0}
_NO_URL = {"type": ["string", "null"], "format": "uri"}
_NO_COMMIT = {"type": ["string", "null"]}
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_KNOWN_SHOT = object_of({"name": NAME, "viewport": A_VIEWPORT, "sha256": _SHA256})
_KNOWN_SHOT["properties"]["theme"] = {"type": ["string", "null"], "enum": [None, *A_THEME["enum"]]}

_SHOT = object_of(
    {
        "name": NAME,
        "viewport": A_VIEWPORT,
        "theme": A_THEME,
        "verdict": {"type": "string", "enum": list(Verdict)},
        "pixels": _COUNT | {"description": "Pixels that differ."},
        "regions": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
            "description": "Left, top, width and height, in pixels of the image after.",
        },
        "shift": {
            "type": "integer",
            "description": "By how many rows the content below moved down; negative: up.",
        },
        "view_url": _NO_URL,
        "before_url": _NO_URL,
        "diff_url": _NO_URL,
        "base_commit": _NO_COMMIT,
    }
)
_SHOT["properties"] |= {
    "ancestor": {
        "const": False,
        "description": "Only there if the base is the newest baseline of the branch, because no listed "
        "commit has the shot.",
    },
    "reason": {"type": "string", "description": "Why the comparison failed."},
    "pair": {
        "const": MANUAL,
        "description": "Only there if the before was uploaded with the image. Then there is no base commit.",
    },
    "commit_sha": A_COMMIT
    | {"description": "Only there if the image is of an earlier commit: a pair stays until it is replaced."},
}
_COUNTS = object_of({verdict: _COUNT for verdict in Verdict if verdict is not Verdict.FAILED})
_COUNTS["properties"]["failed"] = _COUNT | {"description": "Only there if a shot could not be compared."}
_PAIRS = _COUNT | {"description": "How many shots were compared with a before uploaded with them, if any."}
_COMPARISON = object_of(
    {
        "pr_number": PR_NUMBER,
        "commit_sha": A_COMMIT,
        "branch": A_BRANCH,
        "base_commit": _NO_COMMIT,
        "state": {"type": "string", "enum": list(ComparisonState)},
        "counts": _COUNTS,
        "shots": {"type": "array", "items": _SHOT},
        "dashboard_url": A_URL,
    }
)
_COMPARISON["properties"]["pairs"] = _PAIRS


def _post(
    summary: str,
    operation_id: str,
    body: dict[str, Any],
    replies: dict[str, Any],
    forbidden: dict[str, Any],
) -> dict[str, Any]:
    return {
        "summary": summary,
        "operationId": operation_id,
        "responses": replies
        | {
            "400": error_reply("The body is invalid. The message names the first invalid field."),
            "401": UNAUTHORIZED,
            "403": forbidden,
            "408": TIMEOUT,
            "500": FAULT,
            "503": UNAVAILABLE_OR_BUSY,
            "507": FULL,
        },
        "security": TOKEN,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
    }


_COMPARE_BODY = object_of({"pr_number": PR_NUMBER, "commit_sha": A_COMMIT, "branch": A_BRANCH})
_COMPARE_BODY["properties"] |= {
    "commits": {
        "type": "array",
        "items": A_FULL_COMMIT,
        "maxItems": MAX_BASE_COMMITS,
        "description": "The base's first-parent history, newest first.",
    },
    "complete": {
        "type": "boolean",
        "description": "These are all shots of the run, so that a missing one was removed.",
    },
}
_TEXT = {"type": ["string", "null"]}
_PULL_BODY = object_of({"pr_number": PR_NUMBER})
_PULL_BODY["properties"] |= {
    "repository": _TEXT
    | {
        "pattern": "^(https?://[a-z0-9.-]{1,60}(/[A-Za-z0-9._~-]{1,60}){0,4})?$",
        "description": "The web address of the repository.",
    },
    "url": _TEXT
    | {
        "minLength": 0,
        "maxLength": MAX_ADDRESS,
        "description": "The web address of the pull request. Ignored unless it is below `repository`.",
    },
    "title": _TEXT,
    "source_branch": _TEXT,
    "author": _TEXT,
}
_OF_COMMIT = {"branch": A_BRANCH, "commit_sha": A_FULL_COMMIT}
_KNOWN_SHOTS = {"type": "array", "items": _KNOWN_SHOT, "maxItems": MAX_KNOWN_SHOTS}

COMPARISON_PATHS: dict[str, Any] = {
    "/v1/baseline/known": {
        "post": _post(
            "Reuse baselines whose bytes the service has",
            "knownBaselines",
            object_of(_OF_COMMIT | {"shots": _KNOWN_SHOTS}),
            {
                "200": json_reply(
                    "Recorded. Upload only what is `missing`.",
                    object_of(_OF_COMMIT | {"recorded": _COUNT, "missing": _KNOWN_SHOTS}),
                )
            },
            NOT_ITS_BRANCH,
        )
    },
    "/v1/baseline/complete": {
        "post": _post(
            "Say that a commit has all its baselines",
            "completeBaselines",
            object_of(_OF_COMMIT),
            {"200": json_reply("Noted.", object_of(_OF_COMMIT | {"shots": _COUNT}))},
            NOT_ITS_BRANCH,
        )
    },
    "/v1/compare": {
        "post": _post(
            "Compare a pull request with its base",
            "compare",
            _COMPARE_BODY,
            {
                "200": json_reply("Compared.", _COMPARISON),
                "202": json_reply(
                    "Still running after 10 s: `GET` the latest. `shots` has those that are known.",
                    _COMPARISON,
                ),
            },
            OTHER_PULL_REQUEST,
        ),
        "get": {
            "summary": "Get the latest comparison of a pull request",
            "operationId": "latestComparison",
            "responses": {
                "200": json_reply("The comparison of the newest commit that has one.", _COMPARISON),
                "400": error_reply("A parameter is invalid.", "pr_number required"),
                "401": UNAUTHORIZED,
                "403": OTHER_PULL_REQUEST,
                "404": error_reply("Nothing was compared yet.", "not found"),
                "500": FAULT,
                "503": UNAVAILABLE,
                "507": FULL,
            },
            "security": TOKEN,
            "parameters": [{"name": "pr_number", "in": "query", "required": True, "schema": PR_NUMBER}],
        },
    },
    "/v1/pull": {
        "post": _post(
            "Say what the forge knows about a pull request",
            "describePullRequest",
            _PULL_BODY,
            {
                "200": json_reply("Noted.", object_of({"pr_number": PR_NUMBER, "dashboard_url": A_URL})),
                "404": error_reply("Nothing was uploaded to the pull request yet.", "not found"),
            },
            OTHER_PULL_REQUEST,
        )
    },
}
