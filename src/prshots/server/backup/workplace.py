"""A temporary folder on the same disk as the result: a rename puts finished work in place."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from prshots.contract.errors import BackupError


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Create the folder, readable only by this user, and remove it at the end.

    Every target has its own folder name. A second run for the same target is therefore refused, and the next
    run removes the leftovers of a killed run. A link at this path is refused, because clearing it would empty
    the folder that it points to. Raises BackupError, OSError.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    with _lock(folder):
        _clear(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
        raise BackupError(f"{folder} is a link or a file, but a folder is needed there: remove it") from None
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            raise BackupError(f"{folder} belongs to another user: remove it, or use another folder")
        os.fchmod(lock, 0o700)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"another prshots process is using {folder}: wait until it finishes") from None
        yield
    finally:
        os.close(lock)


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
