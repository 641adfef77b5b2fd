"""Writes a zip of a pull request's images, piece by piece.

Images are already compressed, so the zip stores them uncompressed. The size and checksum of each image
precede its bytes, so any unzip tool can read the archive as it arrives.
"""

import re
import struct
import time
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import PurePosixPath

from prshots.contract.natural_order import shot_key
from prshots.server.domain.images.models import Image

MAX_PART_BYTES = 180
"""The maximum length of a folder or name. File systems allow 255 bytes, and a file also gets its viewport."""

_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF
_ZIP64_EXTRA = 1
_STORED_UTF8 = struct.pack("<HHH", 45, 0x800, 0)  # version needed to read it, flags, method
_UNIX_FILE = 0o100644 << 16
_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|]')
_RESERVED_ON_WINDOWS = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_LIKE_AN_IMAGE = re.compile(r"\.(png|jpg|webp)", re.IGNORECASE)


class ZipWriter:
    """Produces the bytes of a zip in order. Keeps only the list of files in memory."""

    def __init__(self, begins_at: int = 0) -> None:
        """Start a zip at this offset in its file."""
        self._offset = begins_at
        self._directory: list[bytes] = []

    def file(self, path: str, data: bytes, modified_at: int) -> bytes:
        """Return the file's header and bytes. `path` must be safe and unique: see `file_paths`."""
        name = path.encode()
        facts = _STORED_UTF8 + _dos_time(modified_at)
        facts += struct.pack("<LLL", zlib.crc32(data), len(data), len(data))
        header = b"PK\x03\x04" + facts + struct.pack("<HH", len(name), 0) + name
        self._directory.append(self._entry(facts, name))
        self._offset += len(header) + len(data)
        return header + data

    def end(self) -> Iterator[bytes]:
        """Yield the list of files, which ends the archive."""
        size, files = sum(map(len, self._directory)), len(self._directory)
        yield from self._directory
        if files >= _MAX_16 or size >= _MAX_32 or self._offset >= _MAX_32:
            yield struct.pack(
                "<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, files, files, size, self._offset
            )
            yield struct.pack("<4sLQL", b"PK\x06\x07", 0, self._offset + size, 1)
        files, size, offset = min(files, _MAX_16), min(size, _MAX_32), min(self._offset, _MAX_32)
        yield struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, files, files, size, offset, 0)

    def _entry(self, facts: bytes, name: bytes) -> bytes:
        offset, extra = self._offset, b""
        if offset >= _MAX_32:
            offset, extra = _MAX_32, struct.pack("<HHQ", _ZIP64_EXTRA, 8, self._offset)
        made_by_unix = struct.pack("<BB", 45, 3)
        rest = struct.pack("<HHHHHLL", len(name), len(extra), 0, 0, 0, _UNIX_FILE, offset)
        return b"PK\x01\x02" + made_by_unix + facts + rest + name + extra


def file_paths(images: Iterable[Image]) -> Iterator[tuple[str, Image]]:
    """Yield each image with its path in the archive, in natural order.

    A path looks like `checkout/cart@1280x800.dark.png`. It is safe to extract on every system, and unique
    even on file systems that ignore case.
    """
    taken: set[str] = set()
    for image in sorted(images, key=lambda each: shot_key(*each.shot)):
        path = _safe_path(image.name)
        suffix = f"@{image.viewport}{f'.{image.theme}' if image.theme else ''}.{image.ext}"
        tries = (f"{path}{f' ({number})' if number > 1 else ''}{suffix}" for number in count(1))
        free = next(each for each in tries if _fold_case(each) not in taken)
        taken.add(_fold_case(free))
        yield free, image


def safe_file_name(name: str) -> str:
    """Return the name without characters that a file system rejects or that have a meaning in a path."""
    visible = "".join("_" if unicodedata.category(each)[0] in "CZ" and each != " " else each for each in name)
    plain = _NOT_IN_FILE_NAMES.sub("_", visible).encode()[:MAX_PART_BYTES].decode(errors="ignore")
    plain = plain.lstrip().rstrip(" .") or "_"
    return f"_{plain}" if _RESERVED_ON_WINDOWS.fullmatch(plain) else plain


def _safe_path(name: str) -> str:
    *folders, last = [part for part in name.split("/") if part.strip(" .")] or ["_"]
    # A folder with the name of an image file could replace that file.
    safe = [_LIKE_AN_IMAGE.sub("_", safe_file_name(folder)) for folder in folders]
    return str(PurePosixPath(*safe, safe_file_name(last)))


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _dos_time(unix: int) -> bytes:
    at = time.gmtime(max(unix, 315_532_800))  # zip times start in 1980
    date = (at.tm_year - 1980) << 9 | at.tm_mon << 5 | at.tm_mday
    return struct.pack("<HH", at.tm_hour << 11 | at.tm_min << 5 | at.tm_sec // 2, date)
