"""The upload counter in memory: a moving 60 s window per project, shared by the workers of one supervisor."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable
from hashlib import blake2b

from prshots.contract.errors import CounterUnavailableError
from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.adapters.counters.upload_log import CAPACITY, UploadLog
from prshots.server.domain.images.models import Hit
from prshots.server.observability.metrics import UNLIMITED_UPLOADS

PAUSE_SECONDS, LONGEST_SECONDS = 0.001, 0.5
"""How long to pause between two attempts while another worker counts, and how long to keep trying. Counting
takes a few microseconds. Only a worker that was stopped in the middle, for example by a debugger, takes
longer."""


class MemoryCounter:
    """Counts in a log that the workers share. Each worker follows it to know the uploads in the window."""

    def __init__(
        self,
        uploads_per_minute: int,
        clock: Callable[[], float] = time.monotonic,  # the same clock in all processes
        memory: int | None = None,
    ) -> None:
        self._limit = uploads_per_minute
        self._clock = clock
        self._log = UploadLog(memory)
        self._first = self._next = 0  # the range of the log that `_uploads` covers
        self._uploads: defaultdict[int, deque[float]] = defaultdict(deque)

    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        key = int.from_bytes(blake2b(project_id.encode(), digest_size=8).digest())
        until = time.monotonic() + LONGEST_SECONDS
        while True:
            try:
                with self._log:
                    return self._count(key, limit or self._limit)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise _unavailable("another worker does not finish counting") from None
            await asyncio.sleep(PAUSE_SECONDS)

    def _count(self, key: int, limit: int) -> Hit:
        now = self._clock()
        self._follow(now)
        uploads = self._uploads[key]
        is_counted = len(uploads) < limit
        if is_counted:
            if self._next - self._first >= CAPACITY:
                raise _unavailable("more uploads in a minute than it can count")
            self._log.append(key, now)
            uploads.append(now)
            self._next += 1
        # After a limit is lowered, there may be more uploads than it allows. They have to leave the window
        # first.
        too_many = max(0, len(uploads) - limit)
        # In this order, rounding never exceeds the window.
        free_in = WINDOW_SECONDS - (now - uploads[too_many])
        return Hit(is_counted, limit, max(0, limit - len(uploads)), free_in)

    def _follow(self, now: float) -> None:
        """Add the entries that others appended since the last call, and drop those that left the window."""
        log, expired = self._log, now - WINDOW_SECONDS
        end = log.end
        if self._next < end:
            if log.time(self._next) <= expired or self._first < end - CAPACITY:
                # After a while without uploads, there are many entries to skip, and our oldest may be
                # overwritten.
                self._uploads.clear()
                self._first = self._next = log.first_after(expired)
            for position in range(self._next, end):
                self._uploads[log.key(position)].append(log.time(position))
            self._next = end
        while self._first < end and log.time(self._first) <= expired:
            key = log.key(self._first)
            self._uploads[key].popleft()
            if not self._uploads[key]:
                del self._uploads[key]
            self._first += 1

    async def check(self) -> None:
        """Do nothing: memory doesn't fail."""

    async def close(self) -> None:
        """Do nothing: the memory ends with its processes."""


def _unavailable(reason: str) -> CounterUnavailableError:
    UNLIMITED_UPLOADS.inc()
    return CounterUnavailableError(reason)
