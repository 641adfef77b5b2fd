"""Reads a request's token, query and body, with limits on size and time."""

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any, TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from prshots.contract.errors import BusyError, InvalidInputError, RequestTimeoutError, UnauthorizedError
from prshots.server.domain.projects.models import Access
from prshots.server.domain.projects.service import Projects

BYTES_IN_ALL = 96 * 1024**2
"""The memory limit for bodies in progress, unless it would fit only a few of the largest images. The process
needs about twice as much, because of gaps between the chunks in memory."""

FEWEST_LARGEST = 8
"""At least this many images of the maximum size fit at the same time."""

FILES = 2
"""The maximum number of files in a body: an image and its before image."""

SHARES = 4
"""One token gets at most 1/4 of the total, so its stalled uploads leave room for others."""

SMALLEST_BYTES = 256 * 1024
"""Every body counts as at least this large, which also limits the number of small bodies."""

WAIT_SECONDS = 10.0
"""How long a body waits for room, unread. By then, a burst of uploads is over."""


class BodySlots:
    """Memory for bodies in progress. It is reserved per token and in total, before the first byte is read."""

    def __init__(self, max_image_bytes: int) -> None:
        self._largest = FILES * max_image_bytes
        self._limit = max(BYTES_IN_ALL, FEWEST_LARGEST * max_image_bytes)
        self._reserved = 0
        self._by_holder: Counter[str] = Counter()
        self._waiting: list[tuple[str, int, asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def reserve(self, holder: str, declared: int | None) -> AsyncIterator[None]:
        """Reserve room for a body of the declared length, which is None if unknown. Raises BusyError."""
        size = self._largest if declared is None else min(max(declared, SMALLEST_BYTES), self._largest)
        if not self._take(holder, size):
            await self._wait_for_room(holder, size)
        try:
            yield
        finally:
            self._give_back(holder, size)

    def _take(self, holder: str, size: int) -> bool:
        fits = (
            self._reserved + size <= self._limit and self._by_holder[holder] + size <= self._limit // SHARES
        )
        if fits:
            self._reserved += size
            self._by_holder[holder] += size
        return fits

    async def _wait_for_room(self, holder: str, size: int) -> None:
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = (holder, size, room)
        self._waiting.append(waiting)
        try:
            # Don't use `wait_for`: if it timed out just after the room was granted, the room would be lost.
            await asyncio.wait([room], timeout=WAIT_SECONDS)
        except asyncio.CancelledError:
            if room.done():
                self._give_back(holder, size)
            raise
        finally:
            self._waiting.remove(waiting)
        if not room.done():
            raise BusyError("too many uploads in progress, retry later")

    def _give_back(self, holder: str, size: int) -> None:
        self._reserved -= size
        self._by_holder[holder] -= size
        if not self._by_holder[holder]:
            del self._by_holder[holder]
        # First come, first served, skipping bodies that still don't fit.
        for other, wanted, room in self._waiting:
            if not room.done() and self._take(other, wanted):
                room.set_result(None)


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


# Checks that every database can store a client's text. JSON can carry half of a surrogate pair, but UTF-8
# can't. PostgreSQL can't store NUL characters.

_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")


def is_storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None


def require_storable(body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object if all its strings and names are storable. Raises InvalidInputError."""
    if not all(map(is_storable, _texts_in(body))):
        raise InvalidInputError("the body must contain valid Unicode without NUL characters")
    return body


def _texts_in(body: object) -> Iterable[str]:
    """Yield every string and name. Not recursive, because nesting may exceed Python's stack."""
    left = [body]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value
