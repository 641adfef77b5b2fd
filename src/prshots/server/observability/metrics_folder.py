"""The folder in which the processes of one `prshots serve` keep the figures of `/metrics`.

The supervisor holds a lock on it for as long as it runs. So a folder that nobody holds was left by one that
was killed; and systemd's cleaning of /tmp leaves a locked folder alone.
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
"""Set by the supervisor for its children. Without them, as in a command, figures stay in the process."""

RESTARTED_VARIABLE = "PRSHOTS_WORKER_RESTARTED"
"""Tells a worker that it follows one that died: it counts that, for the supervisor has no figures itself."""

PREFIX = "prshots-metrics-"
KINDS = {"counter": 128 * 1024, "histogram": 256 * 1024, "gauge_max": 4096, "gauge_mostrecent": 4096}
"""A slot's files, and the room that all its figures need. It is taken at once: the files are mapped into
memory, and to touch a page that a full disk cannot give ends a process."""

JUST_MADE_SECONDS = 60.0
"""Another supervisor may have made its folder this moment, and not locked it yet."""


@contextlib.contextmanager
def figures_folder(slots: Iterable[str]) -> Iterator[Path]:
    """Make the folder, with room for these slots, and remove it at the end. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # for this user only: mode 0700
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _remove_leftovers(folder.parent)
        for slot in slots:
            for kind, size in KINDS.items():
                (folder / f"{kind}_{slot}.db").write_bytes(bytes(size))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_leftovers(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or gone this moment
            _remove_if_nobodys(folder)


def _remove_if_nobodys(folder: Path) -> None:
    status = folder.lstat()
    if status.st_uid != os.getuid() or time.time() - status.st_mtime < JUST_MADE_SECONDS:
        return
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
