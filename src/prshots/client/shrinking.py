"""Making an image fit that is too large to upload: recompressed first, then coarser, then smaller."""

import contextlib
import io
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import MAX_IMAGE_BYTES

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 100_000_000
"""About 400 MB when decoded. A file that says it has more is not decoded."""

TOO_MANY_PIXELS = f"has more than {MAX_PIXELS:,} pixels: it is not decoded to shrink it"
MAX_FILE_BYTES = 200 * 1024 * 1024
_LARGEST_WEBP_SIDE = 16_383
_QUALITIES = (90, 80, 65, 50)


class Shrunk(NamedTuple):
    content: bytes
    content_type: str
    label: str


def require_pillow() -> None:
    """Raise InvalidInputError when there is nothing here to shrink images with."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise InvalidInputError("--shrink needs Pillow: pip install 'prshots[shrink]'") from error


def shrunk(path: Path, limit: int = MAX_IMAGE_BYTES) -> Shrunk:
    """Return the image in less than `limit` bytes. Raises InvalidInputError when it cannot be decoded."""
    require_pillow()
    with _pillows_trouble_as_ours():
        picture = _decoded(path)
        for attempt in _attempts(picture):
            if len(attempt.content) < limit:
                return attempt
    raise InvalidInputError("could not be made to fit")


@contextlib.contextmanager
def _pillows_trouble_as_ours() -> Iterator[None]:
    """Whatever a broken file leads a decoder to raise: there are a dozen kinds, and no list of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd about the file; of its size we decide ourselves
        try:
            yield
        except InvalidInputError:
            raise
        except Exception as error:
            raise InvalidInputError(f"could not be shrunk: {error}") from error


def _decoded(path: Path) -> "Image.Image":
    """Decode it, turned as it is shown: the notes that say how do not survive."""
    from PIL import ImageOps

    if path.stat().st_size > MAX_FILE_BYTES:
        raise InvalidInputError(f"is too large to be shrunk: more than {MAX_FILE_BYTES // 1024**2} MB")
    with _opened(path) as picture:
        if math.prod(picture.size) > MAX_PIXELS:
            raise InvalidInputError(TOO_MANY_PIXELS)
        turned = ImageOps.exif_transpose(picture)
        return turned.convert("RGBA" if turned.has_transparency_data else "RGB")


def _opened(path: Path) -> "Image.Image":
    from PIL import Image

    try:
        return Image.open(path, formats=("PNG", "JPEG", "WEBP"))
    except Image.DecompressionBombError as error:  # Pillow has a limit of its own, which a program may set
        raise InvalidInputError(TOO_MANY_PIXELS) from error


def _attempts(picture: "Image.Image") -> Iterator[Shrunk]:
    """Give up nothing first, then quality, then size: even noise fits in the end."""
    if max(picture.size) <= _LARGEST_WEBP_SIDE:
        yield _webp(picture, lossless=True, quality=50, method=2)
    yield _png(picture)
    while True:
        if max(picture.size) <= _LARGEST_WEBP_SIDE:
            for quality in _QUALITIES:
                yield _webp(picture, quality=quality, method=2)
        if max(picture.size) == 1:
            return
        picture = picture.reduce(2)


def _webp(picture: "Image.Image", **how: int) -> Shrunk:
    encoded = io.BytesIO()
    picture.save(encoded, "WEBP", **how)
    return Shrunk(encoded.getvalue(), "image/webp", "WebP")


def _png(picture: "Image.Image") -> Shrunk:
    encoded = io.BytesIO()
    picture.save(encoded, "PNG", optimize=True)
    return Shrunk(encoded.getvalue(), "image/png", "PNG")
