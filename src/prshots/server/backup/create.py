"""Write a backup while the service runs.

The records come first, in one consistent snapshot, then the bytes of their images. Images never change, so
each one either still exists or was deleted since. The deleted images are removed from the snapshot before it
goes into the archive.
"""

import contextlib
import hashlib
import io
import os
import stat
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from prshots import __version__
from prshots.contract.errors import BackupError, RecordsFullError
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server import wiring
from prshots.server.adapters.objects.disk import DiskReader, sync_folder
from prshots.server.adapters.private_files import new_file
from prshots.server.adapters.sql.database.found_schema import TOO_OLD, FoundSchema
from prshots.server.adapters.sql.database.snapshot import Snapshot
from prshots.server.backup import DATABASE, FORMAT, IMAGES, KEYS, MANIFEST, Manifest, workplace
from prshots.server.config.settings import Settings

Progress = Callable[[int, int], None]


def back_up(
    settings: Settings, target: Path | None, progress: Progress = lambda _done, _all: None
) -> Manifest:
    """Write a backup to a file, completely or not at all. Without a target, write to standard output.

    Raises BackupError, RecordsError, StoreError, SettingsError.
    """
    if not (settings.on_sqlite and settings.on_disk):
        raise BackupError(
            "backup supports only SQLite with images on disk: for PostgreSQL or a cloud store, see "
            "docs/run/backup.md"
        )
    if target is None:
        with tempfile.TemporaryDirectory(prefix="prshots-backup-") as made, _report_os_errors(made):
            return _write(settings, Path(made), sys.stdout.buffer, progress)
    _require_file_or_nothing(target)
    beside = target.with_name(f".{target.name}.unfinished")
    with _report_os_errors(target), workplace(beside) as folder:
        unfinished = folder / "archive"
        with new_file(unfinished) as file:
            manifest = _write(settings, folder, file, progress)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
        sync_folder(target.parent)
    return manifest


def _require_file_or_nothing(target: Path) -> None:
    try:
        mode = target.lstat().st_mode
    except OSError:  # it doesn't exist, or writing the backup will report the error
        return
    if stat.S_ISLNK(mode):
        raise BackupError(f"{target} is a symbolic link: give the name of the file itself")
    if stat.S_ISDIR(mode):
        raise BackupError(f"{target} is a folder: give the name of a file")
    if not stat.S_ISREG(mode):
        raise BackupError(f"{target} is not a file: give the name of one, or - for standard output")


def _write(settings: Settings, folder: Path, file: IO[bytes], progress: Progress) -> Manifest:
    copy = folder / "database"
    new_file(copy).close()  # SQLite would make it readable by everyone
    snapshot = Snapshot(settings.database_path, copy)
    with contextlib.closing(snapshot):
        schema = snapshot.schema()
        _require_supported(schema)
        snapshot.forget_move()
        archive = _Archive(file)
        images = _Images(DiskReader(settings.store_path), archive)
        total = snapshot.count()
        for done, (image_id, ext, has_thumbnail) in enumerate(snapshot.images()):
            progress(done, total)
            images.add(image_id, ext, has_thumbnail=has_thumbnail)
        now = int(time.time())
        snapshot.schedule(images.gone, now)
        snapshot.forget_thumbnails(images.without_thumbnail)
        snapshot.forget_diffs()
        installation_id = snapshot.installation_id
    with copy.open("rb") as database:
        archive.add(DATABASE, database, copy.stat().st_size)
    # After the records: an extra new key is harmless, but a missing key would break image URLs.
    keys = wiring.existing_keys(settings).fresh_ring().format().encode()
    archive.add(KEYS, io.BytesIO(keys), len(keys))
    manifest = Manifest(
        format=FORMAT,
        prshots=__version__,
        schema_version=schema.version or "",
        oldest_schema=schema.oldest,
        installation_id=installation_id,
        created_at=now,
        images=total - len(images.gone),
        thumbnails=images.thumbnails,
        image_bytes=images.bytes,
        gone_meanwhile=len(images.gone),
        sha256=archive.sha256(),
    )
    text = manifest.to_json()
    archive.add(MANIFEST, io.BytesIO(text), len(text))
    archive.close()
    progress(total, total)
    return manifest


def _require_supported(schema: FoundSchema) -> None:
    if schema.is_too_old:
        raise BackupError(f"the database has schema {schema.version}, {TOO_OLD}")
    if schema.is_too_new:
        raise BackupError(
            f"the database has schema {schema.version}, which is too new for this version of prshots: make "
            "the backup with the version that the service runs"
        )


class _Images:
    """Adds images to the archive, and lists missing images."""

    def __init__(self, store: DiskReader, archive: "_Archive") -> None:
        self._store = store
        self._archive = archive
        self.gone: list[str] = []
        self.without_thumbnail: list[str] = []
        self.thumbnails = 0
        self.bytes = 0

    def add(self, image_id: str, ext: str, *, has_thumbnail: bool) -> None:
        if not self._try_add(origin_key(image_id, ext)):
            self.gone.append(image_id)
        elif has_thumbnail:
            if self._try_add(origin_key(image_id, THUMBNAIL_EXT)):
                self.thumbnails += 1
            else:
                self.without_thumbnail.append(image_id)

    def _try_add(self, key: str) -> bool:
        found = self._store.open(key)
        if found is None:
            return False
        with open(found.fd, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            self._archive.add(f"{IMAGES}/{key}", file, found.size)
        self.bytes += found.size
        return True


class _Archive:
    """A tar archive written without seeking, to work with pipes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._hashing = _Hashing(file)
        self._tar = tarfile.open(fileobj=self._hashing, mode="w", format=tarfile.PAX_FORMAT)  # type: ignore[call-overload]  # noqa: SIM115 - closed by close

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, int(time.time())
        self._tar.addfile(member, file)
        self._tar.members = []  # otherwise tarfile keeps one entry per image in memory

    def sha256(self) -> str:
        """Return the hash of everything written so far."""
        return self._hashing.hash.hexdigest()

    def close(self) -> None:
        self._tar.close()


class _Hashing:
    """A writable file that hashes its bytes and tracks its position. It can't seek."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._file.write(data)
        self.hash.update(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position


@contextlib.contextmanager
def _report_os_errors(place: str | Path) -> Iterator[None]:
    """Raise BackupError if the backup's own files can't be written."""
    try:
        yield
    except BrokenPipeError:  # the reader of standard output is gone
        raise
    except RecordsFullError as error:  # concerns the copy: the original isn't written to
        raise BackupError(f"backup failed: no space left at {place}") from error
    except OSError as error:
        raise BackupError(f"backup failed: {error.strerror}: {error.filename or place}") from error
