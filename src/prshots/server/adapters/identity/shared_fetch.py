"""One request for all callers that need the same answer, and a limit on how many callers wait for a server.

Anyone can make us ask an issuer or a login provider, which may be slow. Requests that wait for it must not
use up the service's memory and connections.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from prshots.contract.errors import ProviderError

MOST_WAITING = 64


class WaitLimit:
    """Counts the calls that wait for one server."""

    def __init__(self, host: str, most: int = MOST_WAITING) -> None:
        self._host = host
        self._most = most
        self._waiting = 0

    @contextlib.contextmanager
    def enter(self) -> Iterator[None]:
        """Raise ProviderError if too many calls already wait."""
        if self._waiting >= self._most:
            raise ProviderError(f"{self._host} is slow: {self._most} requests already wait for it")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


class SharedFetch:
    """Runs a fetch, which stores its own result. Calls during a fetch wait for that fetch."""

    def __init__(self, fetch: Callable[[], Coroutine[Any, Any, None]], wait_limit: WaitLimit) -> None:
        self._fetch = fetch
        self._wait_limit = wait_limit
        self._running: asyncio.Task[None] | None = None

    async def run(self, seconds: float | None = None) -> None:
        """Wait at most `seconds` for the fetch. Raises ProviderError, including when too many calls wait."""
        with self._wait_limit.enter():
            if self._running is None:
                self._running = asyncio.create_task(self._fetch())
                self._running.add_done_callback(self._forget)
            # The fetch continues even if the client that started it disconnects.
            finished, _ = await asyncio.wait([self._running], timeout=seconds)
            for task in finished:
                task.result()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # otherwise asyncio logs an exception that nobody retrieved
