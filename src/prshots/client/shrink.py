"""Shrink images that are too large to upload: losslessly, then with less quality, then with fewer pixels."""

import io
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prshots.client.shots import open_image
from prshots.contract.errors import InvalidInputError, PictureTooLargeError, UnsupportedPictureError
from prshots.contract.image_structure import check_structure
from prshots.contract.sizes import readable_size
from prshots.contract.statements import message

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 100_000_000
"""About 400 MB when decoded. Larger images are not decoded."""

MAX_FILE_BYTES = 200 * 1024 * 1024
_LARGEST_WEBP_SIDE = 16_383
_QUALITIES = (90, 80, 65, 50)


class Shrunk(NamedTuple):
    content: bytes
    content_type: str
    label: str


def require_pillow() -> None:
    """Raise InvalidInputError if Pillow isn't installed."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise InvalidInputError("--shrink needs Pillow: pip install 'prshots[shrink]'") from error


def shrink(path: Path, limit: int) -> Shrunk:
    """Return the image in less than `limit` bytes. Raises InvalidInputError if it can't be decoded."""
    require_pillow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd files, and about size, which we check ourselves
        try:
            found = next((each for each in _attempts(_decode(path)) if len(each.content) < limit), None)
        except InvalidInputError:
            raise
        except Exception as error:  # Pillow doesn't document its errors
            raise InvalidInputError(f"cannot be shrunk: {error}") from error
    if found is None:
        raise InvalidInputError(message("cannot_shrink_enough"))
    return found


def _decode(path: Path) -> "Image.Image":
    """Decode the image, and rotate it according to its metadata, which is then lost."""
    from PIL import Image, ImageOps

    if path.stat().st_size > MAX_FILE_BYTES:
        raise InvalidInputError(message("too_large_to_shrink", limit=readable_size(MAX_FILE_BYTES)))
    _check_structure(path)
    try:
        opened = Image.open(path, formats=("PNG", "JPEG", "WEBP"))
    except Image.DecompressionBombError as error:  # Pillow's own limit, which a program may change
        raise _too_many_pixels() from error
    with opened as picture:
        if math.prod(picture.size) > MAX_PIXELS:
            raise _too_many_pixels()
        turned = ImageOps.exif_transpose(picture)
        return turned.convert("RGBA" if turned.has_transparency_data else "RGB")


def _too_many_pixels() -> InvalidInputError:
    return InvalidInputError(message("too_many_pixels", limit=f"{MAX_PIXELS:,}"))


def _check_structure(path: Path) -> None:
    """Raise InvalidInputError for a file that would keep a decoder busy for minutes."""
    try:
        with open_image(path) as file:
            check_structure(file.read())
    except PictureTooLargeError as error:
        raise InvalidInputError(f"is {error}: too much work to shrink") from error
    except UnsupportedPictureError as error:
        raise InvalidInputError(f"is {error}: cannot be shrunk") from error


def _attempts(picture: "Image.Image") -> Iterator[Shrunk]:
    """Try lossless first, then lower quality, then half the pixels. Eventually even noise fits."""
    if max(picture.size) <= _LARGEST_WEBP_SIDE:
        yield _encode(picture, "WebP", lossless=True, quality=50, method=2)
    yield _encode(picture, "PNG", optimize=True)
    while True:
        if max(picture.size) <= _LARGEST_WEBP_SIDE:
            for quality in _QUALITIES:
                yield _encode(picture, "WebP", quality=quality, method=2)
        if max(picture.size) == 1:
            return
        picture = picture.reduce(2)


def _encode(picture: "Image.Image", label: str, **how: int) -> Shrunk:
    encoded = io.BytesIO()
    picture.save(encoded, label, **how)
    return Shrunk(encoded.getvalue(), f"image/{label.lower()}", label)
