"""Backup and restore of the embedded setup (SQLite, images on disk): one tar archive.

    images/<id[:2]>/<id>.<ext>   the recorded images, and their thumbnails
    prshots.db                   the records
    signing-keys                 the keys that sign image URLs
    manifest.json                a description, and the SHA-256 of everything before it

The manifest comes last, so an archive without one is incomplete.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from prshots.contract.errors import BackupError
from prshots.contract.object_names import ORIGIN_KEY

DATABASE, KEYS, IMAGES, MANIFEST = "prshots.db", "signing-keys", "images", "manifest.json"
"""The names in the archive. A data folder has the same names, except for the manifest."""

IMAGE_MEMBER = re.compile(f"{IMAGES}/{ORIGIN_KEY.pattern}")


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


FORMAT = 1

_END_OF_YEAR_9999 = 253_402_300_799
_MAX_COUNT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    format: int
    prshots: str
    schema_version: str
    installation_id: str
    created_at: int
    images: int
    thumbnails: int
    image_bytes: int
    gone_meanwhile: int
    """Images that were deleted while the backup was written."""
    sha256: str
    oldest_schema: str = ""
    """Processes with this schema or newer can use the database. Empty before schema 0011."""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode()

    @classmethod
    def from_json(cls, text: bytes) -> "Manifest":
        """Read a manifest, ignoring unknown fields. Raises ValueError, which names the wrong field."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError("it is not JSON") from error
        if not isinstance(given, dict):
            raise ValueError("it is not a JSON object")  # noqa: TRY004 - a wrong file, not a wrong argument
        given = {"oldest_schema": "", **given}
        names = [field.name for field in fields(cls)]
        for name in names:
            is_valid, takes = _CHECKS[name]
            if name not in given:
                raise ValueError(f"{name} is missing")
            if not is_valid(given[name]):
                raise ValueError(f"{name} must be {takes}")
        return cls(**{name: given[name] for name in names})


_Check = tuple[Callable[[object], bool], str]


def _number(least: int, most: int = _MAX_COUNT) -> _Check:
    def is_valid(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return is_valid, f"a whole number from {least} to {most}"


def _text(pattern: str, takes: str) -> _Check:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None, takes


_CHECKS: dict[str, _Check] = {
    "format": _number(1),
    "prshots": _text(r"[\x20-\x7e]{1,64}", "a version"),
    "schema_version": _text(r"[0-9]{4}", "four digits"),
    "oldest_schema": _text(r"([0-9]{4})?", "four digits"),
    "installation_id": _text(r"[0-9a-f]{1,64}", "1 to 64 hex digits"),
    "created_at": _number(0, _END_OF_YEAR_9999),
    "images": _number(0),
    "thumbnails": _number(0),
    "image_bytes": _number(0),
    "gone_meanwhile": _number(0),
    "sha256": _text(r"[0-9a-f]{64}", "64 hex digits"),
}
