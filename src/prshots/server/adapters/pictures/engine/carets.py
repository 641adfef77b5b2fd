"""Recognizes a blinking text cursor, which is not a change of the page."""

from prshots.server.adapters.pictures.engine.pairs import Pair
from prshots.server.adapters.pictures.engine.regions import Box

_MAX_WIDTH = 2
_HEIGHTS = range(10, 41)


def is_caret(pair: Pair, box: Box) -> bool:
    """Return whether the box is a thin upright bar of one color in each image."""
    if box.right - box.left > _MAX_WIDTH or box.bottom - box.top not in _HEIGHTS:
        return False
    bars = [
        pair.pixels(canvas, box.top, box.bottom)[:, box.left : box.right].reshape(box.bottom - box.top, -1)
        for canvas in (pair.before, pair.after)
    ]
    return all((bar == bar[0]).all() for bar in bars)
