"""Reads a request's token, query and body, with limits on size and time."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from prshots.contract.errors import InvalidInputError, RequestTimeoutError, UnauthorizedError
from prshots.server.api.body_slots import BodySlots
from prshots.server.api.storable_text import require_storable
from prshots.server.domain.projects.access import Access
from prshots.server.domain.projects.service import Projects

JSON_SECONDS = 10.0
STRANGER_SECONDS = 2.0
"""The time limit for an unauthenticated caller's body, which takes one or two packets."""

MAX_JSON_BYTES = 64 * 1024

T = TypeVar("T")


def bearer(request: Request) -> str:
    """Return the upload token. Raises UnauthorizedError."""
    given = request.headers.getlist("authorization")
    scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise UnauthorizedError("unauthorized")
    return secret.strip(" ")


def only_value(query: QueryParams, name: str) -> str | None:
    """Return the parameter's value, or None if it is missing or repeated."""
    values = query.getlist(name)
    return values[0] if len(values) == 1 else None


def declared_length(request: Request) -> int | None:
    """Return the length of the body, or None if it is chunked."""
    # The server has validated the header. The first 18 digits are enough to see that a body is too large.
    given = request.headers.get("content-length", "")
    is_known = given.isdecimal() and "transfer-encoding" not in request.headers
    return int(given[:18]) if is_known else None


async def read_authorized_json(
    request: Request, accounts: Projects, slots: BodySlots, *, max_bytes: int = MAX_JSON_BYTES
) -> tuple[Access, dict[str, Any]]:
    """Return the token's access and the body. Raises UnauthorizedError, InvalidInputError, BusyError."""
    token = bearer(request)
    access = await accounts.authenticate(token)
    async with slots.reserve(token, declared_length(request)):
        return access, require_storable(await json_object(request, max_bytes=max_bytes))


async def json_object(
    request: Request,
    refusal: str = "the body must be a JSON object",
    *,
    seconds: float = JSON_SECONDS,
    max_bytes: int = MAX_JSON_BYTES,
) -> dict[str, Any]:
    """Return the JSON object in the body. For any other body, raise InvalidInputError with this message."""
    body = await read_in_time(_read_bounded(request, max_bytes), seconds=seconds, incomplete=refusal)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(refusal) from error
    if len(body) > max_bytes or not isinstance(value, dict):
        raise InvalidInputError(refusal)
    return value


async def refuse_body(request: Request) -> None:
    """Refuse a request with a body.

    A streamed reply waits for the client to disconnect, and a broken body looks like a disconnect. Without
    this check, such a request would get no reply at all.
    """
    refusal = "this request must have no body"
    if await read_in_time(_read_bounded(request, 0), seconds=JSON_SECONDS, incomplete=refusal):
        raise InvalidInputError(refusal)


async def read_in_time(reading: Coroutine[Any, Any, T], *, seconds: float, incomplete: str) -> T:
    """Read a body. Raises RequestTimeoutError if it takes too long, InvalidInputError if it is incomplete."""
    try:
        async with asyncio.timeout(seconds):
            return await reading
    except TimeoutError as error:
        raise RequestTimeoutError("request body timed out") from error
    except ClientDisconnect as error:  # the client may still read the reply
        raise InvalidInputError(incomplete) from error


async def _read_bounded(request: Request, max_bytes: int) -> bytes:
    """Read the body, and stop as soon as it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            break
    return bytes(body)
