"""`/v1/compare`: compare the images of a pull request, and get the latest result."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.contract.limits import COMMIT_SHA, FULL_COMMIT_SHA, MAX_BASE_COMMITS
from prshots.contract.replies import ComparisonState
from prshots.server.api.authorized_json import read_authorized_json
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.fields import (
    NOT_TEXT,
    branch_of,
    flag_of,
    pr_number_from_json,
    pr_number_from_text,
    text_of,
)
from prshots.server.api.query import only_value
from prshots.server.api.replies import reply_json
from prshots.server.api.request_body import bearer
from prshots.server.api.services import PublicServices
from prshots.server.domain.comparison.models import ComparisonRequest
from prshots.server.domain.images.checks import check_commit, check_form, require_pr
from prshots.server.http.json_response import JSONResponse

BAD_COMMITS = f"commits must be a list of at most {MAX_BASE_COMMITS} commits of 40 hexadecimal characters"
BAD_COMPLETE = "complete must be true or false"


def comparison_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    accounts, comparisons = services.accounts, services.comparisons

    async def compare(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        asked = read_comparison_request(access.project.id, body)
        require_pr(access.only_pr, asked.pr_number)
        comparison = await comparisons.compare(access.project, asked)
        is_running = comparison.state is ComparisonState.RUNNING
        return JSONResponse(reply_json(comparison), status_code=202 if is_running else 200)

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

    return [Route("/v1/compare", compare_or_latest, methods=["GET", "POST"])]


def read_comparison_request(project_id: str, body: Mapping[str, object]) -> ComparisonRequest:
    """Raise InvalidInputError."""
    pr_number = pr_number_from_json(body.get("pr_number"))
    commit_sha = check_commit(text_of(body, "commit_sha"), COMMIT_SHA)
    branch = branch_of(body)
    commits = body.get("commits", [])
    if not isinstance(commits, list) or len(commits) > MAX_BASE_COMMITS:
        raise InvalidInputError(BAD_COMMITS)
    ancestors = tuple(_read_ancestor(commit) for commit in commits)
    is_complete = flag_of(body, "complete") if "complete" in body else False
    if is_complete is None:
        raise InvalidInputError(BAD_COMPLETE)
    return ComparisonRequest(project_id, pr_number, commit_sha, branch, ancestors, is_complete)


def _read_ancestor(commit: object) -> str:
    return check_form(FULL_COMMIT_SHA, commit if isinstance(commit, str) else NOT_TEXT, BAD_COMMITS).lower()
