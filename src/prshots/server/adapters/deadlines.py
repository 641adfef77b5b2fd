"""How long a call to an engine may take in total. The table in docs/run/engines.md has the same numbers.

A deadline covers everything: waiting for a thread or a connection, connecting, retries, and the answer. Calls
that move more data get proportionally more time, so a call only fails if it makes no progress.
"""

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

DATABASE_SECONDS = 10.0
STORE_SECONDS = 10.0
DELIVERY_SECONDS = 8.0
"""For delivery's reads. GitHub's image proxy gives up after 10 s, and a 503 is better than no response."""

SWEEP_SECONDS = 120.0
"""For the sweep's calls to the database, which handle thousands of images each. No request waits for them."""

BYTES_PER_SECOND = 1024**2
OBJECTS_PER_SECOND = 100
"""The rates that a store must achieve beyond its fixed time. Every working store is much faster."""

T = TypeVar("T")


class OverdueError(Exception):
    """The deadline passed. `has_begun`: the work continues in its thread and may still succeed."""

    def __init__(self, seconds: float, *, has_begun: bool) -> None:
        super().__init__(f"no answer within {seconds:g} s" if has_begun else f"busy for {seconds:g} s")
        self.has_begun = has_begun


def for_bytes(count: int, fixed: float = STORE_SECONDS) -> float:
    return fixed + count / BYTES_PER_SECOND


def for_objects(count: int, fixed: float = STORE_SECONDS) -> float:
    return fixed + count / OBJECTS_PER_SECOND


async def in_thread(threads: ThreadPoolExecutor, work: Callable[[], T], seconds: float) -> T:
    """Run the work in a thread. Raises OverdueError. Work that hasn't begun by the deadline never runs.

    Equivalent to `run_in_executor` in `asyncio.timeout`, at half the processor time. Every upload calls this
    twice.
    """
    until, loop = time.monotonic() + seconds, asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def begin() -> None:
        _this_thread.until = until
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the caller gets every error
            _tell(loop, _fail, outcome, error)
        else:
            _tell(loop, _succeed, outcome, result)
        finally:
            _this_thread.until = math.inf

    def give_up() -> None:
        _fail(outcome, OverdueError(seconds, has_begun=not queued.cancel()))

    queued = threads.submit(begin)
    deadline = loop.call_later(seconds, give_up) if seconds != math.inf else None
    try:
        return await outcome
    finally:
        if deadline:
            deadline.cancel()
        queued.cancel()  # the caller may have stopped waiting


def _tell(loop: asyncio.AbstractEventLoop, *call: Any) -> None:  # noqa: ANN401 - a callable and its arguments
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(*call)


def _succeed(outcome: asyncio.Future[T], result: T) -> None:
    if not outcome.done():
        outcome.set_result(result)


def _fail(outcome: asyncio.Future[T], error: BaseException) -> None:
    if not outcome.done():
        outcome.set_exception(error)


class _Thread(threading.local):
    until = math.inf


_this_thread = _Thread()


def seconds_left() -> float:
    """Return how long the work in this thread may still take, or infinity outside `in_thread`."""
    return _this_thread.until - time.monotonic()
