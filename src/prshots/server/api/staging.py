"""`/v1/staged`: images staged until their pull request exists."""

from functools import partial

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.limits import COMMIT_SHA
from prshots.contract.replies import StagedList
from prshots.server.api.fields import flag_of, place_of, pr_number_from_json, read_upload
from prshots.server.api.request_body import (
    BodySlots,
    bearer,
    only_value,
    read_authorized_json,
    require_storable,
)
from prshots.server.api.services import PublicServices
from prshots.server.api.upload import Store, make_upload_handler
from prshots.server.api.upload_form import UploadForm
from prshots.server.domain.projects.models import Access
from prshots.server.http.json_response import JSONResponse


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

    async def stage_or_list(request: Request) -> JSONResponse:
        """Handle both methods in one route. Any other method then gets a 405 that lists both."""
        return await (stage if request.method == "POST" else list_staged)(request)

    async def move(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, accounts, slots)
        place, pr_number = place_of(body), pr_number_from_json(body.get("pr_number"))
        # `from_fork` has no default, so a caller who omits it can't move anything.
        from_fork = flag_of(body, "from_fork")
        return JSONResponse(await staging.move(access, place, pr_number, from_fork=from_fork))

    return [
        Route("/v1/staged", stage_or_list, methods=["GET", "POST"]),
        Route("/v1/staged/move", move, methods=["POST"]),
    ]
