"""Decode images, within the limits of all image operations, and identify their pixels.

We read the number of pixels from the header before we decode any. Measured peak memory for the largest
allowed image: 190 MB for PNG, 340 MB for a progressive CMYK JPEG, 330 MB for WebP. The WebP decoder keeps
four copies, so its limit is lower.
"""

import contextlib
import hashlib
import io
import math
import struct
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from PIL import Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from prshots.contract.errors import DamagedPictureError, PictureError, PictureTooLargeError
from prshots.contract.formats import BY_EXT, LEADING_BYTES, format_of, orientation_of, png_chunks, webp_chunks
from prshots.contract.image_structure import check_structure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_PIXELS = {"png": 40_000_000, "jpg": 40_000_000, "webp": 20_000_000}
"""By the format's extension. Full-page screenshots at double pixel density fit."""

MAX_LENGTH = 65_535
"""The longest side, in pixels: the limit of the JPEG format."""

BAND_PIXELS = 131_072
"""The number of pixels in a band of rows. A row of the longest side fits. Larger bands take twice as long:
their copies are new memory."""

TOP_AT_END = {3, 4, 7, 8}
"""Orientations whose top is the file's last row or column."""

_DECODERS: dict[str, type[ImageFile.ImageFile]] = {
    "png": PngImageFile,
    "jpg": JpegImageFile,
    "webp": WebPImageFile,
}

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

_HIDDEN = [255] + [0] * 255
"""By opacity: a mask of the fully transparent pixels."""

_OPAQUE = 255
_NO_MEMORY = -4
"""The code of OpenCV's error."""
_COMPRESSED_METADATA = {b"iCCP", b"iTXt", b"zTXt"}

# Pillow has its own limit: it warns above the limit and refuses above twice the limit. Set it to ours.
Image.MAX_IMAGE_PIXELS = max(MAX_PIXELS.values())
# Pillow's warnings about odd files don't belong in the log.
warnings.filterwarnings("ignore", module=r"PIL\.")


def open_image(data: bytes) -> ImageFile.ImageFile:
    """Check the structure and read the header. Raises PictureError.

    We pick the decoder, because Pillow's `open` would load all its plugins.
    """
    check_structure(data)
    ext = (format_of(data[:LEADING_BYTES]) or BY_EXT["png"]).ext
    with pillow_errors_as_ours():
        picture = _DECODERS[ext](io.BytesIO(_drop_metadata(data) if ext == "png" else data))
    if math.prod(picture.size) > MAX_PIXELS[ext] or max(picture.size) > MAX_LENGTH:
        width, height = picture.size
        raise PictureTooLargeError(f"{width} x {height} pixels are too many to decode")
    return picture


def _drop_metadata(png: bytes) -> bytes:
    """Return a PNG without its compressed metadata, because Pillow refuses very large metadata."""
    kept = [png[start:end] for kind, start, end in png_chunks(png) if kind not in _COMPRESSED_METADATA]
    return png[:8] + b"".join(kept)


@contextlib.contextmanager
def pillow_errors_as_ours() -> Iterator[None]:
    """Raise PictureError for any exception: Pillow raises many undocumented kinds for broken files."""
    try:
        yield
    except PictureError:
        raise
    except MemoryError as error:
        raise PictureTooLargeError("needs too much memory to decode") from error
    except Image.DecompressionBombError as error:
        raise PictureTooLargeError("has too many pixels to decode") from error
    except Exception as error:
        if getattr(error, "code", 0) == _NO_MEMORY:
            raise PictureTooLargeError("needs too much memory to decode") from error
        raise DamagedPictureError(f"cannot be decoded: {error}") from error


def turn_upright(picture: Image.Image, orientation: int) -> Image.Image:
    """Rotate decoded pixels the way they are shown."""
    return picture.transpose(_TURNS[orientation]) if orientation in _TURNS else picture


def bands(top: int, bottom: int, width: int) -> Iterator[tuple[int, int]]:
    """Split rows into bands. Yield the first row of each, and the row after its last."""
    height = max(1, BAND_PIXELS // width)
    for start in range(top, bottom, height):
        yield start, min(start + height, bottom)


def band(picture: Image.Image, box: tuple[int, int, int, int], mode: str) -> Image.Image:
    """Return a rectangle (left, top, right, bottom) in a mode with eight bits per channel."""
    part = picture.crop(box)
    if part.mode == "I;16":  # Pillow would keep the lower eight bits of 16-bit gray
        part = part.convert("I").point(lambda gray: gray / 257).convert("L")
    return part if part.mode == mode else part.convert(mode)  # not `convert` alone: that always copies


class DecodedPicture:
    """An image's upright pixels and their identity. Raises PictureError if they can't be decoded."""

    def __init__(self, data: bytes, known: str = "") -> None:
        """`known` is the identity, if it is known. Hashing takes a fifth as long as decoding."""
        picture = open_image(data)
        self.is_lossy = _is_lossy(data)
        with pillow_errors_as_ours():
            picture.load()
            self.image = turn_upright(picture, orientation_of(data))
            self.pixels = known or _hash_pixels(self.image)

    @property
    def is_transparent(self) -> bool:
        if self.image.mode == "RGBA":
            lowest, _ = self.image.getchannel("A").getextrema()
            return lowest != _OPAQUE
        return self.image.has_transparency_data

    def to_array(self, *, transparent: bool) -> "npt.NDArray[np.uint8]":
        """Return rows, columns and channels, and free the image. Transparent images have four channels.

        Their colors are multiplied by their opacity.
        """
        import numpy as np  # 80 MB of address space, which thumbnails don't need

        width, height = self.image.size
        array = np.empty((height, width, 4 if transparent else 3), np.uint8)
        for top, bottom in bands(0, height, width):
            part = band(self.image, (0, top, width, bottom), "RGBA" if transparent else "RGB")
            array[top:bottom] = np.asarray(part.convert("RGBa") if transparent else part)
        self.image.close()
        return array


def identify(data: bytes) -> bytes:
    """Return the identity of pixels, whatever their encoding, in hexadecimal digits. Raises PictureError."""
    return DecodedPicture(data).pixels.encode()


def _hash_pixels(picture: Image.Image) -> str:
    """Return the SHA-256 of width, height and RGBA pixels. Hidden colors count as 0."""
    width, height = picture.size
    found = hashlib.sha256(struct.pack(">II", width, height))
    for top, bottom in bands(0, height, width):
        rows = band(picture, (0, top, width, bottom), "RGBA")
        if picture.has_transparency_data:
            rows.paste((0, 0, 0, 0), mask=rows.getchannel("A").point(_HIDDEN))
        found.update(rows.tobytes())
    return found.hexdigest()


def _is_lossy(data: bytes) -> bool:
    """Return whether the format stores pixels inexactly: JPEG, and WebP unless it is lossless."""
    image_format = format_of(data[:LEADING_BYTES])
    if image_format == BY_EXT["webp"]:
        return all(kind != b"VP8L" for kind, _, _ in webp_chunks(data))
    return image_format == BY_EXT["jpg"]
