"""`/v1/upload`, `/v1/baseline` and `/v1/staged`: reads the form within its limits, and stores the image."""

import contextlib
import hashlib
import math
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract import errors
from prshots.contract.limits import COMMIT_SHA, FULL_COMMIT_SHA
from prshots.contract.rate_limits import CALLS_PER_MINUTE, LimitPolicy, RateLimit
from prshots.contract.replies import StagedList, Uploaded
from prshots.server.api.fields import (
    branch_of,
    flag_of,
    place_of,
    pr_number_from_json,
    pr_number_from_text,
    read_upload,
)
from prshots.server.api.request_body import (
    BodySlots,
    bearer,
    declared_length,
    only_value,
    read_authorized_json,
    read_in_time,
    require_storable,
)
from prshots.server.api.services import PublicServices
from prshots.server.api.upload_form import UploadForm, read_upload_form
from prshots.server.domain.images.ports import RateCounter
from prshots.server.domain.projects.models import Access, Project
from prshots.server.http.error_boundary import add_reply_headers, discard_body
from prshots.server.http.json_response import JSONResponse
from prshots.server.observability import metrics

T = TypeVar("T")

UPLOAD_SECONDS = 120.0
"""The time limit for the form. It allows 5 MB at a third of a megabit per second."""

REFUSED_SECONDS = 60.0
"""How long to read the rest of a refused form. Most clients send everything before they read a reply."""

BAD_KEY = "Idempotency-Key must be 1 to 64 visible ASCII characters"
KEY = re.compile(r"[!-~]{1,64}")

# The metric label for an upload that ended with this error. Any other error counts as failed.
_RESULTS: dict[type[Exception], str] = {
    errors.UnauthorizedError: "unauthorized",
    errors.ForbiddenError: "unauthorized",
    errors.InvalidInputError: "invalid",
    errors.PayloadTooLargeError: "too_large",
    errors.UnsupportedTypeError: "unsupported",
    errors.RateLimitedError: "rate_limited",
    errors.QuotaReachedError: "over_quota",
    errors.RequestTimeoutError: "timed_out",
    errors.BusyError: "busy",
}


Store = Callable[[str], Awaitable[Uploaded | None]]
"""Stores an upload with the hash of its `Idempotency-Key`. Returns None if one with this key was stored."""

Check = Callable[[Access, UploadForm], Store]
"""Validates an upload and returns the function that stores it."""

Handler = Callable[[Request], Awaitable[JSONResponse]]


def upload_routes(services: PublicServices, slots: BodySlots, max_image_bytes: int) -> list[Route]:
    images, baselines = services.images, services.baselines

    def check_image(access: Access, form: UploadForm) -> Store:
        pr_number, upload = read_upload(
            form,
            lambda fields: pr_number_from_text(fields.get("pr_number")),
            COMMIT_SHA,
            max_image_bytes,
        )
        access.require_pr(pr_number)
        return partial(images.store_upload, access.project, pr_number, upload)

    def check_baseline(access: Access, form: UploadForm) -> Store:
        alone = replace(form, before=None)  # a baseline has no before image
        branch, upload = read_upload(alone, branch_of, FULL_COMMIT_SHA, max_image_bytes)
        access.require_branch(branch)
        return partial(baselines.store_upload, access.project, branch, upload)

    checks = {"/v1/upload": check_image, "/v1/baseline": check_baseline}
    return [
        Route(path, make_upload_handler(check, services, slots, max_image_bytes), methods=["POST"])
        for path, check in checks.items()
    ]


def make_upload_handler(
    check: Check, services: PublicServices, slots: BodySlots, max_image_bytes: int
) -> Handler:
    """Return the handler for a route that accepts an upload form."""

    async def take_upload(request: Request) -> JSONResponse:
        access = await services.accounts.authenticate(bearer(request))
        key = await _read_key(request)
        content_type, declared = request.headers.get("content-type", ""), declared_length(request)
        async with slots.uploads.reserve(access.project, request):
            reading = read_upload_form(content_type, declared, request.stream(), max_image_bytes)
            form = await read_or_discard(request, reading, incomplete="invalid multipart/form-data body")
            store = check(access, form)
            # Storing would notice a repeated key only after it was counted and its bytes were written.
            if key and (first := await services.images.kept_reply(access.project, key)):
                return FirstReply(first)
            await count_against_limit(request, services.counter, access.project)
            uploaded = await store(key)
        if uploaded is None:
            return FirstReply(await services.images.kept_reply(access.project, key))
        metrics.UPLOAD_BYTES.inc(sum(file.size for file in (form.image, form.before) if file))
        return JSONResponse(uploaded)

    return count_results(take_upload)


class FirstReply(JSONResponse):
    """The reply to an earlier upload with the same `Idempotency-Key`."""


async def _read_key(request: Request) -> str:
    """Return a hash of the `Idempotency-Key`, or "" without one. Raises InvalidInputError.

    It includes the route, because the replies of other routes have other fields.
    """
    given = request.headers.getlist("idempotency-key")
    if given and not (len(given) == 1 and KEY.fullmatch(given[0])):
        await discard_body(request.scope, REFUSED_SECONDS)
        raise errors.InvalidInputError(BAD_KEY)
    return hashlib.sha256(f"{request.url.path} {given[0]}".encode()).hexdigest() if given else ""


async def count_against_limit(
    request: Request, counter: RateCounter, project: Project, policy: LimitPolicy = LimitPolicy.UPLOADS
) -> None:
    """Count an upload or another call. Every reply, even an error, has the remaining limit in its headers.

    Accepts the call if the counter doesn't respond; the counter logs its own outages. Raises
    RateLimitedError.
    """
    is_upload = policy is LimitPolicy.UPLOADS
    with contextlib.suppress(errors.CounterUnavailableError):
        hit = await counter.hit(
            project.id if is_upload else f"{project.id}:{policy}",
            CALLS_PER_MINUTE.get(policy, project.uploads_per_minute),
        )
        shown = LimitPolicy.PROJECT if is_upload and project.uploads_per_minute else policy
        limit = RateLimit(shown, hit.limit, hit.remaining, math.ceil(hit.free_in))
        add_reply_headers(request.scope, limit.fields())
        if not hit.is_counted:
            raise errors.RateLimitedError("rate limited")


def count_results(take_upload: Handler) -> Handler:
    """Count every upload by its result."""

    async def upload(request: Request) -> JSONResponse:
        try:
            response = await take_upload(request)
        except Exception as error:
            metrics.UPLOADS.labels(_RESULTS.get(type(error), "failed")).inc()
            raise
        result = "repeated" if isinstance(response, FirstReply) else "stored"
        metrics.with_labels(metrics.UPLOADS, result).inc()
        return response

    return upload


def get_or_post(path: str, get: Handler, post: Handler) -> Route:
    """Handle both methods in one route. Any other method then gets a 405 that lists both."""

    async def handle(request: Request) -> JSONResponse:
        return await (post if request.method == "POST" else get)(request)

    return Route(path, handle, methods=["GET", "POST"])


async def read_or_discard(request: Request, reading: Coroutine[Any, Any, T], *, incomplete: str) -> T:
    """Read an upload's body. On an error, discard the rest of the body before the reply is sent."""
    try:
        return await read_in_time(reading, seconds=UPLOAD_SECONDS, incomplete=incomplete)
    except (errors.InvalidInputError, errors.PayloadTooLargeError):
        await discard_body(request.scope, REFUSED_SECONDS)
        raise


def staging_routes(services: PublicServices, slots: BodySlots, max_image_bytes: int) -> list[Route]:
    accounts, staging = services.accounts, services.staging

    def check_staged(access: Access, form: UploadForm) -> Store:
        place, upload = read_upload(form, place_of, COMMIT_SHA, max_image_bytes)
        access.require_branch(place.branch, "stage images")
        return partial(staging.store_upload, access.project, place, upload)

    stage = make_upload_handler(check_staged, services, slots, max_image_bytes)

    async def list_staged(request: Request) -> JSONResponse:
        access, query = await accounts.authenticate(bearer(request)), request.query_params
        given = require_storable({name: only_value(query, name) for name in ("branch", "repository")})
        place = place_of(given)
        repository = place.repository if "repository" in query else None
        found = await staging.list_staged(access, place.branch, repository)
        return JSONResponse(StagedList(place.branch, found))

    async def move(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        place, pr_number = place_of(body), pr_number_from_json(body.get("pr_number"))
        # `from_fork` has no default, so a caller who omits it can't move anything.
        from_fork = flag_of(body, "from_fork")
        return JSONResponse(await staging.move(access, place, pr_number, from_fork=from_fork))

    return [
        get_or_post("/v1/staged", list_staged, stage),
        Route("/v1/staged/move", move, methods=["POST"]),
    ]
