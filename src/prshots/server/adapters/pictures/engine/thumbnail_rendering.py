"""Render a thumbnail from the bytes of an image, which may be broken or malicious."""

import io
import math
from typing import NamedTuple

from PIL import Image, ImageFile

from prshots.contract.formats import ROTATED, orientation_of
from prshots.server.adapters.pictures.engine import decoding

MAX_BYTES = 30_000
MAX_SIDE = 480
MAX_TALLNESS = 2.2
"""The maximum ratio of height to width. Only the top of a longer page is kept, because the whole page would
be a thin line."""

_QUALITIES = (80, 65, 50, 35)
_EFFORT = 2
"""From 0 to 6. Pillow's default of 4 takes more than twice the time and saves only 2 % of the bytes."""


class _Part(NamedTuple):
    """A rectangle of the file's own rows and columns."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def scale(self) -> float:
        """The factor from the part's sides to the thumbnail's, at most 1."""
        return min(1.0, MAX_SIDE / max(self.width, self.height))

    @property
    def whole_factor(self) -> int:
        """The integer to divide the sides by first. The result is at least twice as long as needed."""
        return max(1, int(0.5 / self.scale))


def render_thumbnail(data: bytes, tallness: float = MAX_TALLNESS) -> bytes:
    """Return a WebP of at most MAX_BYTES, with no more pixels than the image. Raises PictureError.

    An image taller than `tallness` times its width is cut to its top, like a long page on a screen of that
    shape.
    """
    tallness = min(tallness, MAX_TALLNESS)
    picture = decoding.open_image(data)
    orientation = orientation_of(data)
    with decoding.pillow_errors_as_ours():
        _decode(picture, orientation, tallness)
        thumbnail = _fit(picture, _visible_part(picture.size, orientation, tallness))
    return _encode(decoding.turn_upright(thumbnail, orientation))


def _decode(picture: ImageFile.ImageFile, orientation: int, tallness: float) -> None:
    """Decode the pixels. Decodes a JPEG at a reduced size if that is enough."""
    factor = _visible_part(picture.size, orientation, tallness).whole_factor
    width, height = picture.size
    picture.draft(None, (max(1, width // factor), max(1, height // factor)))
    picture.load()


def _visible_part(size: tuple[int, int], orientation: int, tallness: float) -> _Part:
    """Return the visible part: the whole image, or the top of a long page, depending on the orientation."""
    width, height = size
    if orientation in ROTATED:
        kept = min(width, math.ceil(height * tallness))
        left = width - kept if orientation in decoding.TOP_AT_END else 0
        return _Part(left, 0, left + kept, height)
    kept = min(height, math.ceil(width * tallness))
    top = height - kept if orientation in decoding.TOP_AT_END else 0
    return _Part(0, top, width, top + kept)


def _fit(picture: Image.Image, part: _Part) -> Image.Image:
    shrunk = _shrink(picture, part, part.whole_factor)
    size = max(1, round(part.width * part.scale)), max(1, round(part.height * part.scale))
    # Lanczos takes three times as long and makes text only slightly darker at this size.
    return shrunk.resize(size, Image.Resampling.HAMMING, reducing_gap=1.0)


def _shrink(picture: Image.Image, part: _Part, factor: int) -> Image.Image:
    """Divide the sides by an integer, one band of rows at a time, to avoid a second copy of all pixels."""
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    if factor == 1:  # small enough to copy, if a copy is needed
        is_ready = picture.mode == mode and part == (0, 0, *picture.size)
        return picture if is_ready else decoding.band(picture, part, mode)
    size = math.ceil(part.width / factor), math.ceil(part.height / factor)
    shrunk = Image.new(mode, size)
    rows = factor * max(1, decoding.BAND_PIXELS // (part.width * factor))
    for top in range(part.top, part.bottom, rows):
        rows_of_file = (part.left, top, part.right, min(top + rows, part.bottom))
        shrunk.paste(
            decoding.band(picture, rows_of_file, mode).reduce(factor), (0, (top - part.top) // factor)
        )
    return shrunk


def _encode(thumbnail: Image.Image) -> bytes:
    """Reduce quality first, then size, until the result fits into MAX_BYTES."""
    while True:
        for quality in _QUALITIES:
            encoded = io.BytesIO()
            thumbnail.save(encoded, "WEBP", quality=quality, alpha_quality=quality, method=_EFFORT)
            if encoded.tell() <= MAX_BYTES:
                return encoded.getvalue()
        thumbnail = thumbnail.reduce(2)
