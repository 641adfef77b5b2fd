"""A folder to work in, on the disk where the work is to end up: what is finished is then only moved."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from prshots.contract.errors import BackupError


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Make the folder, for us alone, and remove it in the end.

    It has a name of its own for each target: so of two at once for the same target one is refused, and what
    one left that was killed is found, and removed, by the next. Raises BackupError, OSError.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    with _locked(folder):
        _clear(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def new_file(path: Path, mode: int = 0o600) -> IO[bytes]:
    """Make a file, by default one that nobody else may read: a backup holds secrets."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"another prshots is at the same work, in {folder}: wait for its end") from None
        yield
    finally:
        os.close(lock)


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
