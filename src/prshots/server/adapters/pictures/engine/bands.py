"""Bands of rows of a decoded image. Converting a whole image would take a second copy of all pixels."""

from PIL import Image

BAND_PIXELS = 1_000_000
"""How many pixels a band has. A row of the longest side fits."""


def band(picture: Image.Image, box: tuple[int, int, int, int], mode: str) -> Image.Image:
    """Return a rectangle (left, top, right, bottom) in a mode of eight bits per channel."""
    part = picture.crop(box)
    if part.mode == "I;16":  # Pillow would keep the lower eight bits of 16-bit gray
        part = part.convert("I").point(lambda gray: gray / 257).convert("L")
    return part if part.mode == mode else part.convert(mode)  # the same mode would be one more copy
