"""Backup and restore of the embedded setup (SQLite, images on disk): one tar archive.

    images/<id[:2]>/<id>.<ext>   the images that the records name, and their thumbnails
    prshots.db                   the records
    signing-keys                 the keys that image URLs are signed with
    manifest.json                a description, and the SHA-256 of everything before it

The manifest comes last, so an archive without one is incomplete.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from prshots.contract.errors import BackupError
from prshots.contract.object_names import ORIGIN_KEY

DATABASE, KEYS, IMAGES, MANIFEST = "prshots.db", "signing-keys", "images", "manifest.json"
"""The names in the archive. A data folder has the same names, except for the manifest."""

IMAGE_MEMBER = re.compile(f"{IMAGES}/{ORIGIN_KEY.pattern}")


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Create the folder, readable only by this user, and remove it at the end.

    Every target has its own folder name. So a second run for the same target is refused, and the next run
    removes the leftovers of a killed run. A link that someone put there is refused: clearing it would empty
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
