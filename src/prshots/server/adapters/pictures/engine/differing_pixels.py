"""Decides which pixels of two aligned images differ visibly.

There are two passes. The coarse pass looks for shapes: it ignores the effects of anti-aliasing, a movement of
less than a pixel, or an encoder on edges. The fine pass looks for flat color, where a small difference is
visible and noise averages out.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.cells import (
    SIDE,
    combine_cells,
    combine_neighbors,
    pad,
    spread_to_pixels,
)
from prshots.server.adapters.pictures.engine.colors import to_lab
from prshots.server.adapters.pictures.engine.subpixel_shift import is_balanced, measure_shift

Plane = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Strength = npt.NDArray[np.uint8]
"""By how much each pixel differs; 0 if the difference is not visible."""

MARGIN = 8
"""How many pixels around a pixel affect its result."""


class Thresholds(NamedTuple):
    """Levels are of 255."""

    shape: int
    """A pixel of a shape differs if it changed by more levels."""
    flat: float
    """A flat area differs if its ΔE (CIE 1976) is larger."""
    flat_contrast: int
    """A cell with at most this contrast is flat."""
    flat_cells: int
    """How many of nine neighboring flat cells must differ."""
    is_lossy: bool
    """Encoders blur the color of shapes, so only their brightness counts."""


LOSSLESS = Thresholds(shape=6, flat=1.5, flat_contrast=6, flat_cells=4, is_lossy=False)
LOSSY = Thresholds(shape=30, flat=4.0, flat_contrast=12, flat_cells=4, is_lossy=True)

_SHIFT = 0.6
"""The movement in pixels that is ignored: browsers place letters on fractions of pixels."""
_IS_SHIFT, _IS_NO_SHIFT = 0.4, 0.1
"""A movement explains at least the first share of the change around a pixel if there was one, and at most the
second if there was none."""
_STRONG = 0.25
"""The share of the contrast around a pixel by which it changes if the shape changed, not only its edge."""
_LEAST_FLAT = 24
"""How many flat cells a cell of a lossy image needs around it. A cell far from any edge has 81."""


def find_differences(before: Plane, after: Plane, thresholds: Thresholds) -> Strength:
    """Compare two arrays of RGB pixels of the same shape."""
    height, width = before.shape[:2]
    before, after = pad(before), pad(after)
    planes = list(zip(_planes(before), _planes(after), strict=True))
    distance = np.maximum.reduce([_distance(one, other) for one, other in planes])
    shapes = _is_shape(*planes[0], thresholds)
    if not thresholds.is_lossy:
        for one, other in planes[1:]:
            shapes |= _is_shape(one, other, thresholds)
        shapes = _drop_shifts(shapes, *planes[0], thresholds)
    shapes |= _find_flat_areas(before, after, planes[0], distance, thresholds)
    return np.where(shapes, np.maximum(distance, 1), 0)[:height, :width].astype(np.uint8)


def _planes(pixels: Plane) -> tuple[Plane, Plane, Plane]:
    """Return brightness, and how much bluer and redder than gray each pixel is."""
    red, green, blue = (pixels[..., channel].astype(np.uint16) for channel in range(3))
    luma = (77 * red + 150 * green + 29 * blue) >> 8
    bluer, redder = ((channel + 256 - luma) >> 1 for channel in (blue, red))
    return luma.astype(np.uint8), bluer.astype(np.uint8), redder.astype(np.uint8)


def _distance(one: Plane, other: Plane) -> Plane:
    return np.maximum(one, other) - np.minimum(one, other)


def _is_shape(one: Plane, other: Plane, thresholds: Thresholds) -> Flags:
    """Return which pixels differ by more than a small movement of an edge explains."""
    distance = _distance(one, other)
    differs = distance > thresholds.shape
    if not differs.any():
        return differs
    by_shift = differs & (distance <= _contrast(one, other) * np.float32(_SHIFT) + thresholds.shape)
    if not by_shift.any():
        return differs
    return differs & ~(by_shift & (_is_edge(one, other) | spread_to_pixels(is_balanced(one, other))))


def _drop_shifts(shapes: Flags, one: Plane, other: Plane, thresholds: Thresholds) -> Flags:
    """Drop pixels that a movement explains, and add strong differences that no movement explains."""
    strong = _distance(one, other) > _contrast(one, other) * np.float32(_STRONG) + thresholds.shape
    if not shapes.any() and not strong.any():
        return shapes
    explained = measure_shift(one, other)
    return (shapes & spread_to_pixels(explained < _IS_SHIFT)) | (
        strong & spread_to_pixels(explained < _IS_NO_SHIFT)
    )


def _contrast(one: Plane, other: Plane) -> Plane:
    """Return the contrast around each pixel, of both images."""
    highest: Plane = combine_neighbors(np.maximum(one, other), np.maximum)
    return highest - combine_neighbors(np.minimum(one, other), np.minimum)


def _is_edge(one: Plane, other: Plane) -> Flags:
    """Return where both images have both values close by: the edge between them moved.

    A line of another color isn't such an edge: its old color is nowhere in the new image.
    """
    low, high = np.minimum(one, other), np.maximum(one, other)
    darkest = np.maximum(combine_neighbors(one, np.minimum), combine_neighbors(other, np.minimum))
    brightest = np.minimum(combine_neighbors(one, np.maximum), combine_neighbors(other, np.maximum))
    edge: Flags = (darkest <= low) & (brightest >= high)
    return edge


def _find_flat_areas(
    before: Plane, after: Plane, lumas: tuple[Plane, Plane], distance: Plane, thresholds: Thresholds
) -> Flags:
    """Return which pixels are in flat areas whose color changed."""
    flat = _is_flat(lumas[0], thresholds) & _is_flat(lumas[1], thresholds)
    flat &= combine_cells(distance, np.maximum) > 0
    change = np.zeros((*flat.shape, 3), np.float32)
    change[flat] = to_lab(_cell_means(before, flat)) - to_lab(_cell_means(after, flat))
    cells = flat.astype(np.float32)
    if thresholds.is_lossy:  # an encoder's errors cancel each other out, a new color does not
        change, cells = (
            combine_neighbors(combine_neighbors(each, np.add), np.add) for each in (change, cells)
        )
        change /= np.maximum(cells, 1)[..., np.newaxis]
        flat &= cells >= _LEAST_FLAT
    other = (flat & (np.square(change).sum(axis=-1) > thresholds.flat**2)).astype(np.uint8)
    found: Flags = spread_to_pixels((other > 0) & (combine_neighbors(other, np.add) >= thresholds.flat_cells))
    return found


def _is_flat(luma: Plane, thresholds: Thresholds) -> Flags:
    high, low = combine_cells(luma, np.maximum), combine_cells(luma, np.minimum)
    flat: Flags = high - low <= thresholds.flat_contrast
    return flat


def _cell_means(pixels: Plane, chosen: Flags) -> npt.NDArray[np.float32]:
    """Return the mean color of the chosen cells."""
    sums = combine_cells(pixels.astype(np.uint16), np.add)[chosen]
    return sums.astype(np.float32) / np.float32(SIDE * SIDE)
