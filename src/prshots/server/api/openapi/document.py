"""The OpenAPI document: the parameters, replies and errors of every public route."""

from typing import Any

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker, View
from prshots.contract.gates import NoBaseline
from prshots.contract.limits import (
    MAX_BASE_COMMITS,
    MAX_DECIDED_PAIRS,
    MAX_KNOWN_SHOTS,
    MAX_NOTE,
    MAX_QUEUED_PULLS,
    SHA256,
)
from prshots.contract.replies import (
    Comparison,
    CompletedBaselines,
    Decided,
    Deleted,
    Described,
    Expired,
    GrantedToken,
    KnownBaselines,
    KnownUploads,
    PullGate,
    ServiceLimits,
    SizedComment,
)
from prshots.server.api.comparisons import BAD_MERGED_AS
from prshots.server.api.decisions import BAD_NO_BASELINE
from prshots.server.api.fields import BAD_LIMIT, BAD_MARKER, BAD_VIEW
from prshots.server.api.openapi.operations import (
    FAULT,
    RATE_LIMITED,
    SECURITY_SCHEMES,
    error_reply,
    json_body,
    json_reply,
    operation,
    parameter,
    path_parameter,
    required_parameter,
)
from prshots.server.api.openapi.schemas import (
    FIELDS,
    FULL_COMMIT,
    SHARE,
    Schema,
    named,
    object_of,
    or_null,
    schema_of,
)
from prshots.server.api.openapi.uploads import NOT_ITS_BRANCH, upload_paths
from prshots.server.domain.projects.models import MAX_ADDRESS
from prshots.server.domain.review.service import CHANGED

DESCRIPTION = (
    "Upload a screenshot and get a signed, time-limited image URL and ready-to-paste markdown. One comment "
    'per pull request lists all screenshots. Every error is `{"error": "<message>"}`.'
)
_DATABASE_DOWN = "database unavailable, retry later"

_DELETE = operation(
    "Delete an image now, regardless of the policy",
    "deleteImage",
    {
        "200": json_reply("Deleted.", schema_of(Deleted)),
        "404": error_reply("The project has no such image.", "not found"),
        "503": error_reply(
            "The image could not be deleted now. After `expire failed`, the hourly sweep deletes it. After "
            "`database unavailable`, delete it again.",
            "expire failed, retry later",
            _DATABASE_DOWN,
            retry_after=True,
        ),
    },
    parameters=[path_parameter("image_id", "The `id` from the upload's reply: 32 hexadecimal characters.")],
)

_COMMENT = operation(
    "Get the pull request's comment as markdown",
    "comment",
    {
        "200": json_reply(
            "The first line is the marker `<!-- svc:pr-<pr_number> -->`, to find the comment again. "
            "With `limit`, `marker` or `view`, the reply also has the heading and the counts.",
            schema_of(SizedComment, optional={"heading", "count", "shown", "listed", "omitted"}),
        ),
        "400": error_reply("A parameter is invalid.", "pr_number required", BAD_LIMIT, BAD_MARKER, BAD_VIEW),
    },
    parameters=[
        required_parameter("pr_number"),
        parameter(
            "limit",
            {"type": "integer", "minimum": MIN_COMMENT_BYTES, "maximum": MAX_COMMENT_BYTES},
            "The maximum size of the markdown in bytes of UTF-8. To fit, it lists the oldest screenshots "
            "without their image, and omits the oldest of those.",
        ),
        parameter(
            "marker",
            {"type": "string", "enum": list(Marker)},
            "`html` (the default), or `link` for forges that show HTML as text: the marker is then "
            "`[//]: # (svc:pr-<pr_number>)`, and the markdown has no HTML.",
        ),
        parameter(
            "view",
            {"type": "string", "enum": list(View)},
            "`all` (the default): every image, oldest first. `latest`: the newest image of each shot. "
            "`changes`: each change from the base once, with a picture.",
        ),
    ],
)

_EXPIRE = operation(
    "Apply the expiry policy to a closed pull request",
    "expire",
    {
        "200": json_reply(
            "Done. The hourly sweep deletes images that could not be deleted now.", schema_of(Expired)
        ),
        "400": error_reply(
            "The body is not JSON with a positive integer `pr_number`, or another field is invalid.",
            "pr_number required",
            BAD_MERGED_AS,
            "branch required",
        ),
    },
    body=json_body(
        named("pr_number"),
        {
            "merged_as": or_null(FULL_COMMIT)
            | {"description": "The merge commit. Changed, moved and new images become its baselines."},
            "branch": or_null(FIELDS["branch"]) | {"description": "The branch that it was merged into."},
        },
    ),
)

_COMMIT_OF_BRANCH = named("branch") | {"commit_sha": FULL_COMMIT}
_COMPARISON = schema_of(Comparison)
_OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}

_KNOWN_SHOTS: Schema = {
    "type": "array",
    "items": object_of(named("name", "viewport", "sha256"), {"theme": or_null(FIELDS["theme"])}),
    "maxItems": MAX_KNOWN_SHOTS,
}

_KNOWN_UPLOADS = operation(
    "Give a commit the images that the service already has",
    "knownUploads",
    {
        "200": json_reply(
            "The commit has the known images, as if they had been uploaded. Upload only the `missing` shots.",
            schema_of(KnownUploads),
        ),
        "400": error_reply("The body is invalid. The message names the first invalid field."),
        "429": RATE_LIMITED,
    },
    body=json_body(named("pr_number", "commit_sha") | {"shots": _KNOWN_SHOTS}),
)

_KNOWN_BASELINES = operation(
    "Reuse baselines whose bytes are already stored",
    "knownBaselines",
    {
        "200": json_reply("Recorded. Upload only the `missing` shots.", schema_of(KnownBaselines)),
        "403": NOT_ITS_BRANCH,
    },
    body=json_body(_COMMIT_OF_BRANCH | {"shots": _KNOWN_SHOTS}),
)

_COMPLETE_BASELINES = operation(
    "Mark a commit's baselines complete",
    "completeBaselines",
    {
        "200": json_reply("Recorded.", schema_of(CompletedBaselines)),
        "403": NOT_ITS_BRANCH,
        "429": RATE_LIMITED,
    },
    body=json_body(_COMMIT_OF_BRANCH),
)

_COMPARE = operation(
    "Compare a pull request with its base",
    "compare",
    {
        "200": json_reply("Compared.", _COMPARISON),
        "202": json_reply(
            "Still running after 10 s: `GET` the latest. `shots` has the shots compared so far.", _COMPARISON
        ),
        "404": error_reply("The pull request was closed while its images were compared.", "not found"),
        "429": RATE_LIMITED,
    },
    body=json_body(
        named("pr_number", "commit_sha", "branch"),
        {
            "commits": {
                "type": "array",
                "items": FULL_COMMIT,
                "maxItems": MAX_BASE_COMMITS,
                "description": "The base's first-parent history, newest first.",
            },
            "complete": {
                "type": "boolean",
                "description": "Whether these are all shots of the run, so missing ones were removed.",
            },
            "queued_pulls": {
                "type": "array",
                "items": FIELDS["pr_number"],
                "maxItems": MAX_QUEUED_PULLS,
                "description": "The pull requests ahead in a merge queue. Decisions about them also count.",
            },
        },
    ),
)

_LATEST_COMPARISON = operation(
    "Get the latest comparison of a pull request",
    "latestComparison",
    {
        "200": json_reply("The comparison of the newest commit that has one.", _COMPARISON),
        "400": error_reply("A parameter is invalid.", "pr_number required"),
        "404": error_reply("Nothing has been compared yet.", "not found"),
        "429": RATE_LIMITED,
    },
    parameters=[required_parameter("pr_number")],
)

_PIXELS: Schema = {
    "type": "string",
    "pattern": f"^({SHA256.pattern})?$",
    "description": "As in the comparison. Empty without such an image.",
}


def _has_pixels(side: str) -> Schema:
    return {"required": [side], "properties": {side: {"minLength": 1}}}


_REJECT = operation(
    "Reject changes",
    "reject",
    {
        "200": json_reply("Recorded. Only people can approve, in the dashboard.", schema_of(Decided)),
        "409": error_reply("The newest comparison doesn't have one of the pairs.", CHANGED),
        "429": RATE_LIMITED,
    },
    body=json_body(
        named("pr_number")
        | {
            "pairs": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_DECIDED_PAIRS,
                "items": object_of(
                    named("name", "viewport"),
                    named("theme") | {"pixels_before": _PIXELS, "pixels_after": _PIXELS},
                )
                | {"anyOf": [_has_pixels("pixels_before"), _has_pixels("pixels_after")]},
            }
        },
        {
            "note": {"type": "string", "maxLength": MAX_NOTE},
            "pin": object_of({"x": SHARE, "y": SHARE}) | {"description": "The point that the note is about."},
        },
    ),
)

_GATE = operation(
    "Get the gate of a pull request, and the commit statuses to post",
    "gate",
    {
        "200": json_reply("Blocked without a comparison of the newest commit.", schema_of(PullGate)),
        "400": error_reply("A parameter is invalid.", "pr_number required", BAD_NO_BASELINE),
        "429": RATE_LIMITED,
    },
    parameters=[
        required_parameter("pr_number"),
        parameter(
            "no_baseline",
            {"type": "string", "enum": list(NoBaseline), "default": NoBaseline.BLOCK},
            "`pass`: the project passes if only the base branch's baselines are missing.",
        ),
    ],
)
_SKIP = operation(
    "Record that a commit's run takes no screenshots",
    "skip",
    {
        "200": json_reply("The project passes. Other projects' gates don't change.", schema_of(PullGate)),
        "429": RATE_LIMITED,
    },
    body=json_body(
        named("pr_number", "commit_sha")
        | {"skip": {"type": "string", "pattern": r"[^\s\u0000]", "description": "The reason."}}
    ),
)

_DESCRIBE_PULL = operation(
    "Store the forge's description of a pull request",
    "describePullRequest",
    {
        "200": json_reply("Recorded.", schema_of(Described)),
        "404": error_reply("Nothing has been uploaded to the pull request yet.", "not found"),
    },
    body=json_body(
        named("pr_number"),
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
    ),
)

_EXCHANGE = operation(
    "Exchange a CI job's ID token for an upload token",
    "exchangeToken",
    {
        "200": json_reply("The project trusts the job.", schema_of(GrantedToken)),
        "400": error_reply("The job must name its project. The message says how."),
        "401": error_reply("The ID token is missing or refused. The service's log says why.", "unauthorized"),
        "503": error_reply(
            "The database or the issuer of the ID token does not respond, or too many jobs exchange tokens.",
            _DATABASE_DOWN,
            "issuer unavailable, retry later",
            "too many uploads in progress, retry later",
            retry_after=True,
        ),
    },
    body=json_body(
        {"id_token": {"type": "string", "description": "A JSON Web Token."}},
        {
            "project": {
                "type": "string",
                "description": "`organization/name`, or the project's id. For a project in the "
                "organization `local`, the name alone is enough, or omit the field.",
            }
        },
    ),
    needs_token=False,
)

_LIMITS = {
    "summary": "Get the limits of this service",
    "operationId": "limits",
    "responses": {
        "200": json_reply("You may cache the reply for a minute.", schema_of(ServiceLimits)),
        "500": FAULT,
    },
}
_HEALTH = {
    "summary": "Check that the API is up",
    "operationId": "healthz",
    "responses": {"200": json_reply("The API is up.", object_of({"status": {"const": "ok"}}))},
}


def openapi_document(*, version: str, base_url: str, max_image_bytes: int) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "prshots", "version": version, "description": DESCRIPTION},
        "servers": [{"url": base_url}],
        "paths": {
            **upload_paths(max_image_bytes),
            "/v1/images/{image_id}": {"delete": _DELETE},
            "/v1/comment": {"get": _COMMENT},
            "/v1/expire": {"post": _EXPIRE},
            "/v1/upload/known": {"post": _KNOWN_UPLOADS},
            "/v1/baseline/known": {"post": _KNOWN_BASELINES},
            "/v1/baseline/complete": {"post": _COMPLETE_BASELINES},
            "/v1/compare": {"post": _COMPARE, "get": _LATEST_COMPARISON},
            "/v1/gate": {"get": _GATE, "post": _SKIP},
            "/v1/reject": {"post": _REJECT},
            "/v1/pull": {"post": _DESCRIBE_PULL},
            "/v1/limits": {"get": _LIMITS},
            "/v1/oidc/token": {"post": _EXCHANGE},
            "/healthz": {"get": _HEALTH},
        },
        "components": {"securitySchemes": SECURITY_SCHEMES},
    }
