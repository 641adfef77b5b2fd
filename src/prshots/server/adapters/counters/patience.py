"""How long an upload waits for the counter, in a process that may be busy."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

HIT_SECONDS = (0.02, 0.01, 0.005, 0.005)
"""How long an upload waits for the counter: 40 ms of the 50 ms that counting may cost it.

It waits in several steps, because a busy event loop needs several turns before it reads an answer that is
already there. The server is not to blame for that delay."""

BUSY_SECONDS = 0.5
"""How long an upload waits for the counter in a process that is too busy to notice an answer.

A step that takes twice its time shows that this process, not the server, was late, and is repeated. Without
that, a burst of uploads from 48 threads let some of them pass uncounted: 126 of 120."""

T = TypeVar("T")


async def wait_patiently(answer: asyncio.Future[T], patience: Sequence[float]) -> None:
    """Wait for the sum of `patience`, not counting the time in which this process was busy."""
    loop = asyncio.get_running_loop()
    began = step_began = loop.time()
    for seconds in patience:
        is_late = True
        while is_late and not answer.done():
            await _wait_once(answer, seconds)
            step_began, previous = loop.time(), step_began
            is_late = step_began - previous > 2 * seconds and step_began - began < BUSY_SECONDS


async def _wait_once(answer: asyncio.Future[T], seconds: float) -> None:
    """Do what `asyncio.wait` does for one future, in half of its time."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not woken.done():
            woken.set_result(None)

    timer = loop.call_later(seconds, wake)
    answer.add_done_callback(wake)
    try:
        await woken
    finally:
        timer.cancel()
        answer.remove_done_callback(wake)
