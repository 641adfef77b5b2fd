"""Draw the difference image: a pale copy of the after image, with the changes outlined in color."""

import io

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from prshots.server.adapters.pictures.engine.decoding import band, bands
from prshots.server.adapters.pictures.engine.regions import Box

MAX_SIDE = 65_500
"""The longest side that libjpeg writes. A longer image is cut."""

_QUALITY = 85
_CHANGED = (214, 0, 110)
_MOVED = (9, 105, 218)
_GROUND = (255, 255, 255)
_TINT = 0.45
_OUTLINE = 2
_GAP = 3
"""The distance between an outline and the change, to keep the outline from covering the change."""

_PALE = [150 + level * 90 // 255 for level in range(256)]


def draw_difference(
    image: Image.Image, marks: npt.NDArray[np.uint8], changed: list[Box], moved: list[Box]
) -> bytes:
    """Return a JPEG of the image. Inserted rows and seams (`moved`) have a different color."""
    width, height = min(image.width, MAX_SIDE), min(image.height, MAX_SIDE)
    picture = Image.new("RGB", (width, height))
    for top, bottom in bands(0, height, width):
        picture.paste(_on_ground(image, Box(0, top, width, bottom)).convert("L").point(_PALE), (0, top))
    for box in (*moved, *changed):
        _show(picture, image, box)
    for box in changed:
        _tint(picture, marks, box)
    draw = ImageDraw.Draw(picture)
    for color, boxes in ((_MOVED, moved), (_CHANGED, changed)):
        for box in boxes:
            reach = _GAP + _OUTLINE
            outline = (
                max(0, box.left - reach),
                max(0, box.top - reach),
                min(width, box.right + reach) - 1,
                min(height, box.bottom + reach) - 1,
            )
            if outline[0] < outline[2] and outline[1] < outline[3]:
                draw.rectangle(outline, outline=color, width=_OUTLINE)
    encoded = io.BytesIO()
    picture.save(encoded, "JPEG", quality=_QUALITY, subsampling=0)
    return encoded.getvalue()


def _show(picture: Image.Image, image: Image.Image, box: Box) -> None:
    """Paste the box unchanged, in bands."""
    right, end = min(box.right, picture.width), min(box.bottom, picture.height)
    for top, bottom in bands(box.top, end, box.right - box.left):
        picture.paste(_on_ground(image, Box(box.left, top, right, bottom)), (box.left, top))


def _on_ground(image: Image.Image, box: Box) -> Image.Image:
    if not image.has_transparency_data:
        return band(image, box, "RGB")
    ground = Image.new("RGBA", (box.right - box.left, box.bottom - box.top), _GROUND)
    return Image.alpha_composite(ground, band(image, box, "RGBA")).convert("RGB")


def _tint(picture: Image.Image, marks: npt.NDArray[np.uint8], box: Box) -> None:
    for top, bottom in bands(box.top, min(box.bottom, picture.height), box.right - box.left):
        part = marks[top:bottom, box.left : box.right]
        mask = Image.fromarray((part > 0).astype(np.uint8) * np.uint8(255 * _TINT))
        picture.paste(_CHANGED, (box.left, top), mask)
