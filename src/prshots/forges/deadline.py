"""One time limit for everything a command does: requests, retries, waits and git."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
