"""Read the JSON of a caller who has an upload token."""

from typing import Any

from starlette.requests import Request

from prshots.server.api.body_slots import BodySlots
from prshots.server.api.request_body import MAX_JSON_BYTES, bearer, declared_length, json_object
from prshots.server.api.storable_text import require_storable
from prshots.server.domain.projects.access import Access
from prshots.server.domain.projects.service import Projects


async def read_authorized_json(
    request: Request, accounts: Projects, slots: BodySlots, *, max_bytes: int = MAX_JSON_BYTES
) -> tuple[Access, dict[str, Any]]:
    """Return what the token may do, and the body. Raises UnauthorizedError, InvalidInputError, BusyError."""
    token = bearer(request)
    access = await accounts.authenticate(token)
    async with slots.reserve(token, declared_length(request)):
        return access, require_storable(await json_object(request, max_bytes=max_bytes))
