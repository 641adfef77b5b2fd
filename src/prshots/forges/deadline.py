"""One time limit for everything a command does: requests, retries, waits and git."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

_until: ContextVar[float] = ContextVar("deadline", default=math.inf)


def current_deadline() -> float:
    """Return when the work must end, on the monotonic clock. Without a time limit, that is never."""
    return _until.get()


@contextmanager
def deadline_after(seconds: float) -> Iterator[None]:
    """Give the work inside this many seconds."""
    before = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(before)


class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)

GRACE_SECONDS = 1.0


@contextmanager
def closing_at_deadline(closable: T) -> Iterator[T]:
    """Close this at the end of the block, but at the latest soon after the deadline.

    Timeouts are for single reads. A server that sends header lines without an end exceeds none of them.
    """
    timer = threading.Timer(current_deadline() - time.monotonic() + GRACE_SECONDS, closable.close)
    timer.daemon = True
    timer.start()
    try:
        yield closable
    finally:
        timer.cancel()
        closable.close()
