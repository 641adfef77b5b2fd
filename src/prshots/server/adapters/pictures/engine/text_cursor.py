"""Recognize a blinking text cursor, the most common noise in screenshots of forms.

A cursor is a thin upright bar that one image has and the other doesn't. So are a letter such as `l`, a
divider, and the edge of a progress bar that moved by a pixel. Only a cursor has all of these:

- It stands out from the pixels at both of its sides. The edge of a bar doesn't.
- The ground continues under it, and it ends above and below. The border of a table cell goes on.
- It touches text. A divider keeps a distance.
- It reaches below the baseline of that text. A letter stands on the baseline.
"""

import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.regions import Box

Pixels = npt.NDArray[np.uint8]
Levels = npt.NDArray[np.int16]

REACH = 8
"""How many rows above and below a box to pass to `is_text_cursor`."""

_HEIGHTS = range(10, 161)
TALLEST = _HEIGHTS.stop + REACH
"""The maximum height of a box around a cursor. Rows that don't differ can be part of it."""
_SLIMNESS = 6
"""The minimum ratio of a cursor's height to its width."""
_STANDS_OUT = 24
"""How many levels a cursor or a letter differs from the ground."""
_SAME_GROUND = 10
"""How many levels the ground, which can be a gradient, changes within a cursor's width."""
_FREE_SHARE = 0.25
"""At how many of its rows, apart from the first, a cursor stands out from each side. A letter can touch it at
the others."""
_COLOR_SHARE, _GROUND_SHARE = 0.5, 0.5
"""At how many of its rows a cursor has its color, and the other image has the ground. Letters can overlap
it at the others."""
_TEXT_WIDTH = 4
"""How far to look for text, as a multiple of the cursor's height."""
_GAP = 1 / 8
_BELOW_BASELINE = 0.1
_LETTER_HEIGHT = 0.4
"""Shares of the cursor's height: the widest gap between it and the text, how far it reaches below the
baseline, and the height of a letter. In most fonts, these are at most 0.1, about 0.2, and 0.45 to 0.65."""
_LEAST_PIXELS = 2


def is_text_cursor(before: Pixels, after: Pixels, box: Box) -> bool:
    """Return whether a cursor is the only difference between two images in and around a box."""
    top, left = max(0, box.top - REACH), max(0, box.left - REACH)
    around = slice(top, box.bottom + REACH), slice(left, box.right + REACH)
    differs = (before[around] != after[around]).any(axis=2)
    rows, columns = np.flatnonzero(differs.any(axis=1)) + top, np.flatnonzero(differs.any(axis=0)) + left
    bar = Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    height = bar.bottom - bar.top
    if height not in _HEIGHTS or (bar.right - bar.left) * _SLIMNESS > height:
        return False
    return 0 < bar.left < bar.right < before.shape[1] and any(
        _stands_free(image, bar) and _continues(ground, bar) and _touches_text(ground, bar)
        for image, ground in ((after, before), (before, after))
    )


def _levels_between(one: Pixels, other: Pixels) -> Levels:
    """Return the largest difference of any channel."""
    levels: Levels = np.abs(one.astype(np.int16) - other).max(axis=-1)
    return levels


def _stands_free(pixels: Pixels, bar: Box) -> bool:
    """Return whether the bar has one color, and everything around it has others."""
    inside = pixels[bar.slices]
    color = np.median(inside, axis=(0, 1)).astype(np.uint8)
    if (inside == color).all(axis=(1, 2)).mean() < _COLOR_SHARE:
        return False
    ends = [pixels[row, bar.left : bar.right] for row in (bar.top - 1, bar.bottom) if 0 <= row < len(pixels)]
    if any((_levels_between(end, color) <= _STANDS_OUT).any() for end in ends):
        return False
    sides = [
        _levels_between(pixels[bar.top : bar.bottom, column], color) > _STANDS_OUT
        for column in (bar.left - 1, bar.right)
    ]
    return all(side[0] and side.mean() >= _FREE_SHARE for side in sides)


def _continues(ground: Pixels, bar: Box) -> bool:
    """Return whether the colors under the bar are between those at its sides."""
    under = ground[bar.slices].astype(np.int16)
    sides = ground[bar.top : bar.bottom, [bar.left - 1, bar.right]].astype(np.int16)
    low, high = sides.min(axis=1, keepdims=True), sides.max(axis=1, keepdims=True)
    is_ground = (under >= low - _SAME_GROUND) & (under <= high + _SAME_GROUND)
    return bool(is_ground.all(axis=(1, 2)).mean() >= _GROUND_SHARE)


def _touches_text(ground: Pixels, bar: Box) -> bool:
    """Return whether there is text beside the bar, and the bar reaches below its baseline."""
    height = bar.bottom - bar.top
    letters = _find_letters(ground, bar, _TEXT_WIDTH * height)
    gaps = [max(bar.left - letter.right, letter.left - bar.right) for letter in letters]
    bottoms = sorted(each.bottom for each in letters if each.bottom - each.top >= _LETTER_HEIGHT * height)
    if not bottoms or min(gaps) > max(_LEAST_PIXELS, _GAP * height):
        return False
    baseline = bottoms[len(bottoms) // 3]  # some letters reach below it
    return bar.bottom - baseline >= max(_LEAST_PIXELS, _BELOW_BASELINE * height)


def _find_letters(ground: Pixels, bar: Box, reach: int) -> list[Box]:
    """Return the shapes in the rows of the bar that are separated by columns without ink."""
    start = max(0, bar.left - reach)
    window = ground[bar.top : bar.bottom, start : bar.right + reach].mean(axis=2)
    # The ground can be a gradient. It shows above and below the letters.
    top, bottom = window[[0, -1], bar.left - start]
    ink = np.abs(window - window[0] - np.linspace(0, bottom - top, len(window))[:, np.newaxis]) > _STANDS_OUT
    steps = np.flatnonzero(np.diff(np.pad(ink.any(axis=0).astype(np.int8), 1)))
    letters = []
    for left, right in zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True):
        lines = np.flatnonzero(ink[:, left:right].any(axis=1)) + bar.top
        letters.append(Box(start + left, int(lines[0]), start + right, int(lines[-1]) + 1))
    return letters
