"""`POST /v1/pull`: a client describes a pull request."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.errors import InvalidInputError
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.fields import pr_number_from_json
from prshots.server.api.replies import reply_json
from prshots.server.api.request_body import read_authorized_json
from prshots.server.api.services import PublicServices
from prshots.server.domain.images.checks import require_pr
from prshots.server.domain.images.models import Description
from prshots.server.domain.projects.names import MAX_ADDRESS, check_repository
from prshots.server.http.json_response import JSONResponse

MAX_TEXT = 300


def pull_request_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    async def describe(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, services.accounts, slots)
        described = read_description(body)
        require_pr(access.only_pr, described.pr_number)
        return JSONResponse(reply_json(await services.images.describe(access.project, described)))

    return [Route("/v1/pull", describe, methods=["POST"])]


def read_description(body: Mapping[str, object]) -> Description:
    """Read the body of a description. Raises InvalidInputError."""
    pr_number = pr_number_from_json(body.get("pr_number"))
    repository, url = _line(body, "repository", MAX_ADDRESS).rstrip("/"), _line(body, "url", MAX_ADDRESS)
    if repository:
        check_repository(repository)
    is_below = repository and url.startswith(f"{repository}/")
    return Description(
        pr_number,
        repository,
        url.removeprefix(repository) if is_below else "",  # no link to a page outside the repository
        *(_line(body, name, MAX_TEXT) for name in ("title", "source_branch", "author")),
    )


def _line(body: Mapping[str, object], name: str, longest: int) -> str:
    """Return the text on one line, or "" if it is missing. Shortens a title that is too long."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string")
    line = " ".join(value.split())
    if len(line) > longest and name in {"repository", "url"}:
        raise InvalidInputError(f"{name} takes at most {longest} characters")
    return line[:longest]
