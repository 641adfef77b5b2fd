"""Limits the request bodies that one process receives at the same time."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from prshots.contract.errors import BusyError

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
