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
from prshots.server.domain.projects.models import Access, Project
from prshots.server.domain.projects.service import Projects

BYTES_IN_ALL = 96 * 1024**2
"""The memory limit for uploads in progress, unless it would fit only a few of the largest images. The process
needs about twice as much, because of gaps between the chunks in memory."""

JSON_BYTES_IN_ALL = 16 * 1024**2
MAX_JSON_BYTES = 64 * 1024

FEWEST_LARGEST = 8
"""At least this many images of the maximum size fit at the same time."""

FILES = 2
"""The maximum number of files in a body: an image and its before image."""

ORGANIZATION_SHARE, PROJECT_SHARE = 2, 3
"""An organization can hold 1/2 of the room that is free, and a project 1/3: 1/4 of all room, if nobody else
uploads. So others have room, regardless of how many tokens a project has."""

SMALLEST_BYTES = 256 * 1024
"""Every upload counts as at least this large, which also limits the number of small uploads."""

WAIT_SECONDS = 10.0
"""How long a body waits for room, unread. By then, a burst of uploads is over."""

_Holder = tuple[str, str]  # the ids of an organization and its project


class BodyRoom:
    """Memory for bodies in progress. It is reserved before the first byte is read."""

    def __init__(self, limit: int, smallest: int, largest: int) -> None:
        self._limit, self._smallest, self._largest = limit, smallest, largest
        self._reserved = 0
        self._held: Counter[_Holder | str] = Counter()
        self._waiting: list[tuple[_Holder, int, asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def reserve(
        self, project: Project | None, request: Request, largest: int | None = None
    ) -> AsyncIterator[None]:
        """Reserve room for the request's body. Requests without a project share theirs. Raises BusyError.

        `largest` is how much of the body may be read, if it differs from the usual limit.
        """
        holder = (project.organization_id, project.id) if project else ("", "")
        declared, most = declared_length(request), largest or self._largest
        size = most if declared is None else min(max(declared, self._smallest), most)
        if not self._take(holder, size):
            await self._wait_for_room(holder, size)
        try:
            yield
        finally:
            self._give_back(holder, size)

    def _take(self, holder: _Holder, size: int) -> bool:
        free, of_project = self._limit - self._reserved, self._held[holder]
        # The first body of a project fits even if it is larger than the project's share.
        fits = self._held[holder[0]] + size <= free // ORGANIZATION_SHARE and (
            not of_project or of_project + size <= free // PROJECT_SHARE
        )
        if fits:
            self._change(holder, size)
        return fits

    def _change(self, holder: _Holder, size: int) -> None:
        self._reserved += size
        for each in (holder, holder[0]):
            self._held[each] += size
            if not self._held[each]:
                del self._held[each]

    async def _wait_for_room(self, holder: _Holder, size: int) -> None:
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

    def _give_back(self, holder: _Holder, size: int) -> None:
        self._change(holder, -size)
        # First come, first served, skipping bodies that still don't fit.
        for other, wanted, room in self._waiting:
            if not room.done() and self._take(other, wanted):
                room.set_result(None)


class BodySlots:
    """Room for uploads, and separate room for JSON, which stalled uploads can't fill."""

    def __init__(self, max_image_bytes: int) -> None:
        limit = max(BYTES_IN_ALL, FEWEST_LARGEST * max_image_bytes)
        self.uploads = BodyRoom(limit, SMALLEST_BYTES, FILES * max_image_bytes)
        self.json = BodyRoom(JSON_BYTES_IN_ALL, MAX_JSON_BYTES, MAX_JSON_BYTES)


JSON_SECONDS = 10.0
STRANGER_SECONDS = 2.0
"""The time limit for an unauthenticated caller's body, which takes one or two packets."""

T = TypeVar("T")


def bearer(request: Request) -> str:
    """Return the upload token. Raises UnauthorizedError."""
    token = credentials(request, "bearer")
    if token is None:
        raise UnauthorizedError("unauthorized")
    return token


def credentials(request: Request, scheme: str) -> str | None:
    """Return the secret in the Authorization header, or None unless there is one, with this scheme."""
    given = request.headers.getlist("authorization")
    found, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return secret.strip(" ") if found.lower() == scheme else None


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
    access = await accounts.authenticate(bearer(request))
    async with slots.json.reserve(access.project, request, max_bytes):
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
