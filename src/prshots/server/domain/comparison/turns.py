"""Decides whose pair is compared next, so that no organization can keep the others waiting."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

from prshots.server.bounded_cache import BoundedCache

HALF_LIFE_SECONDS = 60.0
"""After this long, time that was used counts half."""

REMEMBERED_OWNERS = 10_000

Owners = tuple[str, str, str]
"""An organization, a project and a run."""


class Turns:
    """A few slots. The next one goes to the organization that holds the fewest, then has used the least time.

    In an organization, the project with the least time comes first, and in a project the run. An organization
    with expensive pairs therefore delays another one only by the pairs that are already being compared.
    """

    def __init__(self, slots: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = slots
        self._clock = clock
        self._waiting: dict[asyncio.Event, tuple[bool, Owners]] = {}
        self._held: Counter[str] = Counter()
        self._used: BoundedCache[str, tuple[float, float]] = BoundedCache(REMEMBERED_OWNERS)

    @contextlib.asynccontextmanager
    async def take(self, *owners: *Owners, is_urgent: bool = True) -> AsyncIterator[None]:
        """Wait for a slot. Urgent callers go first."""
        granted = asyncio.Event()
        self._waiting[granted] = (not is_urgent, owners)
        self._grant()
        try:
            await granted.wait()
        except asyncio.CancelledError:
            if self._waiting.pop(granted, None) is None:  # it was granted at the same moment
                self._release(owners)
            raise
        began = self._clock()
        try:
            yield
        finally:
            now = self._clock()
            for owner in owners:
                self._used.put(owner, (self._seconds_of(owner, now) + now - began, now))
            self._release(owners)

    def _release(self, owners: Owners) -> None:
        self._free += 1
        self._held -= Counter(owners[:1])  # also drops counts of 0
        self._grant()

    def _grant(self) -> None:
        now = self._clock()
        while self._free and self._waiting:
            # The first of equals has waited longest.
            granted = min(self._waiting, key=lambda each: self._claim(*self._waiting[each], now))
            self._free -= 1
            _, owners = self._waiting.pop(granted)
            self._held[owners[0]] += 1
            granted.set()

    def _claim(self, can_wait: bool, owners: Owners, now: float) -> tuple[float, ...]:
        return can_wait, self._held[owners[0]], *(self._seconds_of(owner, now) for owner in owners)

    def _seconds_of(self, owner: str, now: float) -> float:
        seconds, at = self._used.get(owner) or (0.0, now)
        return seconds * math.exp2((at - now) / HALF_LIFE_SECONDS)
