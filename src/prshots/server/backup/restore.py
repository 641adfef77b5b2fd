"""Restore a backup into an empty data folder: check all of it first, then put it in place at once."""

import contextlib
import errno
import hashlib
import os
import re
import stat
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from prshots.contract.errors import BackupError, KeysError, RecordsError
from prshots.contract.object_names import OWNER_MARK, THUMBNAIL_EXT
from prshots.server.adapters.keys import KeyFile
from prshots.server.adapters.objects.disk import sync_folder
from prshots.server.adapters.private_files import (
    FILE,
    IMAGE_FILE,
    IMAGE_FOLDER,
    make_private_folder,
    new_file,
)
from prshots.server.adapters.sql.database.found_schema import FoundSchema
from prshots.server.adapters.sql.database.snapshot import require_intact
from prshots.server.backup import DATABASE, FORMAT, IMAGE_MEMBER, IMAGES, KEYS, MANIFEST, Manifest, workplace
from prshots.server.config.settings import Settings

# Read the members of a backup's tar archive, and refuse anything else. Anyone may have written the archive.
# tarfile would also follow links, sparse maps and extended headers, which let a small archive overwrite files
# or fill the disk. A backup has none of them, so this module only reads plain files.

_SIZE_RECORD = re.compile(rb"\d{1,3} size=(\d{1,19})\n")
"""The only extended header in backups, for a file over 8 GB."""

_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.DIRTYPE: "a folder",
    tarfile.FIFOTYPE: "a FIFO",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
    tarfile.XHDTYPE: "a file with extended headers",
}


class IncompleteError(Exception):
    """The file ends too early, or isn't a tar archive."""


class ArchiveEntry(NamedTuple):
    name: str
    offset: int
    """The start of its header."""
    start: int
    size: int


def members(file: IO[bytes]) -> Iterator[ArchiveEntry]:
    """Yield the members of an archive. Raises IncompleteError, BackupError."""
    position, length = 0, os.fstat(file.fileno()).st_size
    while (header := _header(file, position)) is not None:
        offset, size = position, header.size
        if header.type == tarfile.XHDTYPE:
            size = _extended_size(file, header)
            position += 2 * tarfile.BLOCKSIZE
            header = _header(file, position)
            if header is None:
                raise IncompleteError
        start = position + tarfile.BLOCKSIZE
        if size < 0 or start + size > length:
            raise IncompleteError
        _require_known(header)
        yield ArchiveEntry(header.name, offset, start, size)
        position = start + -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _header(file: IO[bytes], position: int) -> tarfile.TarInfo | None:
    """Read a header. Return None at the end of the archive."""
    file.seek(position)
    block = file.read(tarfile.BLOCKSIZE)
    if not block.strip(b"\0"):
        return None
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError as error:
        raise IncompleteError from error


def _extended_size(file: IO[bytes], header: tarfile.TarInfo) -> int:
    found = _SIZE_RECORD.fullmatch(file.read(header.size)) if 0 < header.size <= tarfile.BLOCKSIZE else None
    if found is None:
        raise _unexpected(header)
    return int(found[1])


def _require_known(header: tarfile.TarInfo) -> None:
    is_known = header.name in {DATABASE, KEYS, MANIFEST} or IMAGE_MEMBER.fullmatch(header.name)
    if not is_known or header.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
        raise _unexpected(header)


def _unexpected(header: tarfile.TarInfo) -> BackupError:
    kind = f", {_KINDS[header.type]}" if header.type in _KINDS else ""
    return BackupError(f"not a prshots backup: it contains {header.name[:200]!r}{kind}")


Progress = Callable[[int, int], None]

_MANIFEST_BYTES = 64 * 1024
_CHUNK = 1024 * 1024
_WORKPLACE = ".restoring"
_NOT_DATA = {_WORKPLACE, "lost+found"}
"""An empty data folder may contain the leftovers of a killed restore, and the lost+found of a new disk."""


def restore(settings: Settings, source: Path, progress: Progress = lambda _done, _all: None) -> Manifest:
    """Restore a backup into the data folder. Raises BackupError and then leaves the folder unchanged."""
    folder = _empty_data_folder(settings)
    with _report_os_errors(source), _open(source) as file:
        manifest = _check(file, source)
        # Inside the folder, not next to it: the folder may be a separate disk.
        with _make(folder), workplace(folder / _WORKPLACE) as unpacked:
            _unpack(file, unpacked, manifest, progress)
            _check_contents(unpacked, source, manifest)
            with new_file(unpacked / IMAGES / OWNER_MARK, IMAGE_FILE) as mark:
                mark.write(manifest.installation_id.encode())
            os.sync()
            # The database last: without it, the other files don't count as an installation.
            for name in (KEYS, IMAGES, DATABASE):
                (unpacked / name).rename(folder / name)
            sync_folder(folder)
    return manifest


def _empty_data_folder(settings: Settings) -> Path:
    """Return the folder to restore into. Raises BackupError if it isn't empty."""
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


def _check(file: IO[bytes], source: Path) -> Manifest:
    """Check the whole archive. Raises BackupError if it is incomplete, not a backup, or too new."""
    last, missing, found = None, {DATABASE, KEYS, MANIFEST}, Counter[str]()
    try:
        for last in members(file):
            missing.discard(last.name)
            if last.name.startswith(f"{IMAGES}/"):
                found["thumbnails" if last.name.endswith(f".{THUMBNAIL_EXT}") else "images"] += 1
                found["image_bytes"] += last.size
    except IncompleteError:
        last = None
    if last is None or missing or last.name != MANIFEST or last.size > _MANIFEST_BYTES:
        raise BackupError(
            f"{source} is not a complete prshots backup: it is truncated, compressed, or another kind of "
            "file; decompress it or use another backup"
        )
    manifest = _manifest(b"".join(_read(file, last.start, last.size)), source)
    hashing = hashlib.sha256()
    for data in _read(file, 0, last.offset):
        hashing.update(data)
    if hashing.hexdigest() != manifest.sha256:
        raise BackupError(f"{source} is damaged: its checksum does not match; use another backup")
    if any(found[name] != getattr(manifest, name) for name in ("images", "thumbnails", "image_bytes")):
        raise BackupError(f"{source} is damaged: its manifest does not match its images; use another backup")
    return manifest


def _manifest(text: bytes, source: Path) -> Manifest:
    try:
        manifest = Manifest.from_json(text)
    except ValueError as error:
        raise BackupError(f"{source} has an invalid manifest: {error}; use another backup") from error
    schema = FoundSchema(manifest.schema_version, manifest.oldest_schema)
    if schema.is_too_old:
        raise BackupError(
            f"{source} has schema {schema.version}, of a development version before 0.1.0: restore it with "
            "commit 9409304, and run `prshots migrate` there first"
        )
    if manifest.format > FORMAT or schema.is_too_new:
        raise BackupError(
            f"{source} was made by prshots {manifest.prshots}, which is newer than this version: restore it "
            "with that version"
        )
    return manifest


def _read(file: IO[bytes], start: int, size: int) -> Iterator[bytes]:
    """Yield a part of the file in chunks."""
    file.seek(start)
    while size and (data := file.read(min(_CHUNK, size))):
        yield data
        size -= len(data)


def _unpack(file: IO[bytes], folder: Path, manifest: Manifest, progress: Progress) -> None:
    (folder / IMAGES).mkdir(mode=IMAGE_FOLDER)
    written = 0
    for member in members(file):
        if member.name == MANIFEST:
            continue
        is_image = member.name.startswith(f"{IMAGES}/")
        place = folder / member.name
        if is_image:
            place.parent.mkdir(mode=IMAGE_FOLDER, exist_ok=True)
        with new_file(place, IMAGE_FILE if is_image else FILE) as new:
            new.writelines(_read(file, member.start, member.size))
        written += member.size
        progress(min(written, manifest.image_bytes), manifest.image_bytes)


def _check_contents(unpacked: Path, source: Path, manifest: Manifest) -> None:
    """Raise BackupError if the service couldn't use the database or the keys."""
    try:
        require_intact(unpacked / DATABASE, manifest.installation_id)
        KeyFile(unpacked / KEYS).ring()
    except (RecordsError, KeysError) as error:
        raise BackupError(f"{source} is damaged: {error}; use another backup") from error


def _open(source: Path) -> IO[bytes]:
    """Open the archive without waiting, because a FIFO may have no writer. Raises BackupError, OSError."""
    fd = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BackupError(f"{source} is not a file: store the backup in a file first")
    return os.fdopen(fd, "rb")


@contextlib.contextmanager
def _make(folder: Path) -> Iterator[Path]:
    """Create the data folder if it is missing, and remove it again if nothing was restored."""
    was_there = folder.exists()
    make_private_folder(folder)
    try:
        yield folder
    finally:
        if not was_there:
            with contextlib.suppress(OSError):  # not empty: the restore succeeded
                folder.rmdir()


@contextlib.contextmanager
def _report_os_errors(source: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise BackupError(f"{source} is not a prshots backup: it contains the same file twice") from error
    except OSError as error:
        room = "; free up space and try again, nothing was restored" if error.errno == errno.ENOSPC else ""
        raise BackupError(f"cannot restore: {error.strerror}: {error.filename or source}{room}") from error
