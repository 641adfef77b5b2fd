"""Compares a pull request's images, manages their baselines, and reuses the bytes of known images."""

from collections.abc import Mapping
from contextlib import suppress

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.limits import (
    COMMIT_SHA,
    FULL_COMMIT_SHA,
    MAX_BASE_COMMITS,
    MAX_KNOWN_SHOTS,
    MAX_QUEUED_PULLS,
    SHA256,
)
from prshots.contract.rate_limits import LimitPolicy
from prshots.contract.replies import (
    ComparisonState,
    CompletedBaselines,
    KnownBaselines,
    KnownShot,
    KnownUploads,
    MissingShot,
)
from prshots.server.api import fields
from prshots.server.api.request_body import BodySlots, bearer, only_value, read_authorized_json
from prshots.server.api.services import PublicServices
from prshots.server.api.upload import count_against_limit, get_or_post
from prshots.server.domain.comparison.models import ComparisonRequest
from prshots.server.domain.images import checks
from prshots.server.domain.images.models import ShotKey
from prshots.server.http.json_response import JSONResponse

MAX_KNOWN_BYTES = 4 * 1024**2
"""Room for a thousand shots with the longest names."""

BAD_SHOTS = f"shots must be a list of at most {MAX_KNOWN_SHOTS:,} objects"
BAD_SHA256 = "sha256 must be 64 lower-case hexadecimal characters"
BAD_MERGED_AS = "merged_as must be 40 hexadecimal characters"
BAD_COMMITS = f"commits must be a list of at most {MAX_BASE_COMMITS} commits of 40 hexadecimal characters"
BAD_QUEUED_PULLS = f"queued_pulls must be a list of at most {MAX_QUEUED_PULLS} pull request numbers"


def comparison_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    accounts, reviews = services.accounts, services.reviews

    async def compare(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        asked = read_comparison_request(access.project.id, body)
        access.require_pr(asked.pr_number)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.COMPARE)
        comparison = await reviews.compare(access.project, asked)
        is_running = comparison.state is ComparisonState.RUNNING
        return JSONResponse(comparison, status_code=202 if is_running else 200)

    async def latest(request: Request) -> JSONResponse:
        access = await accounts.authenticate(bearer(request))
        pr_number = fields.pr_number_from_text(only_value(request.query_params, "pr_number"))
        access.require_pr(pr_number)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.POLL)
        found = await reviews.latest(access.project, pr_number)
        if found is None:
            raise NotFoundError("not found")
        return JSONResponse(found)

    return [get_or_post("/v1/compare", latest, compare)]


def known_upload_route(services: PublicServices, slots: BodySlots) -> Route:
    async def add_known(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(
            request, services.accounts, slots, max_bytes=MAX_KNOWN_BYTES
        )
        pr_number = fields.pr_number_from_json(body.get("pr_number"))
        commit_sha = checks.check_commit(fields.text_of(body, "commit_sha"), COMMIT_SHA)
        shots = read_known_shots(body)
        access.require_pr(pr_number)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.KNOWN)
        missing = await services.images.add_known(access.project, pr_number, commit_sha, shots)
        unknown = [MissingShot(*shot) for shot in missing]
        return JSONResponse(KnownUploads(len(shots) - len(missing), unknown))

    return Route("/v1/upload/known", add_known, methods=["POST"])


def read_comparison_request(project_id: str, body: Mapping[str, object]) -> ComparisonRequest:
    """Read the body of a comparison request. Raises InvalidInputError."""
    pr_number = fields.pr_number_from_json(body.get("pr_number"))
    commit_sha = checks.check_commit(fields.text_of(body, "commit_sha"), COMMIT_SHA)
    branch = fields.branch_of(body)
    commits = body.get("commits", [])
    if not isinstance(commits, list) or len(commits) > MAX_BASE_COMMITS:
        raise InvalidInputError(BAD_COMMITS)
    ancestors = tuple(_read_ancestor(commit) for commit in commits)
    is_complete = fields.flag_of(body, "complete", default=False)
    queued_pulls = _read_queued_pulls(body.get("queued_pulls", []))
    return ComparisonRequest(project_id, pr_number, commit_sha, branch, ancestors, is_complete, queued_pulls)


def _read_queued_pulls(value: object) -> tuple[int, ...]:
    if isinstance(value, list) and len(value) <= MAX_QUEUED_PULLS:
        with suppress(InvalidInputError):
            return tuple(map(fields.pr_number_from_json, value))
    raise InvalidInputError(BAD_QUEUED_PULLS)


def _read_ancestor(commit: object) -> str:
    return checks.check_form(
        FULL_COMMIT_SHA, commit if isinstance(commit, str) else fields.NOT_TEXT, BAD_COMMITS
    ).lower()


def baseline_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    accounts, baselines = services.accounts, services.baselines

    async def reuse_known(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots, max_bytes=MAX_KNOWN_BYTES)
        branch, commit_sha = read_baseline_commit(body)
        shots = read_known_shots(body)
        missing = await baselines.reuse(access, branch, commit_sha, shots)
        unknown = [KnownShot(*shot, sha256) for shot, sha256 in missing]
        return JSONResponse(KnownBaselines(branch, commit_sha, len(shots) - len(missing), unknown))

    async def complete(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        branch, commit_sha = read_baseline_commit(body)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.COMPLETE)
        shots = await baselines.complete(access, branch, commit_sha)
        return JSONResponse(CompletedBaselines(branch, commit_sha, shots))

    return [
        Route("/v1/baseline/known", reuse_known, methods=["POST"]),
        Route("/v1/baseline/complete", complete, methods=["POST"]),
    ]


def read_known_shots(body: Mapping[str, object]) -> list[tuple[ShotKey, str]]:
    """Return the shots that a client knows, with their hashes. Raises InvalidInputError."""
    shots = body.get("shots")
    if not isinstance(shots, list) or len(shots) > MAX_KNOWN_SHOTS:
        raise InvalidInputError(BAD_SHOTS)
    return [_read_known_shot(shot) for shot in shots]


def read_baseline_commit(body: Mapping[str, object]) -> tuple[str, str]:
    """Return the branch and the commit. Raises InvalidInputError."""
    branch = fields.branch_of(body)
    return branch, checks.check_commit(fields.text_of(body, "commit_sha"), FULL_COMMIT_SHA)


def read_merged_as(body: Mapping[str, object]) -> tuple[str, str | None] | None:
    """Return the merge commit and its optional branch, or None without a commit. Raises InvalidInputError."""
    branch = None if body.get("branch") is None else fields.branch_of(body)
    if body.get("merged_as") is None:
        return None
    return checks.check_form(FULL_COMMIT_SHA, fields.text_of(body, "merged_as"), BAD_MERGED_AS), branch


def _read_known_shot(shot: object) -> tuple[ShotKey, str]:
    if not isinstance(shot, dict):
        raise InvalidInputError(BAD_SHOTS)
    return fields.shot_of(shot), checks.check_form(SHA256, fields.text_of(shot, "sha256"), BAD_SHA256)
