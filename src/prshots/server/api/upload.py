"""`POST /v1/upload` and `POST /v1/baseline`: read the form within its limits, and store the image."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract import errors
from prshots.contract.replies import Uploaded
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.replies import reply_json
from prshots.server.api.request_body import bearer, declared_length, received
from prshots.server.api.services import PublicServices
from prshots.server.api.upload_form import read_upload_form
from prshots.server.domain.images.checks import UploadForm
from prshots.server.domain.images.rate import noting_rate_limits
from prshots.server.domain.projects.access import Access
from prshots.server.domain.projects.service import Projects
from prshots.server.http.error_boundary import add_reply_headers, discard_body
from prshots.server.http.json_response import JSONResponse
from prshots.server.observability import metrics

UPLOAD_SECONDS = 120.0
"""How long the form may take. 5 MB in this time is a third of a megabit per second."""

REFUSED_SECONDS = 60.0
"""How long the rest of a refused form is read. Most clients send everything before they read a reply."""

# The metric label of an upload that ended with this error. Any other error counts as failed.
_RESULTS: dict[type[Exception], str] = {
    errors.UnauthorizedError: "unauthorized",
    errors.ForbiddenError: "unauthorized",
    errors.InvalidInputError: "invalid",
    errors.PayloadTooLargeError: "too_large",
    errors.UnsupportedTypeError: "unsupported",
    errors.RateLimitedError: "rate_limited",
    errors.RequestTimeoutError: "timed_out",
    errors.BusyError: "busy",
}


Take = Callable[[Access, UploadForm], Awaitable[Uploaded]]
"""Validates and stores an upload."""

Handler = Callable[[Request], Awaitable[JSONResponse]]


def upload_routes(services: PublicServices, slots: BodySlots, max_image_bytes: int) -> list[Route]:
    def of_pull_request(access: Access, form: UploadForm) -> Awaitable[Uploaded]:
        return services.images.upload(access.project, form, access.only_pr)

    def of_branch(access: Access, form: UploadForm) -> Awaitable[Uploaded]:
        return services.baselines.upload(access, form)

    takes = {"/v1/upload": of_pull_request, "/v1/baseline": of_branch}
    return [
        Route(path, upload_by(take, services.accounts, slots, max_image_bytes), methods=["POST"])
        for path, take in takes.items()
    ]


def upload_by(take: Take, accounts: Projects, slots: BodySlots, max_image_bytes: int) -> Handler:
    """Return the handler of a route that takes an upload's form."""

    async def take_upload(request: Request) -> JSONResponse:
        token = bearer(request)
        access = await accounts.authenticate(token)
        async with slots.reserved(token, declared_length(request)):
            form = await _upload_form(request, max_image_bytes)
            uploaded = await take(access, form)
        metrics.UPLOAD_BYTES.inc(sum(file.size for file in (form.image, form.before) if file))
        return JSONResponse(reply_json(uploaded))

    return counted(take_upload)


def counted(take_upload: Handler) -> Handler:
    """Count every upload by its result."""

    async def upload(request: Request) -> JSONResponse:
        with noting_rate_limits() as limits:
            try:
                response = await take_upload(request)
            except Exception as error:
                metrics.UPLOADS.labels(_RESULTS.get(type(error), "failed")).inc()
                raise
            finally:
                for limit in limits:
                    add_reply_headers(request.scope, limit.fields())
        metrics.with_labels(metrics.UPLOADS, "stored").inc()
        return response

    return upload


async def _upload_form(request: Request, max_image_bytes: int) -> UploadForm:
    content_type, declared = request.headers.get("content-type", ""), declared_length(request)
    reading = read_upload_form(content_type, declared, request.stream(), max_image_bytes)
    try:
        return await received(reading, seconds=UPLOAD_SECONDS, incomplete="invalid multipart/form-data body")
    except (errors.InvalidInputError, errors.PayloadTooLargeError):
        await discard_body(request.scope, REFUSED_SECONDS)
        raise
