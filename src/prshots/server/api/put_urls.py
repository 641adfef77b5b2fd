"""`POST /v1/put-urls` and `PUT /v1/put/<secret>`: one upload without a token."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import COMMIT_SHA
from prshots.contract.rate_limits import LimitPolicy
from prshots.server.api.fields import flag_of, place_of, pr_number_from_json, read_upload_fields, text_of
from prshots.server.api.request_body import BodySlots, declared_length, read_authorized_json
from prshots.server.api.services import PublicServices
from prshots.server.api.upload import count_against_limit, count_results, read_or_discard
from prshots.server.api.upload_form import ABSURD_FACTOR
from prshots.server.domain.images.checks import UploadedFile, check_content_type, payload_too_large
from prshots.server.domain.images.models import NO_PULL_REQUEST, BranchPlace
from prshots.server.http.json_response import JSONResponse
from prshots.server.observability import metrics

NO_TARGET = "pr_number or branch required, and not both"


def put_url_routes(services: PublicServices, slots: BodySlots, max_image_bytes: int) -> list[Route]:
    accounts, put_urls = services.accounts, services.put_urls

    async def create(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        (pr_number, place), fields = read_upload_fields(body, _read_target, COMMIT_SHA)
        content_type = check_content_type(text_of(body, "content_type")).content_type
        if pr_number == NO_PULL_REQUEST:
            access.require_branch(place.branch, "stage images")
        else:
            access.require_pr(pr_number)
        with_before = flag_of(body, "with_before", default=False)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.PUT_URLS)
        urls = await put_urls.create(access, fields, pr_number, place, content_type, with_before=with_before)
        return JSONResponse(urls)

    async def put(request: Request) -> JSONResponse:
        target = await put_urls.find(request.path_params["secret"])
        async with slots.uploads.reserve(target.project, request):
            reading = _read_image(request, max_image_bytes)
            file = await read_or_discard(request, reading, incomplete="image file required")
            checked = target.check_file(file, max_image_bytes)
            if target.is_counted:
                await count_against_limit(request, services.counter, target.project)
            uploaded = await put_urls.put(target, checked)
        metrics.UPLOAD_BYTES.inc(file.size)
        return JSONResponse(uploaded)

    return [
        Route("/v1/put-urls", create, methods=["POST"]),
        Route("/v1/put/{secret}", count_results(put), methods=["PUT"]),
    ]


def _read_target(body: Mapping[str, object]) -> tuple[int, BranchPlace]:
    given = [name for name in ("pr_number", "branch") if name in body]
    if len(given) != 1:
        raise InvalidInputError(NO_TARGET)
    if given == ["pr_number"]:
        return pr_number_from_json(body["pr_number"]), BranchPlace("", "")
    return NO_PULL_REQUEST, place_of(body)


async def _read_image(request: Request, max_image_bytes: int) -> UploadedFile:
    """Keep only as much as a valid image needs, but count all bytes. Raises PayloadTooLargeError."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    chunks, size, absurd = list[bytes](), 0, ABSURD_FACTOR * max_image_bytes
    if (declared_length(request) or 0) > absurd:
        raise payload_too_large(max_image_bytes)
    async for chunk in request.stream():
        size += len(chunk)
        if size > absurd:
            raise payload_too_large(max_image_bytes)
        if size < max_image_bytes:
            chunks.append(chunk)
        else:
            chunks.clear()
    return UploadedFile(content_type, chunks, size)
