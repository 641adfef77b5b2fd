"""Opens an image for decoding, within the limits of all operations on images.

We read the number of pixels from the header before we decode any. Measured peak memory for the largest
allowed image: 190 MB for PNG, 340 MB for a progressive CMYK JPEG, 330 MB for WebP. The WebP decoder keeps
four copies, hence its lower limit.
"""

import contextlib
import io
import math
import warnings
from collections.abc import Iterator

from PIL import Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from prshots.contract.errors import DamagedPictureError, PictureError, PictureTooLargeError
from prshots.contract.formats import BY_EXT, LEADING_BYTES, format_of
from prshots.contract.image_structure import check_structure, png_chunks

MAX_PIXELS = {"png": 40_000_000, "jpg": 40_000_000, "webp": 20_000_000}
"""By the format's extension. Full-page screenshots at double pixel density fit."""

MAX_LENGTH = 65_535
"""The longest side, in pixels: the limit of the JPEG format."""

_DECODERS: dict[str, type[ImageFile.ImageFile]] = {
    "png": PngImageFile,
    "jpg": JpegImageFile,
    "webp": WebPImageFile,
}

_COMPRESSED_METADATA = {b"iCCP", b"iTXt", b"zTXt"}

# Pillow has its own limit: it warns above it and refuses above twice the limit. Set it to ours.
Image.MAX_IMAGE_PIXELS = max(MAX_PIXELS.values())
# Pillow's warnings about odd files do not belong in the log.
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
        raise DamagedPictureError(f"cannot be decoded: {error}") from error
