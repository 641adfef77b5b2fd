"""Make a backup while the service runs.

The records are copied first, in one piece, then the bytes of the images that this copy names. Images never
change, so what was there when the copy was made is there still, or has been deleted since; and that the copy
is told before it goes into the archive.
"""

import contextlib
import hashlib
import io
import os
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
from prshots.server.adapters.sql.schema import SCHEMA_VERSION
from prshots.server.adapters.sql.snapshot import Kept, Snapshot
from prshots.server.backup import DATABASE, FORMAT, IMAGES, KEYS, MANIFEST, Manifest
from prshots.server.backup.workplace import new_file, workplace
from prshots.server.config.settings import Settings

Progress = Callable[[int, int], None]


def back_up(
    settings: Settings, target: Path | None, progress: Progress = lambda _done, _all: None
) -> Manifest:
    """Write a backup to a file, which is there whole or not at all; to standard output, if none is named.

    Raises BackupError, RecordsError, StoreError, SettingsError.
    """
    if not (settings.on_sqlite and settings.on_disk):
        raise BackupError(
            "this is for SQLite with images on disk; what to back up of PostgreSQL and of a cloud store, and "
            "in which order, is in docs/run/backup.md"
        )
    if target is None:
        with tempfile.TemporaryDirectory(prefix="prshots-backup-") as made, _telling_of_no_room(made):
            return _write(settings, Path(made), sys.stdout.buffer, progress)
    if target.is_dir():
        raise BackupError(f"{target} is a folder: name a file in it")
    beside = target.with_name(f".{target.name}.unfinished")
    with _telling_of_no_room(target), workplace(beside) as folder:
        unfinished = folder / "archive"
        with new_file(unfinished) as file:
            manifest = _write(settings, folder, file, progress)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
        sync_folder(target.parent)
    return manifest


def _write(settings: Settings, folder: Path, file: IO[bytes], progress: Progress) -> Manifest:
    copy = folder / "database"
    new_file(copy).close()  # before SQLite makes it, for everybody to read
    snapshot = Snapshot(settings.database_path, copy)
    with contextlib.closing(snapshot):
        if snapshot.schema_version > SCHEMA_VERSION:
            raise BackupError(
                f"the database has schema {snapshot.schema_version}, which this version of prshots does not "
                "know: make the backup with the newer prshots that works on it"
            )
        archive = _Archive(file)
        images = _Images(DiskReader(settings.store_path), archive)
        total = snapshot.count()
        for done, image in enumerate(snapshot.images()):
            progress(done, total)
            images.add(image)
        now = int(time.time())
        snapshot.schedule(images.gone, now)
        snapshot.forget_thumbnails(images.without_thumbnail)
        version, installation_id = snapshot.schema_version, snapshot.installation_id
    with copy.open("rb") as database:
        archive.add(DATABASE, database, copy.stat().st_size)
    # After the records: a key that came in between is too many, one that was missing would be too few.
    keys = wiring.existing_keys(settings).fresh_ring().format().encode()
    archive.add(KEYS, io.BytesIO(keys), len(keys))
    manifest = Manifest(
        format=FORMAT,
        prshots=__version__,
        schema_version=version,
        installation_id=installation_id,
        created_at=now,
        images=total - len(images.gone),
        thumbnails=images.thumbnails,
        image_bytes=images.bytes,
        gone_meanwhile=len(images.gone),
        sha256=archive.sha256(),
    )
    text = manifest.model_dump_json(indent=2).encode()
    archive.add(MANIFEST, io.BytesIO(text), len(text))
    archive.close()
    progress(total, total)
    return manifest


class _Images:
    """Puts the images into the archive, and keeps in mind what was not there any more."""

    def __init__(self, store: DiskReader, archive: "_Archive") -> None:
        self._store = store
        self._archive = archive
        self.gone: list[str] = []
        self.without_thumbnail: list[str] = []
        self.thumbnails = 0
        self.bytes = 0

    def add(self, image: Kept) -> None:
        if not self._added(origin_key(image.id, image.ext)):
            self.gone.append(image.id)
        elif image.has_thumbnail:
            if self._added(origin_key(image.id, THUMBNAIL_EXT)):
                self.thumbnails += 1
            else:
                self.without_thumbnail.append(image.id)

    def _added(self, key: str) -> bool:
        found = self._store.open(key)
        if found is None:
            return False
        with open(found.fd, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            self._archive.add(f"{IMAGES}/{key}", file, found.size)
        self.bytes += found.size
        return True


class _Archive:
    """A tar archive that is written in one go, so that it can go through a pipe."""

    def __init__(self, file: IO[bytes]) -> None:
        self._hashing = _Hashing(file)
        self._tar = tarfile.open(fileobj=self._hashing, mode="w", format=tarfile.PAX_FORMAT)  # type: ignore[call-overload]  # noqa: SIM115 - closed by close

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, int(time.time())
        self._tar.addfile(member, file)
        self._tar.members = []  # it would keep all of them, however many images there are

    def sha256(self) -> str:
        """Return the hash of all that has been written so far."""
        return self._hashing.hash.hexdigest()

    def close(self) -> None:
        self._tar.close()


class _Hashing:
    """A file to write to, which tells where it is without being asked to go there."""

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
def _telling_of_no_room(place: str | Path) -> Iterator[None]:
    """Raise BackupError for what goes wrong with the files of the backup itself."""
    try:
        yield
    except BrokenPipeError:  # whoever was to take it has gone
        raise
    except RecordsFullError as error:  # it is the copy's disk, since of the original nothing is written
        raise BackupError(f"no backup made: no room left for it at {place}") from error
    except OSError as error:
        raise BackupError(f"no backup made: {error.strerror}: {error.filename or place}") from error
