"""Check the structure of an image file without a decoder: that it is complete and quick to decode.

Each check takes one pass over the file and decodes nothing. The limits are far above the files of cameras and
browsers, and low enough to decode in seconds.
"""

import re
import struct
from collections.abc import Iterator

from prshots.contract.errors import PictureTooLargeError, UnsupportedPictureError
from prshots.contract.formats import LEADING_BYTES, format_of

MAX_SCANS = 50
"""The maximum for a progressive JPEG. Encoders write about 10. Each scan visits every pixel, even if it has
no bytes."""

MAX_SEGMENTS = 1_000
"""The maximum for a JPEG. A color profile of 5 MB takes 80."""

MAX_CHUNKS = 10_000
"""The maximum for a PNG or WebP. Encoders write one for every 8 KB or more, and one or two per frame."""

# Excludes bytes that aren't markers: a 0xFF in the pixels (0xFF00), a restart (0xD0 to 0xD7) and padding
# (0xFFFF).
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_WITHOUT_LENGTH = {0x01, 0xD8, 0xD9}
_END_OF_IMAGE, _START_OF_SCAN = 0xD9, 0xDA
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_SUPPORTED_FRAMES = {0xC0, 0xC1, 0xC2}  # excludes lossless, hierarchical, arithmetic coding
_LENGTH_BYTES = 2
_SHORTEST_WEBP = 20


def is_cut_off(data: bytes) -> bool:
    """Return whether an image file ends before the end of its image. Bytes after that end are fine."""
    image_format = format_of(data[:LEADING_BYTES])
    match image_format and image_format.ext:
        case "png":
            return not any(kind == b"IEND" and end <= len(data) for kind, _, end in png_chunks(data))
        case "jpg":
            return not any(marker == _END_OF_IMAGE for marker, _, _ in jpeg_segments(data))
        case "webp":
            return not _SHORTEST_WEBP <= 8 + int.from_bytes(data[4:8], "little") <= len(data)
    return False


def check_structure(data: bytes) -> None:
    """Raise PictureTooLargeError or UnsupportedPictureError for a file that should not be decoded.

    A damaged file passes, because the decoder will refuse it.
    """
    image_format = format_of(data[:LEADING_BYTES])
    match image_format and image_format.ext:
        case "png":
            _check_count("PNG", png_chunks(data))
        case "jpg":
            _check_jpeg(data)
        case "webp":
            _check_count("WebP", webp_chunks(data))
        case _:
            raise UnsupportedPictureError("not a PNG, JPEG or WebP")


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the marker of each segment, and the start and end of its content, up to the image's end.

    Like decoders, this skips the bytes between segments, which are the pixels.
    """
    position, marker = 2, 0
    while marker != _END_OF_IMAGE and (found := _MARKER.search(data, position)):
        marker, start = data[found.end() - 1], found.end()
        length = 0 if marker in _WITHOUT_LENGTH else int.from_bytes(data[start : start + _LENGTH_BYTES])
        position = start + length
        yield marker, start, position


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind, start and end of each chunk. The last one is IEND."""
    position, kind = 8, b""
    while kind != b"IEND" and position + 8 <= len(data):
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


def _check_jpeg(data: bytes) -> None:
    scans = 0
    for count, (marker, start, _) in enumerate(jpeg_segments(data), 1):
        scans += marker == _START_OF_SCAN
        if scans > MAX_SCANS:
            raise PictureTooLargeError(f"a JPEG of more than {MAX_SCANS} scans")
        if count > MAX_SEGMENTS:
            raise PictureTooLargeError(f"a JPEG of more than {MAX_SEGMENTS:,} segments")
        bits = data[start + _LENGTH_BYTES : start + _LENGTH_BYTES + 1]  # empty if cut off
        if marker in _FRAMES and (marker not in _SUPPORTED_FRAMES or bits not in (b"", b"\x08")):
            raise UnsupportedPictureError("a JPEG with arithmetic coding, 12 bits or lossless compression")


def _check_count(label: str, chunks: Iterator[object]) -> None:
    if any(count > MAX_CHUNKS for count, _ in enumerate(chunks, 1)):
        raise PictureTooLargeError(f"a {label} of more than {MAX_CHUNKS:,} chunks")
