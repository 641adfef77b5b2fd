"""The public API: translates HTTP requests into service calls, and their results into replies."""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, Router

from prshots import __version__
from prshots.contract.comments import MAX_COMMENT_BYTES, Marker, View
from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import MAX_NAME_CHARACTERS
from prshots.contract.replies import Deleted, PlainComment, ServiceLimits
from prshots.server.api import fields
from prshots.server.api.comparisons import (
    baseline_routes,
    comparison_routes,
    known_upload_route,
    read_merged_as,
)
from prshots.server.api.decisions import gate_route, reject_route
from prshots.server.api.keyless import keyless_routes
from prshots.server.api.put_urls import put_url_routes
from prshots.server.api.request_body import BodySlots, bearer, json_object, only_value, read_authorized_json
from prshots.server.api.services import PublicServices
from prshots.server.api.upload import staging_routes, upload_routes
from prshots.server.config.values import Networks
from prshots.server.domain.audit.models import act_from
from prshots.server.domain.images.models import Description
from prshots.server.domain.projects.models import MAX_ADDRESS, check_repository
from prshots.server.http.client_address import client_address
from prshots.server.http.error_boundary import ErrorBoundary, Message
from prshots.server.http.json_response import JSONResponse
from prshots.server.http.llms import llms_route
from prshots.server.http.readiness import Readiness
from prshots.server.http.telemetry import names_of, observer, service_routes


def create_api(
    *,
    services: PublicServices,
    max_image_bytes: int,
    uploads_per_minute: int,
    base_url: str,
    web_url: str,
    for_people: Sequence[Route],
    readiness: Readiness,
    start: Callable[[], None],
    close: Callable[[], Awaitable[None]],
    trusted_proxies: Networks,
    log_requests: bool = False,
) -> ErrorBoundary:
    """Build the API. `for_people` holds the routes for sign-in and the dashboard."""
    slots = BodySlots(max_image_bytes)
    routes = [
        *upload_routes(services, slots, max_image_bytes),
        known_upload_route(services, slots),
        *_public_routes(services, slots),
        *baseline_routes(services, slots),
        *comparison_routes(services, slots),
        reject_route(services, slots),
        gate_route(services, slots),
        *staging_routes(services, slots, max_image_bytes),
        *put_url_routes(services, slots, max_image_bytes),
        _limits_route(max_image_bytes, uploads_per_minute),
        *keyless_routes(services.exchange, slots),
        *for_people,
        *service_routes(readiness),
        *_manual_routes(base_url, max_image_bytes),
        llms_route(base_url, web_url),
    ]
    observe = observer("api", names_of(routes), logs=log_requests)
    router = Router(routes, redirect_slashes=False)

    def begin(scope: Message) -> Callable[[int, float], None]:
        act_from(client_address(scope, trusted_proxies))
        return observe(scope)

    return ErrorBoundary(router, readiness, begin, close, start)


def _public_routes(services: PublicServices, slots: BodySlots) -> list[Route]:
    images, comments, accounts = services.images, services.comments, services.accounts

    async def delete(request: Request) -> JSONResponse:
        access, image_id = await accounts.authenticate(bearer(request)), request.path_params["image_id"]
        await images.delete(access, image_id)
        return JSONResponse(Deleted(ok=True, id=image_id))

    async def comment(request: Request) -> JSONResponse:
        access, given = await accounts.authenticate(bearer(request)), request.query_params
        project, pr_number = access.project, fields.pr_number_from_text(only_value(given, "pr_number"))
        access.require_pr(pr_number)
        if options := _comment_options(given):
            return JSONResponse(await comments.write_sized(project, pr_number, *options))
        return JSONResponse(PlainComment(pr_number, await comments.write_plain(project, pr_number)))

    async def expire(request: Request) -> JSONResponse:
        access = await accounts.authenticate(bearer(request))
        async with slots.json.reserve(access.project, request):
            body = await json_object(request, refusal="pr_number required")
        pr_number = fields.pr_number_from_json(body.get("pr_number"))
        access.require_pr(pr_number)
        merged = read_merged_as(body)
        adopted = await services.baselines.adopt(access, pr_number, *merged) if merged else 0
        expired = await images.expire(access.project, pr_number)
        return JSONResponse(replace(expired, baselines=adopted) if merged else expired)

    async def describe(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        described = read_description(body)
        access.require_pr(described.pr_number)
        return JSONResponse(await images.describe(access, described))

    return [
        Route("/v1/images/{image_id}", delete, methods=["DELETE"]),
        Route("/v1/comment", comment, methods=["GET"]),
        Route("/v1/expire", expire, methods=["POST"]),
        Route("/v1/pull", describe, methods=["POST"]),
    ]


def _limits_route(max_image_bytes: int, uploads_per_minute: int) -> Route:
    """Return the route for the upload limits. It needs no token, because the limits aren't secret."""
    limits = ServiceLimits(max_image_bytes, uploads_per_minute, MAX_NAME_CHARACTERS)

    async def show_limits(_: Request) -> JSONResponse:
        return JSONResponse(limits, headers={"Cache-Control": "public, max-age=60"})

    return Route("/v1/limits", show_limits, methods=["GET"])


def _manual_routes(base_url: str, max_image_bytes: int) -> list[Route]:
    @functools.cache
    def replies() -> tuple[Response, Response]:
        # Import on demand: few clients request the document, and it takes 700 KB.
        from prshots.server.api.openapi.docs_page import docs_page
        from prshots.server.api.openapi.document import openapi_document

        document = openapi_document(version=__version__, base_url=base_url, max_image_bytes=max_image_bytes)
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        page = HTMLResponse(docs_page(document), headers={"Content-Security-Policy": policy})
        return JSONResponse(document), page

    async def openapi_json(_: Request) -> Response:
        return replies()[0]

    async def docs(_: Request) -> Response:
        return replies()[1]

    return [Route("/openapi.json", openapi_json), Route("/docs", docs)]


def _comment_options(query: QueryParams) -> tuple[int, Marker, View] | None:
    """Return the limit, marker and view, or None if the request has none of them.

    Raises InvalidInputError.
    """
    if query.keys().isdisjoint({"limit", "marker", "view"}):
        return None
    limit, marker, view = MAX_COMMENT_BYTES, Marker.HTML, View.ALL
    if "limit" in query:
        limit = fields.comment_limit_from_text(only_value(query, "limit"))
    if "marker" in query:
        marker = fields.choice_from_text(Marker, only_value(query, "marker"), fields.BAD_MARKER)
    if "view" in query:
        view = fields.choice_from_text(View, only_value(query, "view"), fields.BAD_VIEW)
    return limit, marker, view


MAX_TEXT = 300


def read_description(body: Mapping[str, object]) -> Description:
    """Read the body of a description. Raises InvalidInputError."""
    pr_number = fields.pr_number_from_json(body.get("pr_number"))
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
