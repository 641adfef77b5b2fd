"""The steps that all dashboard routes share.

A handler runs only for a signed-in user. A request that changes something must come from the dashboard's own
pages. A handler under a project's path gets the project only if the user has the role that the route needs:
by default, to read, `viewer`, and to change something, `maintainer`. Under an organization's path, the
default is `owner`. Other people's data gets the same 404 as data that doesn't exist.
"""

import contextlib
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prshots import __version__
from prshots.contract.errors import InvalidInputError, NotFoundError, PrshotsError
from prshots.contract.replies import Decided
from prshots.server.api.dashboard import fields
from prshots.server.api.dashboard.view_types import ServiceView
from prshots.server.api.fields import pr_number_from_text
from prshots.server.api.login import find_signed_in, require_own_origin
from prshots.server.api.request_body import MAX_JSON_BYTES, is_storable, json_object, require_storable
from prshots.server.domain.audit.ports import AuditRecords
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.comparison.ports import BaselineRecords
from prshots.server.domain.comparison.service import Comparisons
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.images.ports import Overview, StagedRecords
from prshots.server.domain.images.service import Images
from prshots.server.domain.images.thumbnails import Thumbnails
from prshots.server.domain.outbox.ports import ConnectedForges, ConnectionRecords, OutboxRecords
from prshots.server.domain.people.joining import Joining
from prshots.server.domain.people.models import User
from prshots.server.domain.people.organizations import Organizations
from prshots.server.domain.people.sign_in import SignIn
from prshots.server.domain.projects.keyless import Trusts
from prshots.server.domain.projects.models import Organization, Project, Role
from prshots.server.domain.projects.service import Projects
from prshots.server.domain.review.noise_service import Noise
from prshots.server.domain.review.service import Reviews
from prshots.server.domain.review.sharing import ShareLinks
from prshots.server.domain.storage.ports import UsageRecords
from prshots.server.domain.storage.service import Quotas
from prshots.server.domain.webhooks.ports import WebhookReceivers, WebhookRecords
from prshots.server.http.headers import names_tag
from prshots.server.http.json_response import json_bytes

PREFIX = "/v1/dashboard"

_SAFE_METHODS = {"GET", "HEAD"}

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@contextlib.contextmanager
def as_not_found(kind: type[PrshotsError]) -> Iterator[None]:
    """Replace this error with a plain 404, because its message is for another audience."""
    try:
        yield
    except kind as error:
        raise NotFoundError("not found") from error


@dataclass(frozen=True)
class DashboardServices:
    """The services behind the handlers."""

    images: Images
    baselines: BaselineRecords
    staged: StagedRecords
    comparisons: Comparisons
    reviews: Reviews
    comments: Comments
    noise: Noise
    share_links: ShareLinks
    outbox: OutboxRecords
    projects: Projects
    trusts: Trusts
    connections: ConnectionRecords
    forges: ConnectedForges
    webhooks: WebhookRecords
    receivers: WebhookReceivers
    wake_webhooks: Callable[[], None]
    """Called after a request that makes a message due."""

    organizations: Organizations
    joining: Joining
    audit: AuditRecords
    overview: Overview
    quotas: Quotas
    usage: UsageRecords
    thumbnails: Thumbnails
    avatar_origins: frozenset[str]
    """The origins from which the pages may load users' avatars."""

    about: ServiceView

    def now(self) -> int:
        return int(time.time())

    def today(self) -> int:
        """Return the current day in UTC, as the number of days since 1970."""
        return self.now() // SECONDS_PER_DAY


@dataclass(frozen=True)
class Call:
    """One request from a signed-in user."""

    request: Request
    user: User
    services: DashboardServices
    check_again: Callable[[], Awaitable[object]] | None = None
    """Raises NotFoundError or ForbiddenError if the user no longer has the role that the route needs."""

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def after(self, *types: type[str | int]) -> tuple[Any, ...] | None:
        """Return the sort key of the entry before this page, or None. Raises InvalidInputError."""
        return fields.key_after(self.query.get("after"), *types)

    async def body(self, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
        """Return the JSON object in the body. Raises InvalidInputError, or the errors of `check_again`."""
        found = require_storable(await json_object(self.request, max_bytes=max_bytes))
        if self.check_again:  # a body can take seconds to arrive
            await self.check_again()
        return found


View = Mapping[str, object] | Decided
Answer = View | Response
"""The JSON of a reply, or a complete response for other content."""

Handler = Callable[[Call], Awaitable[Answer]]
OrganizationHandler = Callable[[Call, Organization], Awaitable[Answer]]
ProjectHandler = Callable[[Call, Project], Awaitable[Answer]]
PullRequestHandler = Callable[[Call, Project, int], Awaitable[Answer]]
Version = Callable[[Call, Project, int], Awaitable[str | None]]
"""Returns a string that changes with the answer, at a fraction of its cost, or None if it has none."""


@dataclass(frozen=True)
class DashboardRoute:
    method: Method
    path: str
    handler: Handler
    status: HTTPStatus = HTTPStatus.OK


def organization_route(
    method: Method,
    path: str,
    handler: OrganizationHandler,
    status: HTTPStatus = HTTPStatus.OK,
    *,
    needs: Role = Role.OWNER,
) -> DashboardRoute:
    """Return a route under an organization's path. The handler receives the organization."""

    async def with_organization(call: Call) -> Answer:
        organization_id = call.path("organization_id")
        find = partial(call.services.organizations.find_for, call.user, organization_id, needs)
        return await handler(replace(call, check_again=find), await find())

    return DashboardRoute(method, f"/organizations/{{organization_id}}{path}", with_organization, status)


def project_route(
    method: Method,
    path: str,
    handler: ProjectHandler,
    status: HTTPStatus = HTTPStatus.OK,
    *,
    needs: Role | None = None,
) -> DashboardRoute:
    """Return a route under a project's path. The handler receives the project."""
    needed = needs or (Role.VIEWER if method == "GET" else Role.MAINTAINER)

    async def with_project(call: Call) -> Answer:
        find = partial(call.services.organizations.project, call.user, call.path("project_id"), needed)
        return await handler(replace(call, check_again=find), await find())

    return DashboardRoute(method, f"/projects/{{project_id}}{path}", with_project, status)


def pull_request_route(
    method: Method,
    path: str,
    handler: PullRequestHandler,
    version: Version | None = None,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    needs: Role | None = None,
) -> DashboardRoute:
    """Return a route under a pull request's path. The handler receives the project and the number.

    With a `version`, the handler isn't called if the page already has that version of the answer.
    """

    async def with_number(call: Call, project: Project) -> Answer:
        with as_not_found(InvalidInputError):
            number = pr_number_from_text(call.path("pr_number"))
        if version is None:
            return await handler(call, project, number)
        # Read the version before the answer. If the answer is newer, the page fetches it twice rather than
        # never.
        found = await version(call, project, number)
        return await reply_to_version(call.request, found, partial(handler, call, project, number))

    return project_route(method, f"/pulls/{{pr_number}}{path}", with_number, status, needs=needs)


def operator_route(method: Method, path: str, handler: Handler) -> DashboardRoute:
    """Return a route under `/installation`, which exists only for the operator."""

    async def for_operator(call: Call) -> Answer:
        if not call.user.is_operator:
            raise NotFoundError("not found")
        return await handler(call)

    return DashboardRoute(method, f"/installation{path}", for_operator)


def starlette_routes(
    routes: Iterable[DashboardRoute], services: DashboardServices, signin: SignIn, web_url: str
) -> list[Route]:
    """Return one Starlette route per path, so a wrong method on a known path gets a 405."""

    def route(path: str, by_method: dict[str, DashboardRoute]) -> Route:
        async def endpoint(request: Request) -> Response:
            if request.method not in _SAFE_METHODS:
                require_own_origin(request, web_url)
            user = await find_signed_in(request, signin, web_url)
            _require_storable_address(request)
            found = by_method["GET" if request.method == "HEAD" else request.method]
            return _reply(request, await found.handler(Call(request, user, services)), found.status)

        return Route(PREFIX + path, endpoint, methods=list(by_method))

    by_path: dict[str, dict[str, DashboardRoute]] = {}
    for each in routes:
        by_path.setdefault(each.path, {})[each.method] = each
    return [route(path, by_method) for path, by_method in by_path.items()]


def _require_storable_address(request: Request) -> None:
    if not all(map(is_storable, map(str, request.path_params.values()))):
        raise NotFoundError("not found")
    if not all(is_storable(text) for pair in request.query_params.multi_items() for text in pair):
        raise InvalidInputError("the query must contain valid Unicode without NUL characters")


async def reply_to_version(
    request: Request, version: str | None, answer: Callable[[], Awaitable[Answer]]
) -> Response:
    """Reply with the answer, or with a 304 if the page already has this version of it. None is unknown."""
    tag = _tag(f"{__version__} {version}".encode()) if version else ""
    unchanged = _unchanged(request, tag) if tag else None
    return unchanged or _reply(request, await answer(), tag=tag)


def _reply(request: Request, answer: Answer, status: HTTPStatus = HTTPStatus.OK, tag: str = "") -> Response:
    """Reply with an ETag, because open pages poll every few seconds and usually nothing has changed."""
    if isinstance(answer, Response):
        return answer
    body = json_bytes(answer)
    tag = tag or _tag(body)
    return _unchanged(request, tag) or Response(body, status, _headers(tag), media_type="application/json")


def _unchanged(request: Request, tag: str) -> Response | None:
    """Return a 304 if the page already has the answer with this tag, else None."""
    if request.method in _SAFE_METHODS and names_tag(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=_headers(tag))
    return None


def _tag(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _headers(tag: str) -> dict[str, str]:
    return {"Cache-Control": "no-store", "ETag": f'"{tag}"'}
