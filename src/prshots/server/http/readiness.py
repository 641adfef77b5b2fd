"""Reports whether a component currently works, at `/readyz`, for load balancers and people."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

import structlog

from prshots.contract.errors import DegradedError, PrshotsError
from prshots.contract.redaction import redact
from prshots.server.observability import metrics

CHECK_SECONDS = 2.0
"""The timeout for an engine. Load balancers ask every few seconds and don't wait much longer."""

KEPT_SECONDS = 1.0
RECHECK_SECONDS = 30.0
MAX_REASON_CHARACTERS = 200

OK, DEGRADED, DOWN = "ok", "degraded: ", "down: "
"""The state of an engine. The reason follows the last two."""

Check = Callable[[], Awaitable[None]]
T = TypeVar("T")

_log = structlog.get_logger()


class BrieflyCached(Generic[T]):
    """A value that is fetched at most once a second, regardless of how many load balancers ask."""

    def __init__(self, fetch: Callable[[], Awaitable[T]]) -> None:
        self._fetch = fetch
        self._answer: asyncio.Future[T] | None = None
        self._fetched_at = 0.0

    async def get(self) -> T:
        if self._answer is None or (
            self._answer.done() and time.monotonic() - self._fetched_at > KEPT_SECONDS
        ):
            self._answer = asyncio.ensure_future(self._fetch_now())
            self._answer.add_done_callback(_retrieve_error)
        return await asyncio.shield(self._answer)  # the first caller may disconnect while others wait

    async def _fetch_now(self) -> T:
        try:
            return await self._fetch()
        finally:
            self._fetched_at = time.monotonic()


class Readiness:
    """Checks all engines of a component concurrently.

    The component stays ready, but degraded, if an optional engine is down or if a check raises DegradedError.
    """

    def __init__(self, checks: Mapping[str, Check], optional: Collection[str] = ()) -> None:
        self._checks, self._optional = checks, optional
        self._running: dict[str, asyncio.Future[None]] = {}
        self._states = BrieflyCached(self._check_all)
        self._last_not_ok: list[str] = []
        self._next_check: asyncio.TimerHandle | None = None
        self.is_stopping = False

    async def report(self) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of `/readyz`."""
        if self.is_stopping:
            return 503, {"error": "not ready: stopping", "checks": {}}
        states = await self._states.get()
        if needed := self._find_needed(states):
            return 503, {"error": f"not ready: {', '.join(needed)}", "checks": states}
        return 200, {"status": "degraded" if _not_ok(states) else "ok", "checks": states}

    async def render_metrics(self) -> bytes:
        """Return the metrics of all processes, with this component's current readiness."""
        await self.report()
        return await asyncio.to_thread(metrics.render)

    def _find_needed(self, states: Mapping[str, str]) -> list[str]:
        """Return the required engines that are down."""
        return [
            name for name, state in states.items() if state.startswith(DOWN) and name not in self._optional
        ]

    async def _check_all(self) -> dict[str, str]:
        states = dict(zip(self._checks, await asyncio.gather(*map(self._check, self._checks)), strict=True))
        is_ready = not self._find_needed(states)
        metrics.READY.labels(metrics.SLOT).set(is_ready)
        if self._next_check:
            self._next_check.cancel()
        if not is_ready:  # notice the end of the outage even if nobody asks
            self._next_check = asyncio.get_running_loop().call_later(RECHECK_SECONDS, self._check_again)
        not_ok = _not_ok(states)
        if not_ok != self._last_not_ok:  # one log line per outage, not per request
            if not is_ready:
                _log.error("not ready", checks=states)
            elif not_ok:
                _log.warning("ready, but degraded", checks=states)
            else:
                _log.info("ready again", checks=states)
        self._last_not_ok = not_ok
        return states

    def _check_again(self) -> None:
        self._rechecking = asyncio.ensure_future(self._states.get())

    async def _check(self, name: str) -> str:
        # While an engine hangs, run only one check of it, because each check may block a thread.
        if name not in self._running:
            self._running[name] = asyncio.ensure_future(self._checks[name]())
            self._running[name].add_done_callback(lambda done: self._forget(name, done))
        running = self._running[name]
        await asyncio.wait([running], timeout=CHECK_SECONDS)
        if not running.done():
            return f"{DOWN}no answer within {CHECK_SECONDS:g} s"
        error = running.exception()
        if error is None:
            return OK
        return f"{DEGRADED if isinstance(error, DegradedError) else DOWN}{_reason(error)}"

    def _forget(self, name: str, done: "asyncio.Future[None]") -> None:
        """Drop a finished check. If nobody waits for it anymore, its result would be old when it is read."""
        del self._running[name]
        _retrieve_error(done)


def _retrieve_error(done: "asyncio.Future[Any]") -> None:
    """Keep asyncio from logging the error of a future that nobody waits for anymore."""
    if not done.cancelled():
        done.exception()


def _not_ok(states: Mapping[str, str]) -> list[str]:
    return [name for name, state in states.items() if state != OK]


def _reason(error: BaseException) -> str:
    """Return the message of a prshots or system error. Logs unexpected errors instead of exposing them."""
    if isinstance(error, PrshotsError | OSError):
        return redact(str(error))[:MAX_REASON_CHARACTERS] or type(error).__name__
    _log.error("internal error", exc_info=error)
    return "internal error"
