"""Restore a backup into an empty data folder: check all of it first, then put everything in place at once."""

import contextlib
import errno
import hashlib
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from prshots.contract.errors import BackupError
from prshots.contract.object_names import OWNER_MARK
from prshots.server.adapters.objects.disk import sync_folder
from prshots.server.adapters.sql.schema import SCHEMA_VERSION
from prshots.server.backup import DATABASE, IMAGE_MEMBER, IMAGES, KEYS, MANIFEST
from prshots.server.backup.manifest import FORMAT, Manifest
from prshots.server.backup.workplace import new_file, workplace
from prshots.server.config.settings import Settings

Progress = Callable[[int, int], None]

_MANIFEST_BYTES = 64 * 1024
_CHUNK = 1024 * 1024
_WORKPLACE = ".restoring"
_NOT_DATA = {_WORKPLACE, "lost+found"}
"""What an empty data folder may contain: leftovers of a killed restore, and what a new disk comes with."""


def restore(settings: Settings, source: Path, progress: Progress = lambda _done, _all: None) -> Manifest:
    """Restore a backup into the data folder. Raises BackupError and then leaves the folder unchanged."""
    folder = _empty_data_folder(settings)
    with _reporting_os_errors(source), source.open("rb") as file:
        manifest = _checked(file, source)
        # Inside the folder, not beside it: the folder may be a separate disk.
        with _made(folder), workplace(folder / _WORKPLACE) as unpacked:
            _unpack(file, unpacked, manifest, progress)
            (unpacked / IMAGES / OWNER_MARK).write_text(manifest.installation_id)
            os.sync()
            # The database last: without it, the rest does not count as an installation.
            for name in (KEYS, IMAGES, DATABASE):
                (unpacked / name).rename(folder / name)
            sync_folder(folder)
    return manifest


def _empty_data_folder(settings: Settings) -> Path:
    """Return the folder to restore into. Raises BackupError if it is not empty."""
    folder = settings.data_dir
    places = {
        "PRSHOTS_DATABASE_URL": (settings.database_path if settings.on_sqlite else None, DATABASE),
        "PRSHOTS_STORE_URL": (settings.store_path.absolute() if settings.on_disk else None, IMAGES),
        "PRSHOTS_SIGNING_KEYS_FILE": (settings.signing_keys_file, KEYS),
    }
    for variable, (place, name) in places.items():
        if place is None or place.absolute() != folder.absolute() / name:
            raise BackupError(
                f"{variable} points outside the data folder, but restore writes everything into it: run "
                f"restore without {variable}, then move {folder / name} to its place"
            )
    try:
        found = sorted(set(os.listdir(folder)) - _NOT_DATA)  # noqa: PTH208 - names, not paths
    except FileNotFoundError:
        return folder
    except OSError as error:
        raise BackupError(f"cannot restore into {folder}: {error.strerror}") from error
    if found:
        raise BackupError(
            f"{folder} is not empty (it contains {found[0]}): stop the service that uses it and move the "
            "folder away, or set PRSHOTS_DATA_DIR to another folder"
        )
    return folder


def _checked(file: IO[bytes], source: Path) -> Manifest:
    """Check the whole archive. Raises BackupError if it is incomplete, not a backup, or too new."""
    with _opened(file, source) as tar:
        last, missing = None, {DATABASE, KEYS, MANIFEST}
        for last in _members(tar):
            _require_known(last)
            missing.discard(last.name)
        if last is None or missing or last.name != MANIFEST or last.size > _MANIFEST_BYTES:
            raise _incomplete(source)
        text = tar.extractfile(last)
        manifest = _manifest(text.read() if text else b"", source)
    if _sha256(file, last.offset) != manifest.sha256:
        raise BackupError(f"{source} is damaged: its checksum does not match; use another backup")
    return manifest


def _manifest(text: bytes, source: Path) -> Manifest:
    try:
        manifest = Manifest.from_json(text)
    except ValueError as error:
        raise BackupError(f"{source} has an invalid manifest: {error}; use another backup") from error
    if manifest.format > FORMAT or manifest.schema_version > SCHEMA_VERSION:
        raise BackupError(
            f"{source} was made by prshots {manifest.prshots}, which is newer than this version: restore it "
            "with that version"
        )
    return manifest


def _sha256(file: IO[bytes], size: int) -> str:
    hashing = hashlib.sha256()
    file.seek(0)
    while size and (data := file.read(min(_CHUNK, size))):
        hashing.update(data)
        size -= len(data)
    return hashing.hexdigest()


def _unpack(file: IO[bytes], folder: Path, manifest: Manifest, progress: Progress) -> None:
    (folder / IMAGES).mkdir()
    file.seek(0)
    written = 0
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in _members(tar):
            if member.name == MANIFEST:
                continue
            place = folder / member.name
            place.parent.mkdir(exist_ok=True)
            content = tar.extractfile(member)
            mode = 0o644 if IMAGE_MEMBER.fullmatch(member.name) else 0o600
            with new_file(place, mode) as new:
                shutil.copyfileobj(content, new, _CHUNK)  # type: ignore[arg-type]  # checked: it is a file
            written += member.size
            progress(min(written, manifest.image_bytes), manifest.image_bytes)


def _members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while member := tar.next():
        tar.members = []  # type: ignore[attr-defined]  # or it keeps one entry per image in memory
        yield member


def _require_known(member: tarfile.TarInfo) -> None:
    """Raise BackupError for anything that a backup does not contain: other names, folders, links, devices."""
    known = member.name in {DATABASE, KEYS, MANIFEST} or IMAGE_MEMBER.fullmatch(member.name)
    if not (known and member.isreg()):
        raise BackupError(f"not a prshots backup: it contains {member.name[:200]!r}")


@contextlib.contextmanager
def _opened(file: IO[bytes], source: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(fileobj=file, mode="r:") as tar:
            yield tar
    except tarfile.TarError as error:
        raise _incomplete(source) from error


def _incomplete(source: Path) -> BackupError:
    return BackupError(
        f"{source} is not a complete prshots backup: it is truncated, compressed, or another kind of file; "
        "decompress it or use another backup"
    )


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """Create the data folder if it is missing, and remove it again if nothing was restored."""
    was_there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        if not was_there:
            with contextlib.suppress(OSError):  # not empty: the restore succeeded
                folder.rmdir()


@contextlib.contextmanager
def _reporting_os_errors(source: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise BackupError(f"{source} is not a prshots backup: it contains the same file twice") from error
    except OSError as error:
        room = "; free up space and try again, nothing was restored" if error.errno == errno.ENOSPC else ""
        raise BackupError(f"cannot restore: {error.strerror}: {error.filename or source}{room}") from error
