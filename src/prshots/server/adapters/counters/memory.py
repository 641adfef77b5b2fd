"""The upload counter in memory: a moving 60 s window per project."""

import time
from collections import defaultdict, deque
from collections.abc import Callable

WINDOW_SECONDS = 60.0


class MemoryCounter:
    """Counts in this process only, so it is exact only with a single API process."""

    def __init__(self, uploads_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = uploads_per_minute
        self._clock = clock
        self._uploads: defaultdict[str, deque[float]] = defaultdict(deque)

    async def hit(self, project_id: str) -> bool:
        now, uploads = self._clock(), self._uploads[project_id]
        while uploads and uploads[0] <= now - WINDOW_SECONDS:
            uploads.popleft()
        if len(uploads) >= self._limit:
            return False
        uploads.append(now)
        return True

    async def check(self) -> None:
        """Do nothing: memory does not fail."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
