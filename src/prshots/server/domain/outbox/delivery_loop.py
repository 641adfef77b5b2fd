"""Sends what is due, soon after its cause and until it arrives: for forges and for webhooks."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from prshots.contract.errors import PrshotsError
from prshots.contract.redaction import redact_briefly
from prshots.server.used_time import UsedTime

SEND_SECONDS = 15.0
"""How long a holder sends."""

LEASE_SECONDS = 30
"""How long a lease lasts. The time after `SEND_SECONDS` is for database calls and clock skew."""

POLL_SECONDS = 2.0
"""How long another process's cause may go unnoticed."""

SLOW_SECONDS = 5.0
"""Owners that used more time than this lately go last, and leave a quarter of the slots to the others."""

COUNT_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 300
GIVE_UP_SECONDS = 24 * 3600
STOP_SECONDS = 3.0

Q = TypeVar("Q")
_log = structlog.get_logger()


def next_attempt(now: float, attempts: int, first_due_at: int, asked: float = 0.0) -> int | None:
    """Return when to try again after this many attempts, or None to give up.

    Pauses grow, and aren't shorter than the receiver `asked` for.
    """
    pause = min(2 ** (min(attempts, 20) - 1), LONGEST_PAUSE_SECONDS)
    next_at = int(now + min(max(pause, asked), GIVE_UP_SECONDS + 1))  # it may ask for infinity
    return None if next_at > first_due_at + GIVE_UP_SECONDS else next_at


def reason_of(error: Exception, kind: str) -> tuple[str, float]:
    """Return why sending failed, and the pause that the receiver asked for. Log our own faults."""
    if isinstance(error, PrshotsError):
        return redact_briefly(str(error)), error.retry_after
    _log.error("sending failed", kind=kind, exc_info=error)
    return "internal error", 0.0


class DeliveryLoop(Generic[Q]):
    """Sends queues at the same time, but only `most` at once, and fewer of those that share something."""

    def __init__(
        self,
        *,
        due: Callable[[int, Collection[str], int], Awaitable[Sequence[Q]]],
        send: Callable[[Q], Coroutine[Any, Any, None]],
        limits: Callable[[Q], Mapping[str, int]],
        most: int,
        count_waiting: Callable[[], Awaitable[int]],
        on_waiting: Callable[[int], None],
        woken: asyncio.Event,
    ) -> None:
        """`limits` has the ids that a queue shares with others, and how many queues of each to send at once.

        `due` leaves out the ids that have reached their limit. `woken` is set when this process has recorded
        a cause.
        """
        self._due, self._send, self._limits, self._most = due, send, limits, most
        self._count_waiting, self._on_waiting = count_waiting, on_waiting
        self._woken = woken
        self._sending: dict[Q, asyncio.Task[None]] = {}
        self._used = UsedTime()
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start sending, on the running event loop."""
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop. Attempts in progress get a few seconds. Another process repeats those that don't finish."""
        if self._running:
            self._running.cancel()
        if self._sending:
            await asyncio.wait(self._sending.values(), timeout=STOP_SECONDS)
        for task in self._sending.values():
            task.cancel()

    async def _run(self) -> None:
        counted_at = 0.0
        while True:
            self._woken.clear()
            try:
                await self._send_due()
                if time.monotonic() - counted_at > COUNT_SECONDS:
                    counted_at = time.monotonic()
                    self._on_waiting(await self._count_waiting())
            except PrshotsError:
                pass  # the database reports its outages
            except Exception:  # noqa: BLE001 - the next round may work
                _log.exception("outbox failed")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), POLL_SECONDS * random.uniform(0.75, 1.25))  # noqa: S311

    async def _send_due(self) -> None:
        """Start to send what is due."""
        slow = self._used.above(SLOW_SECONDS)
        await self._send_due_except(slow, self._most)
        if slow:
            await self._send_due_except(set(), self._most * 3 // 4)

    async def _send_due_except(self, avoided: set[str], most: int) -> None:
        if len(self._sending) >= most:
            return
        shared = [self._limits(queue) for queue in self._sending]
        count = Counter(name for limits in shared for name in limits)
        busy = {name for limits in shared for name, most in limits.items() if count[name] >= most}
        for queue in await self._due(int(time.time()), list(busy | avoided), 5 * self._most):
            limits = self._limits(queue)
            is_free = queue not in self._sending and all(count[name] < limits[name] for name in limits)
            if is_free and len(self._sending) < most:
                count.update(limits.keys())
                sending = self._sending[queue] = asyncio.create_task(self._send(queue))
                sending.add_done_callback(partial(self._forget, queue, time.monotonic()))

    def _forget(self, queue: Q, began: float, sent: "asyncio.Task[None]") -> None:
        del self._sending[queue]
        for name in self._limits(queue):
            self._used.add(name, time.monotonic() - began)
        if sent.cancelled():
            return
        error = sent.exception()
        if error is None:
            self._woken.set()  # there may be more
        elif not isinstance(error, PrshotsError):  # the database reports its outages
            _log.error("outbox failed", exc_info=error)
