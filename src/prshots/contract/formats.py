"""The supported image formats: their leading bytes, and their pixel size from the header."""

import struct
from contextlib import suppress
from dataclasses import dataclass

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


def pixel_size(data: bytes) -> tuple[int, int] | None:
    """Return the displayed width and height from the header, or None if `data` doesn't contain them.

    PNG and WebP have them in their first 30 bytes. In a JPEG, they follow metadata of any length (color
    profile, EXIF), so None can mean that more bytes are needed.
    """
    image_format = format_of(data)
    if image_format is None:
        return None
    try:
        size = _SIZES[image_format.ext](data)
    except (struct.error, IndexError):  # the data ends before the size
        return None
    return size if size is not None and min(size) > 0 else None


def _png_size(data: bytes) -> tuple[int, int] | None:
    first, width, height = struct.unpack_from(">4sII", data, 12)
    return (width, height) if first == b"IHDR" else None


_FILL = 0xFF
_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD8)}
_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # these three are tables
_PIXELS_FOLLOW = {0xD9, 0xDA}
_EXIF = 0xE1


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk from marker to marker to the one with the size."""
    position, is_rotated = 2, False
    while data[position] == _FILL:
        marker = data[position + 1]
        if marker == _FILL:  # may be repeated
            position += 1
        elif marker in _WITHOUT_LENGTH:
            position += 2
        elif marker in _PIXELS_FOLLOW:
            return None
        elif marker in _START_OF_FRAME:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return (height, width) if is_rotated else (width, height)
        else:
            (length,) = struct.unpack_from(">H", data, position + 2)
            if marker == _EXIF:
                is_rotated |= _is_rotated(data[position + 4 : position + 2 + length])
            position += 2 + length
    return None


_ORIENTATION = 0x0112
_QUARTER_TURNS = {5, 6, 7, 8}


def _is_rotated(exif: bytes) -> bool:
    """Return whether the EXIF metadata asks to show the image rotated by 90 degrees."""
    if not exif.startswith(b"Exif\0\0"):
        return False
    tiff = exif[6:]
    order = "<" if tiff.startswith(b"II") else ">"
    with suppress(struct.error):  # ignore unreadable metadata
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, value = struct.unpack_from(f"{order}H6xH", tiff, entry)
            if tag == _ORIENTATION:
                return value in _QUARTER_TURNS
    return False


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
