"""A thumbnail from the bytes of a screenshot, whatever those bytes are.

An upload is checked by its first bytes only, so this is where a file is read that may be broken, or made to
take a machine's memory. Its header is asked for the number of pixels before any of them is decoded. The most
that the largest picture allowed was measured to take: 210 MB as a PNG, 320 MB as a progressive JPEG in CMYK,
310 MB as a WebP, whose decoder keeps four copies; hence its lower limit.
"""

import contextlib
import io
import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from PIL import ExifTags, Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from prshots.contract.errors import ThumbnailError
from prshots.contract.formats import FORMATS, LEADING_BYTES

MAX_BYTES = 30_000
MAX_SIDE = 480
MAX_TALLNESS = 2.2
"""How many times higher than wide. Of a longer page the top is shown: all of it would be a thin line."""

MAX_PIXELS = {"png": 40_000_000, "jpg": 40_000_000, "webp": 20_000_000}
"""By the extension of the format. A full page at twice the density is within them."""

MAX_LENGTH = 65_535
"""Of either side, as in a JPEG. A row that is longer would make `_BAND_PIXELS` a promise not kept."""

_QUALITIES = (80, 65, 50, 35)
_BAND_PIXELS = 1_000_000
_DECODERS: dict[str, type[ImageFile.ImageFile]] = {
    "png": PngImageFile,
    "jpg": JpegImageFile,
    "webp": WebPImageFile,
}
_UPRIGHT = 1
_LYING = {5, 6, 7, 8}  # orientations whose rows are shown as columns
_TOP_AT_END = {3, 4, 7, 8}  # those whose top is the file's last row, or column
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# Pillow has a limit too, above which it warns, and above twice of which it refuses: then it is ours.
Image.MAX_IMAGE_PIXELS = max(MAX_PIXELS.values())
# What is odd about a file is decided on here, and no news for a log.
warnings.filterwarnings("ignore", module=r"PIL\.")


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
        """What to multiply its sides with for the thumbnail: never more than 1."""
        return min(1.0, MAX_SIDE / max(self.width, self.height))

    @property
    def whole_factor(self) -> int:
        """What its sides may be divided by roughly, so that they stay twice as long as needed."""
        return max(1, int(0.5 / self.scale))


def render_thumbnail(data: bytes, tallness: float = MAX_TALLNESS) -> bytes:
    """Return a WebP of at most MAX_BYTES, never larger than the picture. Raises ThumbnailError.

    Of a picture that is higher than `tallness` times its width the top is shown: what a screen of that shape
    shows of a long page.
    """
    tallness = min(tallness, MAX_TALLNESS)
    with _pillows_trouble_as_ours():
        picture = _opened(data)
        orientation = _orientation(picture)
        _decode(picture, orientation, tallness)
        thumbnail = _fitted(picture, _shown_part(picture.size, orientation, tallness))
    if orientation in _TURNS:
        thumbnail = thumbnail.transpose(_TURNS[orientation])
    return _encoded(thumbnail)


@contextlib.contextmanager
def _pillows_trouble_as_ours() -> Iterator[None]:
    """Whatever a broken file leads a decoder to raise: there are a dozen kinds, and no list of them."""
    try:
        yield
    except ThumbnailError:
        raise
    except Exception as error:
        raise ThumbnailError(f"cannot be decoded: {error}") from error


def _opened(data: bytes) -> ImageFile.ImageFile:
    """Read the header. The decoder is picked by our own rule: Pillow's would load all that it has."""
    ext = next((known.ext for known in FORMATS if known.matches(data[:LEADING_BYTES])), None)
    if ext is None:
        raise ThumbnailError("neither PNG nor JPEG nor WebP")
    picture = _DECODERS[ext](io.BytesIO(data))
    if math.prod(picture.size) > MAX_PIXELS[ext] or max(picture.size) > MAX_LENGTH:
        width, height = picture.size
        raise ThumbnailError(f"{width} x {height} pixels are more than are decoded")
    return picture


def _orientation(picture: Image.Image) -> int:
    notes = Image.Exif()
    try:
        # Not by `getexif()`, which decodes a PNG, and then forgets what was wrong with its pixels.
        notes.load(picture.info.get("exif", b""))
        return int(notes.get(ExifTags.Base.Orientation, _UPRIGHT))
    except Exception:  # noqa: BLE001 - notes in the file that cannot be read are no reason to refuse the picture
        return _UPRIGHT


def _decode(picture: ImageFile.ImageFile, orientation: int, tallness: float) -> None:
    """Decode the pixels; of a JPEG, only as many of them as are needed."""
    factor = _shown_part(picture.size, orientation, tallness).whole_factor
    width, height = picture.size
    picture.draft(None, (max(1, width // factor), max(1, height // factor)))
    picture.load()


def _shown_part(size: tuple[int, int], orientation: int, tallness: float) -> _Part:
    """Return the part that is shown: all of it, or the top of a long page, wherever in the file that is."""
    width, height = size
    if orientation in _LYING:
        kept = min(width, math.ceil(height * tallness))
        left = width - kept if orientation in _TOP_AT_END else 0
        return _Part(left, 0, left + kept, height)
    kept = min(height, math.ceil(width * tallness))
    top = height - kept if orientation in _TOP_AT_END else 0
    return _Part(0, top, width, top + kept)


def _fitted(picture: Image.Image, part: _Part) -> Image.Image:
    shrunk = _shrunk(picture, part, part.whole_factor)
    size = max(1, round(part.width * part.scale)), max(1, round(part.height * part.scale))
    return shrunk.resize(size, Image.Resampling.LANCZOS)


def _shrunk(picture: Image.Image, part: _Part, factor: int) -> Image.Image:
    """Divide the sides by a whole factor, some rows at a time: a second copy of all pixels is never made."""
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    size = math.ceil(part.width / factor), math.ceil(part.height / factor)
    shrunk = Image.new(mode, size)
    rows = factor * max(1, _BAND_PIXELS // (part.width * factor))
    for top in range(part.top, part.bottom, rows):
        band = picture.crop((part.left, top, part.right, min(top + rows, part.bottom)))
        if band.mode == "I;16":  # of 16 bits of grey, Pillow would keep the lower eight
            band = band.convert("I").point(lambda grey: grey / 257).convert("L")
        shrunk.paste(band.convert(mode).reduce(factor), (0, (top - part.top) // factor))
    return shrunk


def _encoded(thumbnail: Image.Image) -> bytes:
    """Give up quality first, then size: even noise fits in the end."""
    while True:
        for quality in _QUALITIES:
            encoded = io.BytesIO()
            thumbnail.save(encoded, "WEBP", quality=quality, alpha_quality=quality, method=4)
            if encoded.tell() <= MAX_BYTES:
                return encoded.getvalue()
        thumbnail = thumbnail.reduce(2)
