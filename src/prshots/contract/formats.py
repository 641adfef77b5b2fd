"""The supported image formats: leading bytes, displayed size, and parts of a file. Nothing is decoded."""

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

LEADING_BYTES = 12


@dataclass(frozen=True, slots=True)
class ImageFormat:
    content_type: str
    ext: str
    label: str

    def matches(self, head: bytes) -> bool:
        """Return whether a file that begins with `head` (`LEADING_BYTES` bytes) has this format."""
        match self.ext:
            case "png":
                return head.startswith(b"\x89PNG\r\n\x1a\n")
            case "jpg":
                return head.startswith(b"\xff\xd8\xff")
            case _:
                return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


FORMATS = (
    ImageFormat("image/png", "png", "PNG"),
    ImageFormat("image/jpeg", "jpg", "JPEG"),
    ImageFormat("image/webp", "webp", "WEBP"),
)
BY_CONTENT_TYPE = {image_format.content_type: image_format for image_format in FORMATS}
BY_EXT = {image_format.ext: image_format for image_format in FORMATS}


def format_of(head: bytes) -> ImageFormat | None:
    """Return a file's format by its first bytes, or None if it isn't supported."""
    return next((image_format for image_format in FORMATS if image_format.matches(head)), None)


UPRIGHT = 1
ROTATED = {5, 6, 7, 8}
"""Orientations that show the file's rows as columns."""


def pixel_size(data: bytes) -> tuple[int, int] | None:
    """Return the displayed width and height, or None if `data` doesn't contain them."""
    image_format = format_of(data)
    try:
        size = _SIZES[image_format.ext](data) if image_format else None
    except struct.error:  # the data ends before the size
        return None
    if size is None or min(size) == 0:
        return None
    return size[::-1] if orientation_of(data) in ROTATED else size


def orientation_of(data: bytes) -> int:
    """Return the EXIF orientation, which is 1 (upright) if the image doesn't say.

    The clients and the service must agree: the displayed size is a shot's viewport if none is given. All
    require the type that browsers require. `tests/vectors/pictures.json` tests this and the Node client.
    """
    exif = next(_exif_of(data), b"").removeprefix(_EXIF)
    if (order := _BYTE_ORDERS.get(exif[:4])) is None:
        return UPRIGHT
    with suppress(struct.error):  # ignore unreadable metadata
        (start,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, length, value = struct.unpack_from(f"{order}HHIH2x", exif, entry)
            if tag == _ORIENTATION:
                return value if (kind, length) == _ONE_SHORT else UPRIGHT
    return UPRIGHT


_EXIF = b"Exif\0\0"
_BYTE_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_ORIENTATION = 0x0112
_ONE_SHORT = (3, 1)
_EXIF_FLAG = 8


def _exif_of(data: bytes) -> Iterator[bytes]:
    """Yield the EXIF metadata that decoders read: before the pixels, or anywhere in an extended WebP."""
    image_format = format_of(data)
    match image_format and image_format.ext:
        case "png":
            before_pixels = takewhile(lambda chunk: chunk[0] != b"IDAT", png_chunks(data))
            yield from (data[start + 8 : end - 4] for kind, start, end in before_pixels if kind == b"eXIf")
        case "jpg":
            app1 = (data[at + LENGTH_BYTES : end] for kind, at, end in _jpeg_header(data) if kind == APP1)
            yield from (content for content in app1 if content.startswith(_EXIF))
        case "webp" if data[12:16] == b"VP8X" and int.from_bytes(data[20:21]) & _EXIF_FLAG:
            yield from (data[start + 8 : end] for kind, start, end in webp_chunks(data) if kind == b"EXIF")


def _png_size(data: bytes) -> tuple[int, int] | None:
    first, width, height = struct.unpack_from(">4sII", data, 12)
    return (width, height) if first == b"IHDR" else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    frames = (start for marker, start, _ in _jpeg_header(data) if marker in FRAMES)
    height, width = struct.unpack_from(">HH", data, next(frames, len(data)) + 3)
    return width, height


def _jpeg_header(data: bytes) -> Iterator[tuple[int, int, int]]:
    return takewhile(lambda segment: segment[0] != START_OF_SCAN, jpeg_segments(data))


_14_BITS = 0x3FFF


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """Read the first chunk, which is lossy, lossless or extended."""
    match data[12:16]:
        case b"VP8 " if data.startswith(b"\x9d\x01\x2a", 23):
            width, height = struct.unpack_from("<HH", data, 26)
            return width & _14_BITS, height & _14_BITS
        case b"VP8L" if data.startswith(b"\x2f", 20):
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & _14_BITS) + 1, (bits >> 14 & _14_BITS) + 1
        case b"VP8X":
            width, width_top, height, height_top = struct.unpack_from("<HBHB", data, 24)
            return (width_top << 16 | width) + 1, (height_top << 16 | height) + 1
    return None


_SIZES = {"png": _png_size, "jpg": _jpeg_size, "webp": _webp_size}


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
