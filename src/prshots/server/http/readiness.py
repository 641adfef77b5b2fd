"""Whether a part can do its work now: what `/readyz` says to load balancers and to people."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

import structlog

from prshots.contract.errors import PrshotsError
from prshots.contract.redaction import redact

CHECK_SECONDS = 2.0
"""How long an engine may take to answer: a balancer asks every few seconds, and gives up after some."""

KEPT_SECONDS = 1.0
MAX_REASON_CHARACTERS = 200

Check = Callable[[], Awaitable[None]]
T = TypeVar("T")

_log = structlog.get_logger()


class BrieflyCached(Generic[T]):
    """An answer fetched once for all who ask within a second: many balancers cost no more than one."""

    def __init__(self, fetch: Callable[[], Awaitable[T]]) -> None:
        self._fetch = fetch
        self._answer: asyncio.Future[T] | None = None
        self._fetched_at = 0.0

    async def get(self) -> T:
        if self._answer is None or (
            self._answer.done() and time.monotonic() - self._fetched_at > KEPT_SECONDS
        ):
            self._answer = asyncio.ensure_future(self._fetch_and_note())
        return await asyncio.shield(self._answer)  # whoever asked first may go; the others still wait

    async def _fetch_and_note(self) -> T:
        try:
            return await self._fetch()
        finally:
            self._fetched_at = time.monotonic()


class Readiness:
    """Asks every engine of a part at the same time. An optional one that is down leaves the part ready."""

    def __init__(self, checks: Mapping[str, Check], optional: Collection[str] = ()) -> None:
        self._checks, self._optional = checks, optional
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._states = BrieflyCached(self._ask_all)
        self._last_down: list[str] = []
        self.is_stopping = False

    async def report(self) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of `/readyz`."""
        if self.is_stopping:
            return 503, {"error": "not ready: stopping", "checks": {}}
        states = await self._states.get()
        down = [name for name, state in states.items() if state != "ok"]
        needed = [name for name in down if name not in self._optional]
        if needed:
            return 503, {"error": f"not ready: {', '.join(needed)}", "checks": states}
        return 200, {"status": "degraded" if down else "ok", "checks": states}

    async def _ask_all(self) -> dict[str, str]:
        states = dict(zip(self._checks, await asyncio.gather(*map(self._ask, self._checks)), strict=True))
        down = [name for name, state in states.items() if state != "ok"]
        if down != self._last_down:  # one line for an outage, not one for each question
            (_log.error if down else _log.info)("not ready" if down else "ready again", checks=states)
        self._last_down = down
        return states

    async def _ask(self, name: str) -> str:
        # An engine that hangs is asked once, not anew by every question: some would keep a thread each.
        asking = self._under_way.get(name) or asyncio.create_task(_run(self._checks[name]))
        self._under_way[name] = asking
        await asyncio.wait([asking], timeout=CHECK_SECONDS)
        if not asking.done():
            return f"down: no answer within {CHECK_SECONDS:g} s"
        del self._under_way[name]
        error = asking.exception()
        return "ok" if error is None else f"down: {_reason(error)}"


async def _run(check: Check) -> None:
    await check()


def _reason(error: BaseException) -> str:
    """Say what is wrong, to whoever asks: our own words, or the system's; nothing of a fault's insides."""
    if isinstance(error, PrshotsError | OSError):
        return redact(str(error))[:MAX_REASON_CHARACTERS] or type(error).__name__
    _log.error("internal error", exc_info=error)
    return "internal error"
