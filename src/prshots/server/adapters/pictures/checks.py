"""Cheap checks of an image's structure, before a decoder sees it.

Each takes one pass over the file and decodes nothing. The limits are far above what cameras and browsers
write, and low enough that the work they allow fits into the worker's processor time.
"""

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress

from prshots.contract.errors import PictureTooLargeError, UnsupportedPictureError
from prshots.contract.formats import LEADING_BYTES, format_of

MAX_SCANS = 50
"""Of a progressive JPEG. Encoders write about 10. Each one visits every pixel, also if it has no bytes."""

MAX_SEGMENTS = 1_000
"""Of a JPEG. A color profile of 5 MB takes 80."""

MAX_CHUNKS = 10_000
"""Of a PNG or WebP. Encoders write one for every 8 KB or more, and one or two per frame."""

# Not a marker: a 0xFF in the pixels (0xFF00), a restart (0xD0 to 0xD7) and padding (0xFFFF).
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_WITHOUT_LENGTH = {0x01, 0xD8}
_END, _START_OF_SCAN = 0xD9, 0xDA
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_SUPPORTED_FRAMES = {0xC0, 0xC1, 0xC2}  # not: lossless, hierarchical, arithmetic coding
_LENGTH_BYTES = 2


def check_structure(data: bytes) -> None:
    """Raise PictureTooLargeError or UnsupportedPictureError.

    A damaged file passes, as far as it goes: the decoder refuses it.
    """
    image_format = format_of(data[:LEADING_BYTES])
    if image_format is None:
        raise UnsupportedPictureError("not a PNG, JPEG or WebP")
    _CHECKS[image_format.ext](data)


def _check_jpeg(data: bytes) -> None:
    scans = 0
    for count, (marker, start) in enumerate(_jpeg_segments(data), 1):
        scans += marker == _START_OF_SCAN
        if scans > MAX_SCANS:
            raise PictureTooLargeError(f"a JPEG of more than {MAX_SCANS} scans")
        if count > MAX_SEGMENTS:
            raise PictureTooLargeError(f"a JPEG of more than {MAX_SEGMENTS} segments")
        if marker in _FRAMES and (marker not in _SUPPORTED_FRAMES or not _has_8_bits(data, start)):
            raise UnsupportedPictureError("a JPEG with arithmetic coding, 12 bits or no loss")


def _has_8_bits(data: bytes, frame: int) -> bool:
    return data.startswith(b"\x08", frame + _LENGTH_BYTES)


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the markers of the segments, and where the segments start. As decoders do, skip bytes between."""
    position = 2
    while found := _MARKER.search(data, position):
        marker, position = data[found.end() - 1], found.end()
        if marker == _END:
            return
        if marker not in _WITHOUT_LENGTH:
            yield marker, position
            with suppress(struct.error):  # cut off
                position += struct.unpack_from(">H", data, position)[0]


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind of each chunk, where it starts and where the next one starts."""
    position, kind = 8, b""
    while position + 8 <= len(data) and kind != b"IEND":
        start = position
        length, kind = struct.unpack_from(">I4s", data, start)
        position += 12 + length
        yield kind, start, position


def webp_chunks(data: bytes) -> Iterator[bytes]:
    position = 12
    while position + 8 <= len(data):
        kind, length = struct.unpack_from("<4sI", data, position)
        yield kind
        position += 8 + length + length % 2


def _check_png(data: bytes) -> None:
    _check_count("PNG", png_chunks(data))


def _check_webp(data: bytes) -> None:
    _check_count("WebP", webp_chunks(data))


def _check_count(label: str, chunks: Iterator[object]) -> None:
    if any(count > MAX_CHUNKS for count, _ in enumerate(chunks, 1)):
        raise PictureTooLargeError(f"a {label} of more than {MAX_CHUNKS:,} chunks")


_CHECKS: dict[str, Callable[[bytes], None]] = {"png": _check_png, "jpg": _check_jpeg, "webp": _check_webp}
