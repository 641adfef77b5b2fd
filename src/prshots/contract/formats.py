"""The image formats we take, how each begins, and where each says how many pixels it has."""

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
        """Whether a file that begins with these bytes (`LEADING_BYTES` of them) is of this format."""
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
    """Return what a file is by its first bytes, whatever it is called."""
    return next((image_format for image_format in FORMATS if image_format.matches(head)), None)


def pixel_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height as shown, by the header; None when these bytes do not say.

    PNG and WebP say it in their first 30 bytes. A JPEG says it after its notes (a colour profile, a camera's
    data), which may take any room: of one that says nothing here, more may have to be read.
    """
    image_format = format_of(data)
    if image_format is None:
        return None
    try:
        size = _SIZES[image_format.ext](data)
    except (struct.error, IndexError):  # it ends before it says so
        return None
    return size if size is not None and min(size) > 0 else None


def _png_size(data: bytes) -> tuple[int, int] | None:
    first, width, height = struct.unpack_from(">4sII", data, 12)
    return (width, height) if first == b"IHDR" else None


_FILL = 0xFF
_ALONE = {0x01, *range(0xD0, 0xD8)}  # markers without a length
_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # the others of that row are tables
_PIXELS_FOLLOW = {0xD9, 0xDA}
_NOTES = 0xE1


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Go from marker to marker until the one that says it."""
    position, lies_on_its_side = 2, False
    while data[position] == _FILL:
        marker = data[position + 1]
        if marker == _FILL:  # may be repeated
            position += 1
        elif marker in _ALONE:
            position += 2
        elif marker in _PIXELS_FOLLOW:
            return None
        elif marker in _START_OF_FRAME:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return (height, width) if lies_on_its_side else (width, height)
        else:
            (length,) = struct.unpack_from(">H", data, position + 2)
            if marker == _NOTES:
                lies_on_its_side |= _lies_on_its_side(data[position + 4 : position + 2 + length])
            position += 2 + length
    return None


_ORIENTATION = 0x0112
_BY_A_QUARTER = {5, 6, 7, 8}


def _lies_on_its_side(notes: bytes) -> bool:
    """Whether a camera's notes (EXIF) ask for the picture to be turned by a quarter."""
    if not notes.startswith(b"Exif\0\0"):
        return False
    tiff = notes[6:]
    order = "<" if tiff.startswith(b"II") else ">"
    with suppress(struct.error):  # notes that cannot be read ask for nothing
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, value = struct.unpack_from(f"{order}H6xH", tiff, entry)
            if tag == _ORIENTATION:
                return value in _BY_A_QUARTER
    return False


_14_BITS = 0x3FFF


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """Read the first chunk, of which there are three kinds: lossy, lossless, and with more to come."""
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
