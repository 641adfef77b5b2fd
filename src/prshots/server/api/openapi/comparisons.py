"""The operations on baselines, comparisons and pull requests."""

from typing import Any

from prshots.contract.limits import MAX_BASE_COMMITS, MAX_KNOWN_SHOTS
from prshots.contract.replies import Comparison, CompletedBaselines, Described, KnownBaselines
from prshots.server.api.openapi.operations import (
    INVALID_BODY,
    OTHER_PULL_REQUEST,
    error_reply,
    json_body,
    json_reply,
    operation,
    parameter,
)
from prshots.server.api.openapi.schemas import (
    BRANCH,
    COMMIT,
    FULL_COMMIT,
    NAME,
    PR_NUMBER,
    SHA256,
    THEME,
    VIEWPORT_SIZE,
    Schema,
    object_of,
    or_null,
    schema_of,
)
from prshots.server.api.openapi.uploads import NOT_ITS_BRANCH
from prshots.server.domain.projects.names import MAX_ADDRESS

_COMMIT_OF_BRANCH = {"branch": BRANCH, "commit_sha": FULL_COMMIT}
_COMPARISON = schema_of(Comparison)
_OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}

_KNOWN_BASELINES = operation(
    "Reuse baselines whose bytes the service has",
    "knownBaselines",
    {
        "200": json_reply("Recorded. Upload only what is `missing`.", schema_of(KnownBaselines)),
        "400": INVALID_BODY,
        "403": NOT_ITS_BRANCH,
    },
    body=json_body(
        object_of(
            _COMMIT_OF_BRANCH
            | {
                "shots": {
                    "type": "array",
                    "items": object_of(
                        {"name": NAME, "viewport": VIEWPORT_SIZE, "sha256": SHA256},
                        {"theme": or_null(THEME)},
                    ),
                    "maxItems": MAX_KNOWN_SHOTS,
                }
            }
        )
    ),
)

_COMPLETE_BASELINES = operation(
    "Mark a commit's baselines complete",
    "completeBaselines",
    {
        "200": json_reply("Recorded.", schema_of(CompletedBaselines)),
        "400": INVALID_BODY,
        "403": NOT_ITS_BRANCH,
    },
    body=json_body(object_of(_COMMIT_OF_BRANCH)),
)

_COMPARE = operation(
    "Compare a pull request with its base",
    "compare",
    {
        "200": json_reply("Compared.", _COMPARISON),
        "202": json_reply(
            "Still running after 10 s: `GET` the latest. `shots` has the shots compared so far.", _COMPARISON
        ),
        "400": INVALID_BODY,
        "403": OTHER_PULL_REQUEST,
    },
    body=json_body(
        object_of(
            {"pr_number": PR_NUMBER, "commit_sha": COMMIT, "branch": BRANCH},
            {
                "commits": {
                    "type": "array",
                    "items": FULL_COMMIT,
                    "maxItems": MAX_BASE_COMMITS,
                    "description": "The base's first-parent history, newest first.",
                },
                "complete": {
                    "type": "boolean",
                    "description": "These are all shots of the run, so a missing one was removed.",
                },
            },
        )
    ),
)

_LATEST_COMPARISON = operation(
    "Get the latest comparison of a pull request",
    "latestComparison",
    {
        "200": json_reply("The comparison of the newest commit that has one.", _COMPARISON),
        "400": error_reply("A parameter is invalid.", "pr_number required"),
        "403": OTHER_PULL_REQUEST,
        "404": error_reply("Nothing has been compared yet.", "not found"),
    },
    parameters=[parameter("pr_number", PR_NUMBER, required=True)],
)

_DESCRIBE_PULL = operation(
    "Describe a pull request as the forge knows it",
    "describePullRequest",
    {
        "200": json_reply("Recorded.", schema_of(Described)),
        "400": INVALID_BODY,
        "403": OTHER_PULL_REQUEST,
        "404": error_reply("Nothing has been uploaded to the pull request yet.", "not found"),
    },
    body=json_body(
        object_of(
            {"pr_number": PR_NUMBER},
            {
                "repository": _OPTIONAL_TEXT
                | {
                    "pattern": "^(https?://[a-z0-9.-]{1,60}(/[A-Za-z0-9._~-]{1,60}){0,4})?$",
                    "description": "The web address of the repository.",
                },
                "url": _OPTIONAL_TEXT
                | {
                    "minLength": 0,
                    "maxLength": MAX_ADDRESS,
                    "description": "The web address of the pull request. Ignored unless it is under "
                    "`repository`.",
                },
                "title": _OPTIONAL_TEXT,
                "source_branch": _OPTIONAL_TEXT,
                "author": _OPTIONAL_TEXT,
            },
        )
    ),
)

COMPARISON_PATHS: dict[str, Any] = {
    "/v1/baseline/known": {"post": _KNOWN_BASELINES},
    "/v1/baseline/complete": {"post": _COMPLETE_BASELINES},
    "/v1/compare": {"post": _COMPARE, "get": _LATEST_COMPARISON},
    "/v1/pull": {"post": _DESCRIBE_PULL},
}
