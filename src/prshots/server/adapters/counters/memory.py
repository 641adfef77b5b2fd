"""The upload counter in memory: a moving 60 s window per project."""

import time
from collections import defaultdict, deque
from collections.abc import Callable

from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.domain.models import Hit


class MemoryCounter:
    """Counts in this process only, so it is exact only with a single API process."""

    def __init__(self, uploads_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = uploads_per_minute
        self._clock = clock
        self._uploads: defaultdict[str, deque[float]] = defaultdict(deque)

    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        now, uploads, limit = self._clock(), self._uploads[project_id], limit or self._limit
        while uploads and uploads[0] <= now - WINDOW_SECONDS:
            uploads.popleft()
        is_counted = len(uploads) < limit
        if is_counted:
            uploads.append(now)
        # A limit that was lowered may leave more uploads than it allows. They have to leave the window first.
        too_many = max(0, len(uploads) - limit)
        free_in = uploads[too_many] + WINDOW_SECONDS - now
        return Hit(is_counted, limit, max(0, limit - len(uploads)), free_in)

    async def check(self) -> None:
        """Do nothing: memory does not fail."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
