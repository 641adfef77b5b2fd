"""`/v1/compare`, and what a client says about baselines, pull requests and their end."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.errors import NotFoundError
from prshots.contract.replies import (
    Comparison,
    ComparisonState,
    CompletedBaselines,
    KnownBaselines,
    KnownShot,
)
from prshots.server.api.authorized_json import authorized_json
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.query import only_value
from prshots.server.api.replies import reply_json
from prshots.server.api.request_body import bearer
from prshots.server.api.services import PublicServices
from prshots.server.domain.comparison.baselines import baseline_commit_from_json, known_shots_from_json
from prshots.server.domain.comparison.plan import request_from_json
from prshots.server.domain.images.checks import pr_number_from_text, require_pr
from prshots.server.domain.images.pull_requests import description_from_json
from prshots.server.http.json_response import JSONResponse

MAX_KNOWN_BYTES = 4 * 1024**2
"""A thousand shots with the longest names fit."""


def comparison_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    accounts, baselines, comparisons = services.accounts, services.baselines, services.comparisons

    async def known(request: Request) -> JSONResponse:
        access, body = await authorized_json(request, accounts, slots, max_bytes=MAX_KNOWN_BYTES)
        asked = known_shots_from_json(body)
        missing = await baselines.reuse(access, asked)
        recorded = len(asked.shots) - len(missing)
        unknown = [KnownShot(*shot, sha256) for shot, sha256 in missing]
        return JSONResponse(reply_json(KnownBaselines(asked.branch, asked.commit_sha, recorded, unknown)))

    async def complete(request: Request) -> JSONResponse:
        access, body = await authorized_json(request, accounts, slots)
        branch, commit_sha = baseline_commit_from_json(body)
        shots = await baselines.complete(access, branch, commit_sha)
        return JSONResponse(reply_json(CompletedBaselines(branch, commit_sha, shots)))

    async def compare(request: Request) -> JSONResponse:
        access, body = await authorized_json(request, accounts, slots)
        asked = request_from_json(access.project.id, body)
        require_pr(access.only_pr, asked.pr_number)
        return _reply(await comparisons.compare(access.project, asked))

    async def latest(request: Request) -> JSONResponse:
        access = await accounts.authenticate(bearer(request))
        pr_number = pr_number_from_text(only_value(request.query_params, "pr_number"))
        require_pr(access.only_pr, pr_number)
        found = await comparisons.latest(access.project, pr_number)
        if found is None:
            raise NotFoundError("not found")
        return JSONResponse(reply_json(found))

    async def compare_or_latest(request: Request) -> JSONResponse:
        """One route for both methods, so that another one gets a 405 that names them."""
        return await (compare if request.method == "POST" else latest)(request)

    async def describe(request: Request) -> JSONResponse:
        access, body = await authorized_json(request, accounts, slots)
        described = description_from_json(body)
        require_pr(access.only_pr, described.pr_number)
        return JSONResponse(reply_json(await services.pull_requests.describe(access.project, described)))

    return [
        _post("/v1/baseline/known", known),
        _post("/v1/baseline/complete", complete),
        Route("/v1/compare", compare_or_latest, methods=["GET", "POST"]),
        _post("/v1/pull", describe),
    ]


def _post(path: str, handle: Callable[[Request], Awaitable[JSONResponse]]) -> Route:
    return Route(path, handle, methods=["POST"])


def _reply(comparison: Comparison) -> JSONResponse:
    is_running = comparison.state is ComparisonState.RUNNING
    return JSONResponse(reply_json(comparison), status_code=202 if is_running else 200)
