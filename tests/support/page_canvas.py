"""Pages drawn by tests: words, buttons and pictures at given places."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.domain.comparison.models import PairResult
from support.nasty_pictures import encoded

Pixels = npt.NDArray[np.uint8]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""

GROUND, INK = "#ffffff", "#24292f"
_NAMES = [
    "Ada",
    "Bo",
    "Cleo",
    "Dov",
    "Edna",
    "Fritz",
    "Gus",
    "Hilda",
    "Ivo",
    "June",
    "Kim",
    "Lars",
    "Mona",
    "Nils",
    "Olga",
    "Paul",
    "Quinn",
    "Rosa",
    "Sven",
    "Tara",
]


class Page:
    """A picture to draw on. Each method returns the page, so that calls can be chained."""

    def __init__(self, size: tuple[int, int] = (480, 320), ground: str = GROUND, mode: str = "RGB") -> None:
        self.picture = Image.new(mode, size, ground)
        self._draw = ImageDraw.Draw(self.picture)

    def write(self, left: int, top: int, words: str, color: str = INK, size: int = 14) -> "Page":
        self._draw.text((left, top), words, fill=color, font=_font(size))
        return self

    def fill(self, box: Box, color: str) -> "Page":
        self.picture.paste(color, box)
        return self

    def write_list(
        self, left: int, top: int, names: Sequence[str], step: int = 24, color: str = INK
    ) -> "Page":
        """Write a line for each name, with a number that no other line has."""
        for row, name in enumerate(names):
            self.write(left, top + row * step, f"{name}  {37 * sum(map(ord, name)) % 997}", color)
        return self

    def button(self, left: int, top: int, label: str, color: str = "#1f6feb") -> "Page":
        return self.fill((left, top, left + 70, top + 26), color).write(left + 12, top + 5, label, "#ffffff")

    def photo(self, left: int, top: int, side: int = 40, seed: int = 1) -> "Page":
        pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)
        self.picture.paste(Image.fromarray(pixels), (left, top))
        return self


NAMES: list[str] = _NAMES
"""Twenty names for lists."""


def diff(
    before: Page | Image.Image, after: Page | Image.Image, kind: str = "PNG", **options: object
) -> PairResult:
    one, other = (each.picture if isinstance(each, Page) else each for each in (before, after))
    options = {"compress_level": 1} if kind == "PNG" else options
    return compare(encoded(one, kind, **options), encoded(other, kind, **options))


def draw_at_fraction(page: Page, across: float, down: float) -> Image.Image:
    """Return the page moved by a part of a pixel, as a browser draws it."""
    matrix = (1, 0, -across, 0, 1, -down)
    return page.picture.transform(
        page.picture.size, Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR, fillcolor=GROUND
    )


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
