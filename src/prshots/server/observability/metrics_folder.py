"""The folder where the processes of one `prshots serve` keep their metrics.

The supervisor locks the folder while it runs, so an unlocked folder is a leftover of a killed supervisor.
systemd's cleanup of /tmp also skips locked folders.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER_VARIABLE, SLOT_VARIABLE = "PRSHOTS_METRICS_FOLDER", "PRSHOTS_METRICS_SLOT"
"""The supervisor sets these for its children. Without them, as in a command, metrics stay in the process."""

RESTARTED_VARIABLE = "PRSHOTS_WORKER_RESTARTED"
"""Set for a worker that replaces a dead one. The worker counts the restart, because the supervisor has no
metrics."""

PREFIX = "prshots-metrics-"
KINDS = {
    "counter": 128 * 1024,
    "histogram": 256 * 1024,
    "gauge_max": 4096,
    "gauge_mostrecent": 4096,
    "gauge_sum": 4096,
}
"""The files of a slot, with enough space for all its metrics. The space is allocated at startup: the files
are mapped into memory, and on a full disk, touching a missing page would kill the process."""

JUST_MADE_SECONDS = 60.0
"""Another supervisor may have just created its folder, but not locked it yet."""


@contextlib.contextmanager
def metrics_folder(slots: Iterable[str]) -> Iterator[Path]:
    """Create the folder with space for these slots, and remove it at the end. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # mode 0700, for this user only
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _remove_leftovers(folder.parent)
        for slot in slots:
            for kind, size in KINDS.items():
                with open(folder / f"{kind}_{slot}.db", "xb", opener=_private) as file:
                    file.write(bytes(size))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove_leftovers(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, locked, or just removed
            _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    status = folder.lstat()
    if status.st_uid != os.getuid() or time.time() - status.st_mtime < JUST_MADE_SECONDS:
        return
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
