"""The public API: from HTTP to the services and back, and nothing else."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route, Router

from prshots import __version__
from prshots.accounts import Accounts
from prshots.errors import UnauthorizedError
from prshots.http import openapi
from prshots.http.bodies import json_object, received
from prshots.http.docs_page import docs_page
from prshots.http.edge import Edge
from prshots.http.upload_form import read_upload_form
from prshots.images import Images, pr_number_from_json, pr_number_from_text
from prshots.models import Project


def create_api(
    *,
    images: Images,
    accounts: Accounts,
    max_image_bytes: int,
    base_url: str,
    for_people: Sequence[Route],
    close: Callable[[], Awaitable[None]],
) -> Edge:
    """Make the API; `for_people` are the routes of sign-in and of the dashboard."""

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        yield
        await close()

    document = openapi.document(version=__version__, base_url=base_url, max_image_bytes=max_image_bytes)
    routes = [
        *_public_routes(images, accounts, max_image_bytes),
        *for_people,
        *_service_routes(document),
    ]
    return Edge(Router(routes, redirect_slashes=False, lifespan=lifespan))


def _public_routes(images: Images, accounts: Accounts, max_image_bytes: int) -> list[Route]:
    async def authenticated(request: Request) -> Project:
        return await accounts.authenticate(_bearer(request))

    async def upload(request: Request) -> JSONResponse:
        project, headers = await authenticated(request), request.headers
        reading = read_upload_form(
            headers.get("content-type", ""),
            headers.get("content-length", ""),
            request.stream(),
            max_image_bytes,
        )
        form = await received(reading, incomplete="invalid multipart/form-data body")
        uploaded = await images.upload(project, form)
        return JSONResponse({"id": uploaded.id, "view_url": uploaded.view_url, "markdown": uploaded.markdown})

    async def delete(request: Request) -> JSONResponse:
        project, image_id = await authenticated(request), request.path_params["image_id"]
        await images.delete(project, image_id)
        return JSONResponse({"ok": True, "id": image_id})

    async def comment(request: Request) -> JSONResponse:
        project, given = await authenticated(request), request.query_params.getlist("pr_number")
        pr_number = pr_number_from_text(given[0] if len(given) == 1 else None)
        return JSONResponse({"pr_number": pr_number, "markdown": await images.comment(project, pr_number)})

    async def expire(request: Request) -> JSONResponse:
        project = await authenticated(request)
        body = await json_object(request, refusal="pr_number required")
        pr_number = pr_number_from_json(body.get("pr_number"))
        outcome = await images.expire(project, pr_number)
        return JSONResponse(
            {
                "pr_number": pr_number,
                "policy": outcome.policy,
                "marked": outcome.marked,
                "expired": outcome.expired,
            }
        )

    return [
        Route("/v1/upload", upload, methods=["POST"]),
        Route("/v1/images/{image_id}", delete, methods=["DELETE"]),
        Route("/v1/comment", comment, methods=["GET"]),
        Route("/v1/expire", expire, methods=["POST"]),
    ]


def _service_routes(document: dict[str, Any]) -> list[Route]:
    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})

    async def openapi_json(_: Request) -> JSONResponse:
        return JSONResponse(document)

    async def docs(_: Request) -> HTMLResponse:
        return HTMLResponse(
            docs_page(document),
            headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
        )

    return [Route("/healthz", healthz), Route("/openapi.json", openapi_json), Route("/docs", docs)]


def _bearer(request: Request) -> str:
    given = request.headers.getlist("authorization")
    scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise UnauthorizedError("unauthorized")
    return secret.strip(" ")
