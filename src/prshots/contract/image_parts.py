"""Split an image file into segments (JPEG) or chunks (PNG, WebP). Nothing is decoded."""

import re
import struct
from collections.abc import Iterator

END_OF_IMAGE, START_OF_SCAN, APP1 = 0xD9, 0xDA, 0xE1
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # these three are tables
LENGTH_BYTES = 2

# Excludes bytes that aren't markers: a 0xFF in the pixels (0xFF00), a restart (0xD0 to 0xD7) and padding
# (0xFFFF).
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_WITHOUT_LENGTH = {0x01, 0xD8, END_OF_IMAGE}


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the marker of each segment, and the start and end of its content, up to the image's end.

    Like decoders, this skips the bytes between segments, which are the pixels.
    """
    position, marker = 2, 0
    while marker != END_OF_IMAGE and (found := _MARKER.search(data, position)):
        marker, start = data[found.end() - 1], found.end()
        length = 0 if marker in _WITHOUT_LENGTH else int.from_bytes(data[start : start + LENGTH_BYTES])
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


def webp_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind, start and end of each chunk. Like decoders, this stops at the declared end."""
    position, whole = 12, min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while position + 8 <= whole:
        start = position
        kind, length = struct.unpack_from("<4sI", data, start)
        position += 8 + length + length % 2
        yield kind, start, start + 8 + length
