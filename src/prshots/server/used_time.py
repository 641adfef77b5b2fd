"""How long or how often each owner has used something lately, so that others can go first."""

import math
import time
from collections.abc import Callable

from prshots.server.bounded_cache import BoundedCache

REMEMBERED_OWNERS = 10_000


class UsedTime:
    def __init__(self, clock: Callable[[], float] = time.monotonic, half_life: float = 60.0) -> None:
        """After the half-life in seconds, time that was used counts half."""
        self._clock, self._half_life = clock, half_life
        self._used: BoundedCache[str, tuple[float, float]] = BoundedCache(REMEMBERED_OWNERS)

    def add(self, owner: str, seconds: float) -> None:
        self._used.put(owner, (self.seconds_of(owner) + seconds, self._clock()))

    def seconds_of(self, owner: str) -> float:
        seconds, at = self._used.get(owner) or (0.0, 0.0)
        return seconds * math.exp2((at - self._clock()) / self._half_life)

    def above(self, seconds: float) -> set[str]:
        """Return the owners that have used more than this."""
        return {owner for owner in self._used if self.seconds_of(owner) > seconds}
