"""Draw the after image, pale, with what differs in color."""

from collections.abc import Sequence

import cv2
import numpy as np

from prshots.server.adapters.pictures.engine.decoding import bands
from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.pieces import FoundPiece
from prshots.server.adapters.pictures.engine.regions import Box, show_on_white
from prshots.server.adapters.pictures.engine.tokens import Pixels

MAX_SIDE = 65_500
"""The longest side that libjpeg writes. A longer image is cut."""

_QUALITY = 85
_CHANGED, _NEW = (110, 0, 214), (218, 105, 9)
"""Blue, green and red, as in the whole picture: OpenCV encodes it like that."""
_TINT = 0.45
_OUTLINE, _GAP = 2, 3
"""The outline keeps this distance from the change, so it covers nothing of it."""


def draw_difference(image: Pixels, left: Strength, pieces: Sequence[FoundPiece]) -> bytes:
    """Return a JPEG. What came in, and lines where something is gone, have a different color than changes."""
    image, left = image[:MAX_SIDE, :MAX_SIDE], left[:MAX_SIDE, :MAX_SIDE]
    height, width = left.shape
    picture = np.empty((height, width, 3), np.uint8)
    levels = (150 + np.arange(256) * 90 // 255).astype(np.uint8)
    for top, bottom in bands(0, height, width):
        gray = cv2.cvtColor(np.ascontiguousarray(show_on_white(image[top:bottom])), cv2.COLOR_RGB2GRAY)
        picture[top:bottom] = cv2.cvtColor(cv2.LUT(gray, levels), cv2.COLOR_GRAY2BGR)
    for each in pieces:
        box = each.after.clip(height, width)
        for top, bottom in bands(box.top, box.bottom, max(1, box.right - box.left)):
            rows = box._replace(top=top, bottom=bottom).slices
            picture[rows] = show_on_white(image[rows])[..., ::-1]
            if each.piece.kind == "changed":
                _tint(picture[rows], left[rows])
    for each in pieces:
        color = _CHANGED if each.piece.kind in ("changed", "recolored") else _NEW
        reach = _GAP + _OUTLINE if each.after.area else 0
        _outline(picture, each.after, reach, color)
    return cv2.imencode(
        ".jpg",
        picture,
        [
            cv2.IMWRITE_JPEG_QUALITY,
            _QUALITY,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
        ],
    )[1].tobytes()


def _tint(part: Pixels, left: Strength) -> None:
    color = np.full_like(part, _CHANGED)
    tinted = cv2.addWeighted(part, 1 - _TINT, color, _TINT, 0)
    np.copyto(part, tinted, where=left[..., np.newaxis] > 0)


def _outline(picture: Pixels, box: Box, reach: int, color: tuple[int, int, int]) -> None:
    height, width = picture.shape[:2]
    box = Box(box.left - reach, box.top - reach, box.right + reach, box.bottom + reach)
    inner = Box(box.left + _OUTLINE, box.top + _OUTLINE, box.right - _OUTLINE, box.bottom - _OUTLINE)
    for side in (
        box._replace(bottom=inner.top),
        box._replace(top=inner.bottom),
        box._replace(right=inner.left),
        box._replace(left=inner.right),
    ):
        picture[side.clip(height, width).slices] = color
