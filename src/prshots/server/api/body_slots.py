"""Bounds the request bodies that one process receives at the same time."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from prshots.contract.errors import BusyError

BYTES_IN_ALL = 96 * 1024**2
"""The most memory for bodies in progress, unless only a few of the largest images would fit. The process
needs about twice as much, because memory between the chunks is lost."""

FEWEST_LARGEST = 8
"""At least this many images of the largest allowed size fit at the same time."""

FILES = 2
"""How many files a body can have: an image and its before image."""

SHARES = 4
"""One token gets at most this part of the whole, so that its stalled uploads leave room for others."""

SMALLEST_BYTES = 256 * 1024
"""Every body counts for at least this much, which also bounds the number of small bodies."""

WAIT_SECONDS = 10.0
"""How long a body waits for room, unread. A burst of uploads is over by then."""


class BodySlots:
    """Memory for bodies in progress: reserved before the first byte is read, per token and in total."""

    def __init__(self, max_image_bytes: int) -> None:
        self._largest = FILES * max_image_bytes
        self._limit = max(BYTES_IN_ALL, FEWEST_LARGEST * max_image_bytes)
        self._reserved = 0
        self._by_holder: Counter[str] = Counter()
        self._waiting: list[tuple[str, int, asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def reserve(self, holder: str, declared: int | None) -> AsyncIterator[None]:
        """Reserve room for a body of the declared length; None if it is unknown. Raises BusyError."""
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
            # Not `wait_for`: if its timeout came right after the room was given, nobody would give it back.
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
        # First come, first served, past those that still do not fit.
        for other, wanted, room in self._waiting:
            if not room.done() and self._take(other, wanted):
                room.set_result(None)
