"""Waiting for someone else's server: one request for all who need the same answer, and not too many waiting.

Anyone can make us ask an issuer or a login provider, and it may be slow. Those who wait for it must not fill
the service, and nobody else waits for them.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from prshots.contract.errors import ProviderError

MOST_WAITING = 64


class Waiting:
    """Counts the calls that wait for one server."""

    def __init__(self, host: str, most: int = MOST_WAITING) -> None:
        self._host = host
        self._most = most
        self._waiting = 0

    @contextlib.contextmanager
    def one_more(self) -> Iterator[None]:
        """Raise ProviderError if too many wait already."""
        if self._waiting >= self._most:
            raise ProviderError(f"{self._host} is slow: {self._most} requests already wait for it")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


class SharedFetch:
    """Runs a fetch that keeps its own result. Calls during a fetch wait for that one."""

    def __init__(self, fetch: Callable[[], Coroutine[Any, Any, None]], waiting: Waiting) -> None:
        self._fetch = fetch
        self._waiting = waiting
        self._running: asyncio.Task[None] | None = None

    async def done(self, seconds: float | None = None) -> None:
        """Wait until it is done, at most for `seconds`. Raises ProviderError, also if too many wait."""
        with self._waiting.one_more():
            if self._running is None:
                self._running = asyncio.create_task(self._fetch())
                self._running.add_done_callback(self._forget)
            # It goes on if the client that started it goes away.
            finished, _ = await asyncio.wait([self._running], timeout=seconds)
            for task in finished:
                task.result()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # or asyncio complains if nobody waits for it anymore
