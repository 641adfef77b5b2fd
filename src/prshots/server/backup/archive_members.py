"""Read the members of a backup's tar archive, and refuse anything else.

Anyone may have written the archive. tarfile would also follow links, sparse maps and extended headers, which
let a small archive overwrite files or fill the disk. A backup has none of them, so this module only reads
plain files.
"""

import os
import re
import tarfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from prshots.contract.errors import BackupError
from prshots.server.backup import DATABASE, IMAGE_MEMBER, KEYS, MANIFEST

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
