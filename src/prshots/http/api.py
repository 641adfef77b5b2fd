"""The public API: from HTTP to the services and back, and nothing else."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Path, Request
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from prshots import __version__
from prshots.accounts import Accounts
from prshots.errors import InvalidInputError, PrshotsError, RequestTimeoutError, UnauthorizedError
from prshots.http import openapi
from prshots.http.docs_page import docs_page
from prshots.http.edge import Edge, error_reply
from prshots.http.upload_form import read_upload_form
from prshots.images import Images, pr_number_from_json, pr_number_from_text
from prshots.models import Project

BODY_SECONDS = 120.0
"""How long a body may take to arrive: 5 MB in this time is a third of a megabit a second."""

MAX_JSON_BYTES = 64 * 1024


def create_api(
    *,
    images: Images,
    accounts: Accounts,
    max_image_bytes: int,
    base_url: str,
    close: Callable[[], Awaitable[None]],
) -> Edge:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await close()

    app = FastAPI(
        title="prshots",
        version=__version__,
        description=openapi.DESCRIPTION,
        servers=[{"url": base_url}],
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(_public_routes(images, accounts, max_image_bytes))
    app.include_router(_service_routes(app))
    app.add_exception_handler(PrshotsError, _on_our_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_fault)
    document = openapi.complete(app.openapi())
    app.openapi = lambda: document  # type: ignore[method-assign]  # as FastAPI's manual has it
    return Edge(app)


def _public_routes(images: Images, accounts: Accounts, max_image_bytes: int) -> APIRouter:
    routes = APIRouter(prefix="/v1")

    async def authenticated(request: Request) -> Project:
        return await accounts.authenticate(_bearer(request))

    TheProject = Annotated[Project, Depends(authenticated)]  # noqa: N806 - a type
    ImageId = Annotated[str, Path(description=openapi.ABOUT_IMAGE_ID)]  # noqa: N806 - likewise

    @routes.post("/upload", **openapi.upload(max_image_bytes))
    async def upload(request: Request, project: TheProject) -> JSONResponse:
        headers = request.headers
        async with _receiving(incomplete="invalid multipart/form-data body"):
            form = await read_upload_form(
                headers.get("content-type", ""),
                headers.get("content-length", ""),
                request.stream(),
                max_image_bytes,
            )
        uploaded = await images.upload(project, form)
        return JSONResponse({"id": uploaded.id, "view_url": uploaded.view_url, "markdown": uploaded.markdown})

    @routes.delete("/images/{image_id}", **openapi.DELETE)
    async def delete(image_id: ImageId, project: TheProject) -> JSONResponse:
        await images.delete(project, image_id)
        return JSONResponse({"ok": True, "id": image_id})

    @routes.get("/comment", **openapi.COMMENT)
    async def comment(request: Request, project: TheProject) -> JSONResponse:
        given = request.query_params.getlist("pr_number")
        pr_number = pr_number_from_text(given[0] if len(given) == 1 else None)
        return JSONResponse({"pr_number": pr_number, "markdown": await images.comment(project, pr_number)})

    @routes.post("/expire", **openapi.EXPIRE)
    async def expire(request: Request, project: TheProject) -> JSONResponse:
        async with _receiving(incomplete="pr_number required"):
            pr_number = pr_number_from_json(await _json_member(request, "pr_number"))
        outcome = await images.expire(project, pr_number)
        return JSONResponse(
            {
                "pr_number": pr_number,
                "policy": outcome.policy,
                "marked": outcome.marked,
                "expired": outcome.expired,
            }
        )

    return routes


def _service_routes(app: FastAPI) -> APIRouter:
    routes = APIRouter()

    @routes.head("/healthz", include_in_schema=False)
    @routes.get("/healthz", **openapi.HEALTH)
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})

    @routes.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(
            docs_page(app.openapi()),
            headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
        )

    return routes


def _bearer(request: Request) -> str:
    given = request.headers.getlist("authorization")
    scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise UnauthorizedError("unauthorized")
    return secret.strip(" ")


async def _json_member(request: Request, name: str) -> object:
    """Return a member of the JSON object in the body; None for a body that is anything else."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_JSON_BYTES:
            return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value.get(name) if isinstance(value, dict) else None


@contextlib.asynccontextmanager
async def _receiving(*, incomplete: str) -> AsyncIterator[None]:
    """Refuse a body that takes too long, or that breaks off: what was meant to follow is not known."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            yield
    except TimeoutError as error:
        raise RequestTimeoutError("request body timed out") from error
    except ClientDisconnect as error:  # it may have closed only its own half, and still read the reply
        raise InvalidInputError(incomplete) from error


async def _on_our_error(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, PrshotsError):
        raise error
    status, message, headers = error_reply(error)
    return JSONResponse({"error": message}, status, headers)


async def _on_http_error(_: Request, error: Exception) -> JSONResponse:
    """Answer for what the router refuses: unknown paths, wrong methods."""
    if not isinstance(error, HTTPException):
        raise error
    return JSONResponse({"error": error.detail.lower()}, error.status_code, error.headers)


async def _on_fault(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse({"error": "internal error"}, 500)
