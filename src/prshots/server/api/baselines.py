"""`/v1/baseline/known` and `/v1/baseline/complete`: what a client says about the baselines of a commit."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import FULL_COMMIT_SHA, MAX_KNOWN_SHOTS, SHA256
from prshots.contract.replies import CompletedBaselines, KnownBaselines, KnownShot
from prshots.server.api.authorized_json import read_authorized_json
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.fields import branch_of, text_of
from prshots.server.api.replies import reply_json
from prshots.server.api.services import PublicServices
from prshots.server.domain.comparison.baselines import KnownShots
from prshots.server.domain.images.checks import (
    check_commit,
    check_form,
    check_name,
    check_theme,
    check_viewport,
)
from prshots.server.domain.images.models import ShotKey
from prshots.server.http.json_response import JSONResponse

MAX_KNOWN_BYTES = 4 * 1024**2
"""A thousand shots with the longest names fit."""

BAD_SHOTS = f"shots must be a list of at most {MAX_KNOWN_SHOTS:,} objects"
BAD_SHA256 = "sha256 must be 64 lower-case hexadecimal characters"
BAD_MERGED_AS = "merged_as must be 40 hexadecimal characters"


def baseline_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    accounts, baselines = services.accounts, services.baselines

    async def reuse_known(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots, max_bytes=MAX_KNOWN_BYTES)
        asked = read_known_shots(body)
        missing = await baselines.reuse(access, asked)
        recorded = len(asked.shots) - len(missing)
        unknown = [KnownShot(*shot, sha256) for shot, sha256 in missing]
        return JSONResponse(reply_json(KnownBaselines(asked.branch, asked.commit_sha, recorded, unknown)))

    async def complete(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        branch, commit_sha = read_baseline_commit(body)
        shots = await baselines.complete(access, branch, commit_sha)
        return JSONResponse(reply_json(CompletedBaselines(branch, commit_sha, shots)))

    return [
        Route("/v1/baseline/known", reuse_known, methods=["POST"]),
        Route("/v1/baseline/complete", complete, methods=["POST"]),
    ]


def read_known_shots(body: Mapping[str, object]) -> KnownShots:
    """Raise InvalidInputError."""
    branch, commit_sha = read_baseline_commit(body)
    shots = body.get("shots")
    if not isinstance(shots, list) or len(shots) > MAX_KNOWN_SHOTS:
        raise InvalidInputError(BAD_SHOTS)
    return KnownShots(branch, commit_sha, [_read_known_shot(shot) for shot in shots])


def read_baseline_commit(body: Mapping[str, object]) -> tuple[str, str]:
    """Return the branch and the commit. Raises InvalidInputError."""
    branch = branch_of(body)
    return branch, check_commit(text_of(body, "commit_sha"), FULL_COMMIT_SHA)


def read_merged_as(body: Mapping[str, object]) -> tuple[str, str | None] | None:
    """Return the merge commit and the branch, if it is given; None without one. Raises InvalidInputError."""
    branch = None if body.get("branch") is None else branch_of(body)
    if body.get("merged_as") is None:
        return None
    return check_form(FULL_COMMIT_SHA, text_of(body, "merged_as"), BAD_MERGED_AS), branch


def _read_known_shot(shot: object) -> tuple[ShotKey, str]:
    if not isinstance(shot, dict):
        raise InvalidInputError(BAD_SHOTS)
    name = check_name(text_of(shot, "name"))
    viewport = check_viewport(text_of(shot, "viewport"))
    key = ShotKey(name, viewport, check_theme(text_of(shot, "theme")))
    return key, check_form(SHA256, text_of(shot, "sha256"), BAD_SHA256)
