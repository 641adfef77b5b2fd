"""What a graphics driver or an encoder does to a picture, repeatably."""

import random

from PIL import Image


def nudge_antialiased_pixels(picture: Image.Image) -> Image.Image:
    """Change the shade of single pixels between a dark and a bright one, as another driver's rounding does."""
    nudged = picture.copy()
    width, height = picture.size
    chosen = random.Random(13)
    gray = picture.convert("L")
    for _ in range(4000):
        x, y = chosen.randrange(1, width - 1), chosen.randrange(1, height - 1)
        left, middle, right = (gray.getpixel((x + step, y)) for step in (-1, 0, 1))
        if min(left, right) + 40 < middle < max(left, right) - 40:  # type: ignore[operator]
            nudged.putpixel(
                (x, y), tuple(level + chosen.choice([-25, 25]) for level in picture.getpixel((x, y)))
            )  # type: ignore[union-attr]
    return nudged


def unused_colors_of_transparent_pixels(picture: Image.Image) -> Image.Image:
    """Give fully transparent pixels another color, which no viewer shows."""
    assert picture.mode == "RGBA"
    alpha = picture.getchannel("A")
    hidden = Image.new("RGBA", picture.size, (90, 200, 30, 0))
    hidden.paste(picture, mask=alpha.point(lambda level: 255 * (level > 0)))
    hidden.putalpha(alpha)
    return hidden
