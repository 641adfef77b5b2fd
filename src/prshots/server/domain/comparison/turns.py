"""Decides whose pair is compared next, so that no organization can keep the others waiting."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

from prshots.server.used_time import UsedTime

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
        self._used = UsedTime(clock)

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
            for owner in owners:
                self._used.add(owner, self._clock() - began)
            self._release(owners)

    def _release(self, owners: Owners) -> None:
        self._free += 1
        self._held -= Counter(owners[:1])  # also drops counts of 0
        self._grant()

    def _grant(self) -> None:
        while self._free and self._waiting:
            # The first of equals has waited longest.
            granted = min(self._waiting, key=lambda each: self._claim(*self._waiting[each]))
            self._free -= 1
            _, owners = self._waiting.pop(granted)
            self._held[owners[0]] += 1
            granted.set()

    def _claim(self, can_wait: bool, owners: Owners) -> tuple[float, ...]:
        return can_wait, self._held[owners[0]], *map(self._used.seconds_of, owners)
