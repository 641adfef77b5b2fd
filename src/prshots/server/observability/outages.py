"""Logs one line when an engine fails and one when it is back, regardless of how many requests fail."""

import contextlib
import time
from collections.abc import Callable, Iterator

import structlog

from prshots.contract.errors import PrshotsError

QUIET_SECONDS = 10.0
"""If an engine fails again this soon, it counts as back only after this long without a failure."""

_log = structlog.get_logger()


class Outage:
    """The state of one engine, as this process sees it.

    An outage ends when every failed operation has succeeded again. Reads alone don't count, because they
    succeed even on a full disk.
    """

    def __init__(self, away: str, back: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._away, self._back = away, back
        self._clock = clock
        self._is_away = False
        self._is_repeated = False
        self._failing: set[str] = set()
        self._began_at = self._failed_at = self._ended_at = float("-inf")
        self._requests = 0

    def note_failure(self, operation: str, reason: str) -> None:
        now = self._clock()
        if not self._is_away:
            self._is_away, self._is_repeated = True, now - self._ended_at < QUIET_SECONDS
            self._began_at, self._requests = now, 0
            _log.error(self._away, reason=reason)
        self._failing.add(operation)
        self._failed_at = now

    def note_success(self, operation: str) -> None:
        if not self._is_away:  # fast path for the usual case
            return
        self._failing.discard(operation)
        now = self._clock()
        if (self._failing or self._is_repeated) and now - self._failed_at < QUIET_SECONDS:
            return
        self._is_away, self._ended_at = False, now
        self._failing.clear()
        seconds = round(now - self._began_at, 1)
        _log.info(self._back, seconds=seconds, failed_requests=self._requests)

    def count_request(self) -> None:
        """Count a request that failed because of this outage."""
        self._requests += 1

    @contextlib.contextmanager
    def watch(self, operation: str) -> Iterator[None]:
        """Record whether an operation succeeds. Mark its error as logged."""
        try:
            yield
        except PrshotsError as error:
            self.note(operation, error)
            raise
        self.note_success(operation)

    def note(self, operation: str, error: PrshotsError) -> None:
        self.note_failure(operation, str(error))
        error.count_request = self.count_request
