"""Whether a component can work now: the content of `/readyz` for load balancers and people."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

import structlog

from prshots.contract.errors import PrshotsError, RecordsFullError, StoreFullError
from prshots.contract.redaction import redact

CHECK_SECONDS = 2.0
"""The timeout for an engine. Load balancers ask every few seconds and do not wait much longer."""

KEPT_SECONDS = 1.0
MAX_REASON_CHARACTERS = 200

_DOWN, _DEGRADED = "down", "degraded"

Check = Callable[[], Awaitable[None]]
T = TypeVar("T")

_log = structlog.get_logger()


class BrieflyCached(Generic[T]):
    """A value that is fetched at most once a second, so that many load balancers cost no more than one."""

    def __init__(self, fetch: Callable[[], Awaitable[T]]) -> None:
        self._fetch = fetch
        self._answer: asyncio.Future[T] | None = None
        self._fetched_at = 0.0

    async def get(self) -> T:
        if self._answer is None or (
            self._answer.done() and time.monotonic() - self._fetched_at > KEPT_SECONDS
        ):
            self._answer = asyncio.ensure_future(self._fetch_now())
        return await asyncio.shield(self._answer)  # the first caller may disconnect while others wait

    async def _fetch_now(self) -> T:
        try:
            return await self._fetch()
        finally:
            self._fetched_at = time.monotonic()


class Readiness:
    """Checks all engines of a component concurrently. It stays ready if an optional one is down."""

    def __init__(self, checks: Mapping[str, Check], optional: Collection[str] = ()) -> None:
        self._checks, self._optional = checks, optional
        self._running: dict[str, asyncio.Future[None]] = {}
        self._states = BrieflyCached(self._check_all)
        self._last_down: list[str] = []
        self.is_stopping = False

    async def report(self) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of `/readyz`."""
        if self.is_stopping:
            return 503, {"error": "not ready: stopping", "checks": {}}
        states = await self._states.get()
        down = [name for name, state in states.items() if state != "ok"]
        needed = [name for name in down if name not in self._optional and states[name].startswith(_DOWN)]
        if needed:
            return 503, {"error": f"not ready: {', '.join(needed)}", "checks": states}
        return 200, {"status": "degraded" if down else "ok", "checks": states}

    async def _check_all(self) -> dict[str, str]:
        states = dict(zip(self._checks, await asyncio.gather(*map(self._check, self._checks)), strict=True))
        down = [name for name, state in states.items() if state != "ok"]
        if down != self._last_down:  # one log line per outage, not per request
            (_log.error if down else _log.info)("not ready" if down else "ready again", checks=states)
        self._last_down = down
        return states

    async def _check(self, name: str) -> str:
        # While an engine hangs, only one check of it runs, because some checks would each block a thread.
        running = self._running.get(name) or asyncio.create_task(_run(self._checks[name]))
        self._running[name] = running
        await asyncio.wait([running], timeout=CHECK_SECONDS)
        if not running.done():
            return f"{_DOWN}: no answer within {CHECK_SECONDS:g} s"
        del self._running[name]
        error = running.exception()
        if error is None:
            return "ok"
        # A full disk refuses uploads only. Everything else works, and deletes make room.
        state = _DEGRADED if isinstance(error, StoreFullError | RecordsFullError) else _DOWN
        return f"{state}: {_reason(error)}"


async def _run(check: Check) -> None:
    await check()


def _reason(error: BaseException) -> str:
    """Return our own or the system's error message. Unexpected errors are logged, not shown to the client."""
    if isinstance(error, PrshotsError | OSError):
        return redact(str(error))[:MAX_REASON_CHARACTERS] or type(error).__name__
    _log.error("internal error", exc_info=error)
    return "internal error"
