"""Limits log lines that anyone can cause, to keep the log readable and the disk from filling up."""

import time
from collections.abc import Callable

import structlog

LINES = 10
SECONDS = 60.0
"""The log gets at most `LINES` lines of one kind in this time."""

MOST_KINDS = 100

_log = structlog.get_logger()


class BoundedLog:
    """Logs warnings for one event. Counts, but doesn't write, lines of the same kind beyond the limit."""

    def __init__(self, event: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._event = event
        self._clock = clock
        self._since = float("-inf")
        self._written: dict[tuple[str, ...], int] = {}
        self._suppressed: dict[tuple[str, ...], int] = {}

    def note(self, *kind: str, **fields: object) -> None:
        """Log the fields, and how many lines of this kind were omitted in the last period."""
        now = self._clock()
        if now - self._since >= SECONDS:
            self._since = now
            self._suppressed = {kind: lines - LINES for kind, lines in self._written.items() if lines > LINES}
            self._written = {}
        if kind not in self._written and len(self._written) >= MOST_KINDS:
            kind = ("others",)
        lines = self._written[kind] = self._written.get(kind, 0) + 1
        if lines > LINES:
            return
        if suppressed := self._suppressed.pop(kind, 0):
            fields["suppressed"] = suppressed
        if lines == LINES:
            fields["more"] = f"further lines like this one are only counted for up to {SECONDS:.0f} s"
        _log.warning(self._event, **fields)
