"""Wait for a condition. The timeout only ends a test that hangs: no test depends on how long it waits."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

HANGS_AFTER_SECONDS = 90

T = TypeVar("T")


def wait_until(
    condition: Callable[[], object], what: str | Callable[[], str], seconds: float = HANGS_AFTER_SECONDS
) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited {seconds} s for {what if isinstance(what, str) else what()}"
        time.sleep(0.02)


def wait_for(ask: Callable[[], T], fulfilled: Callable[[T], object]) -> T:
    """Ask until the answer fulfills the condition, and return it."""
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while not fulfilled(answer := ask()):
        assert time.monotonic() < until, answer
        time.sleep(0.2)  # asking may cost an upload or a request
    return answer


async def eventually(condition: Callable[[], object], what: str) -> None:
    """Do the same as `wait_until`, but let the event loop run."""
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while not condition():
        assert time.monotonic() < until, f"waited {HANGS_AFTER_SECONDS} s for {what}"
        await asyncio.sleep(0.005)
