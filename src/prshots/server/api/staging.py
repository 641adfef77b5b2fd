"""`/v1/staged`: images that wait for their pull request."""

from collections.abc import Awaitable

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract.replies import StagedList, Uploaded
from prshots.server.api.authorized_json import authorized_json
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.query import only_value
from prshots.server.api.replies import reply_json
from prshots.server.api.request_body import bearer
from prshots.server.api.services import PublicServices
from prshots.server.api.storable_text import require_storable
from prshots.server.api.upload import upload_by
from prshots.server.domain.images.checks import UploadForm
from prshots.server.domain.images.staging import move_from_json, place_of
from prshots.server.domain.projects.access import Access
from prshots.server.http.json_response import JSONResponse


def staging_routes(services: PublicServices, slots: BodySlots, max_image_bytes: int) -> list[Route]:
    accounts, staging = services.accounts, services.staging

    def take(access: Access, form: UploadForm) -> Awaitable[Uploaded]:
        return staging.upload(access, form)

    stage = upload_by(take, accounts, slots, max_image_bytes)

    async def listed(request: Request) -> JSONResponse:
        access, query = await accounts.authenticate(bearer(request)), request.query_params
        given = require_storable({name: only_value(query, name) for name in ("branch", "repository")})
        place = place_of(given)
        repository = place.repository if "repository" in query else None
        found = await staging.staged(access, place.branch, repository)
        return JSONResponse(reply_json(StagedList(place.branch, found)))

    async def stage_or_list(request: Request) -> JSONResponse:
        """One route for both methods, so that another one gets a 405 that names them."""
        return await (stage if request.method == "POST" else listed)(request)

    async def move(request: Request) -> JSONResponse:
        access, body = await authorized_json(request, accounts, slots)
        return JSONResponse(reply_json(await staging.move(access, move_from_json(body))))

    return [
        Route("/v1/staged", stage_or_list, methods=["GET", "POST"]),
        Route("/v1/staged/move", move, methods=["POST"]),
    ]
