"""Check the structure of an image file without a decoder: that it is complete and quick to decode.

Each check takes one pass over the file and decodes nothing. The limits are far above the files of cameras and
browsers, and low enough to decode in seconds.
"""

from collections.abc import Iterator

from prshots.contract.errors import PictureTooLargeError, UnsupportedPictureError
from prshots.contract.formats import (
    END_OF_IMAGE,
    FRAMES,
    LEADING_BYTES,
    LENGTH_BYTES,
    START_OF_SCAN,
    format_of,
    jpeg_segments,
    png_chunks,
    webp_chunks,
)

MAX_SCANS = 50
"""The maximum for a progressive JPEG. Encoders write about 10. Each scan visits every pixel, even if it has
no bytes."""

MAX_SEGMENTS = 1_000
"""The maximum for a JPEG. A color profile of 5 MB takes 80."""

MAX_CHUNKS = 10_000
"""The maximum for a PNG or WebP. Encoders write one for every 8 KB or more, and one or two per frame."""

_SUPPORTED_FRAMES = {0xC0, 0xC1, 0xC2}  # excludes lossless, hierarchical, arithmetic coding
_SHORTEST_WEBP = 20


def is_cut_off(data: bytes) -> bool:
    """Return whether an image file ends before the end of its image. Bytes after that end are fine."""
    image_format = format_of(data[:LEADING_BYTES])
    match image_format and image_format.ext:
        case "png":
            return not any(kind == b"IEND" and end <= len(data) for kind, _, end in png_chunks(data))
        case "jpg":
            return not any(marker == END_OF_IMAGE for marker, _, _ in jpeg_segments(data))
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


def _check_jpeg(data: bytes) -> None:
    scans = 0
    for count, (marker, start, _) in enumerate(jpeg_segments(data), 1):
        scans += marker == START_OF_SCAN
        if scans > MAX_SCANS:
            raise PictureTooLargeError(f"a JPEG of more than {MAX_SCANS} scans")
        if count > MAX_SEGMENTS:
            raise PictureTooLargeError(f"a JPEG of more than {MAX_SEGMENTS:,} segments")
        bits = data[start + LENGTH_BYTES : start + LENGTH_BYTES + 1]  # empty if cut off
        if marker in FRAMES and (marker not in _SUPPORTED_FRAMES or bits not in (b"", b"\x08")):
            raise UnsupportedPictureError("a JPEG with arithmetic coding, 12 bits or lossless compression")


def _check_count(label: str, chunks: Iterator[object]) -> None:
    if any(count > MAX_CHUNKS for count, _ in enumerate(chunks, 1)):
        raise PictureTooLargeError(f"a {label} of more than {MAX_CHUNKS:,} chunks")
