"""Turns for the processes that write to one SQLite file.

SQLite has a lock for its writers, but a waiter sleeps in steps of up to 100 ms and doesn't notice when the
lock is free. With two busy processes, one waited for 1 s and got a fifth of the commits. So our processes
first wait for a lock whose next holder the kernel wakes. The kernel also frees it when its holder dies.

SQLite's own lock still decides: a writer without a turn waits longer but is safe.
"""

import contextlib
import fcntl
import os
from pathlib import Path

from prshots.contract.errors import RecordsBusyError
from prshots.server.adapters.deadlines import seconds_left
from prshots.server.adapters.private_files import FILE
from prshots.server.observability.metrics import DATABASE_SECONDS

SUFFIX = "-turn"
_WAIT = DATABASE_SECONDS.labels("wait")


class WriterTurn:
    """A process's turn to write, as a `with` block. Use it in one thread."""

    def __init__(self, database: Path) -> None:
        self._path = f"{database}{SUFFIX}"
        self._lock = -1

    def __enter__(self) -> None:
        """Raise RecordsBusyError if the turn comes after the call's deadline, when nobody waits any more."""
        if self._lock < 0:
            self._open()
        if self._lock < 0:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with _WAIT.time():
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if seconds_left() <= 0:
                self.__exit__()
                raise RecordsBusyError("the database did not answer: another process kept it busy") from None

    def __exit__(self, *_: object) -> None:
        if self._lock >= 0:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _open(self) -> None:
        with contextlib.suppress(OSError):  # another user owns it, or the folder is read-only
            self._lock = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE)
