"""Read a request's body, with limits on its size and time."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from prshots.contract.errors import InvalidInputError, RequestTimeoutError

BODY_SECONDS = 120.0
"""How long a body may take. 5 MB in this time is a third of a megabit per second."""

MAX_JSON_BYTES = 64 * 1024

T = TypeVar("T")


async def json_object(request: Request, refusal: str = "the body must be a JSON object") -> dict[str, Any]:
    """Return the JSON object in the body. For any other body, raise InvalidInputError with this message."""
    body = await received(_bounded(request), incomplete=refusal)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(refusal) from error
    if len(body) > MAX_JSON_BYTES or not isinstance(value, dict):
        raise InvalidInputError(refusal)
    return value


async def received(reading: Coroutine[Any, Any, T], *, incomplete: str) -> T:
    """Refuse a body that takes too long or is incomplete."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await reading
    except TimeoutError as error:
        raise RequestTimeoutError("request body timed out") from error
    except ClientDisconnect as error:  # the client may still read the reply
        raise InvalidInputError(incomplete) from error


async def _bounded(request: Request) -> bytes:
    """Read the body, but stop as soon as it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_JSON_BYTES:
            break
    return bytes(body)
