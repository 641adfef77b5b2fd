"""Decides which pixels of two aligned parts of images differ for a person.

Two passes. The coarse one looks for shapes: it forgives what anti-aliasing, a shift of less than a pixel, or an
encoder does to edges. The fine one looks for flat color: there a small difference is visible, and noise
averages out.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Plane = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Strength = npt.NDArray[np.uint8]
"""By how much each pixel differs; 0 where nobody sees a difference."""

MARGIN = 5
"""How many pixels around a pixel decide about it."""


class Thresholds(NamedTuple):
    """Levels are of 255."""

    shape: int
    """The least difference of a pixel of a shape."""
    flat: float
    """The least ΔE (CIE 1976) of a flat area."""
    flat_contrast: int
    """Up to this contrast a cell is flat."""
    is_lossy: bool
    """Encoders blur color and discolor what is next to an edge, so neither counts."""


LOSSLESS = Thresholds(shape=6, flat=1.5, flat_contrast=6, is_lossy=False)
LOSSY = Thresholds(shape=30, flat=3.0, flat_contrast=12, is_lossy=True)

_CELL = 4
_LEAST_CELLS = 4
"""How many of nine neighboring cells must have another color."""
_SHIFT = 0.6
"""The movement in pixels that is forgiven: browsers place letters on fractions of pixels."""
_BALANCED = 0.45
"""Up to this share of what changed around a pixel may be only brighter, or only darker, after a movement."""
_IS_SHIFT, _IS_NO_SHIFT = 0.4, 0.1
"""How much of the change around a pixel a movement explains if it is one, and if it is none."""
_REACH = 5
"""How many pixels around a pixel show whether it moved."""
_ESTIMATED_SHIFT = 1.2
"""The largest movement as we estimate it from slopes. Sharp edges make half a pixel 0.6 to 1.1, and one pixel 1.3."""
_SLOPE_NOISE = 3520
_LEAST_CHANGE = 500
_STRONG = 0.25
"""The share of the contrast around a pixel by which it changes, if a shape changed and not only its edge."""


def differing(before: Plane, after: Plane, thresholds: Thresholds) -> Strength:
    """Compare two arrays of RGB pixels of the same shape."""
    planes = list(zip(_planes(before), _planes(after), strict=True))
    distance = np.maximum.reduce([_distance(one, other) for one, other in planes])
    if thresholds.is_lossy:
        shapes = _is_shape(*planes[0], thresholds)
    else:
        explained = _explained_by_shift(*planes[0])
        shapes = np.zeros(distance.shape, bool)
        for one, other in planes:
            shapes |= _is_shape(one, other, thresholds) & (explained < _IS_SHIFT)
        shapes |= _is_strong(*planes[0], thresholds) & (explained < _IS_NO_SHIFT)
    shapes |= _flat_areas(before, after, planes[0], thresholds)
    return np.where(shapes, np.maximum(distance, 1), 0).astype(np.uint8)


def _planes(pixels: Plane) -> tuple[Plane, Plane, Plane]:
    """Return brightness, and how much bluer and redder than gray each pixel is."""
    red, green, blue = (pixels[..., channel].astype(np.uint16) for channel in range(3))
    luma = (77 * red + 150 * green + 29 * blue) >> 8
    bluer, redder = ((channel + 256 - luma) >> 1 for channel in (blue, red))
    return luma.astype(np.uint8), bluer.astype(np.uint8), redder.astype(np.uint8)


def _distance(one: Plane, other: Plane) -> Plane:
    return np.maximum(one, other) - np.minimum(one, other)


def _is_shape(one: Plane, other: Plane, thresholds: Thresholds) -> Flags:
    """Tell which pixels differ by more than a small movement of an edge explains."""
    distance = _distance(one, other)
    differs = distance > thresholds.shape
    if not differs.any():
        return differs
    by_shift = distance <= _contrast(one, other) * np.float32(_SHIFT) + thresholds.shape
    return differs & ~(by_shift & (_is_edge(one, other) | _is_balanced(one, other)))


def _is_strong(one: Plane, other: Plane, thresholds: Thresholds) -> Flags:
    return _distance(one, other) > _contrast(one, other) * np.float32(_STRONG) + thresholds.shape


def _contrast(one: Plane, other: Plane) -> Plane:
    """Return the contrast around each pixel, of both images."""
    return _around(np.maximum(one, other), np.maximum) - _around(np.minimum(one, other), np.minimum)


def _around(plane: Plane, pick: np.ufunc) -> Plane:
    """Return the lowest or highest value of each pixel and its eight neighbors."""
    rows = plane.copy()
    pick(rows[1:], plane[:-1], out=rows[1:])
    pick(rows[:-1], plane[1:], out=rows[:-1])
    both = rows.copy()
    pick(both[:, 1:], rows[:, :-1], out=both[:, 1:])
    pick(both[:, :-1], rows[:, 1:], out=both[:, :-1])
    return both


def _is_edge(one: Plane, other: Plane) -> Flags:
    """Tell where both images have both values close by: the edge between them moved.

    A line of another color is no such edge: its old color is nowhere in the new image.
    """
    low, high = np.minimum(one, other), np.maximum(one, other)
    return (
        (_around(one, np.minimum) <= low)
        & (_around(other, np.minimum) <= low)
        & (_around(one, np.maximum) >= high)
        & (_around(other, np.maximum) >= high)
    )


def _is_balanced(one: Plane, other: Plane) -> Flags:
    """Tell where what got darker also got brighter close by, as if it moved a little."""
    change = other.astype(np.int32) - one
    total, size = _sum_around(change, 3), _sum_around(np.abs(change), 3)
    return np.abs(total) <= _BALANCED * size


def _explained_by_shift(one: Plane, other: Plane) -> npt.NDArray[np.float32]:
    """Return how much of the change around each pixel a movement by less than a pixel explains, from 0 to 1.

    As Lucas and Kanade did: where brightness has a slope, a movement changes it by the slope times the way. We
    look for the way that leaves the least unexplained.
    """
    change = other.astype(np.int32) - one
    both = one.astype(np.int32) + other
    across, down = np.zeros_like(both), np.zeros_like(both)  # four times the slope
    across[:, 1:-1] = both[:, 2:] - both[:, :-2]
    down[1:-1] = both[2:] - both[:-2]
    xx, xy, yy, xt, yt, tt = (
        _sum_around(product, _REACH).astype(np.float32)
        for product in (
            across * across,
            across * down,
            down * down,
            across * change,
            down * change,
            change * change,
        )
    )
    noise = np.float32(_SLOPE_NOISE)
    area = (xx + noise) * (yy + noise) - xy * xy
    dx, dy = ((yy + noise) * xt - xy * yt) / area, ((xx + noise) * yt - xy * xt) / area
    left = tt - 2 * (dx * xt + dy * yt) + dx * dx * xx + 2 * dx * dy * xy + dy * dy * yy
    is_small = np.hypot(dx, dy) <= _ESTIMATED_SHIFT / 4
    explained: npt.NDArray[np.float32] = np.where(is_small & (tt > _LEAST_CHANGE), 1 - left / np.maximum(tt, 1), 0)
    return explained


def _sum_around(values: npt.NDArray[np.int32], reach: int) -> npt.NDArray[np.int32]:
    for axis in (0, 1):
        padding = [(reach + 1, reach) if each == axis else (0, 0) for each in (0, 1)]
        sums = np.cumsum(np.pad(values, padding), axis=axis, dtype=np.int32)
        width = 2 * reach + 1
        values = sums[width:] - sums[:-width] if axis == 0 else sums[:, width:] - sums[:, :-width]
    return values


def _flat_areas(
    before: Plane, after: Plane, lumas: tuple[Plane, Plane], thresholds: Thresholds
) -> Flags:
    """Tell which pixels are in flat areas of another color."""
    height, width = lumas[0].shape
    found = np.zeros((height, width), bool)
    rows, columns = height // _CELL, width // _CELL
    if not rows or not columns:
        return found
    flat = _is_flat(lumas[0], thresholds) & _is_flat(lumas[1], thresholds)
    other = np.zeros((rows, columns), bool)
    difference = _lab(_cell_means(before)[flat]) - _lab(_cell_means(after)[flat])
    other[flat] = np.linalg.norm(difference, axis=-1) > thresholds.flat
    supported = other & (_sum_around(other.astype(np.int32), 1) >= _LEAST_CELLS)
    found[: rows * _CELL, : columns * _CELL] = supported.repeat(_CELL, 0).repeat(_CELL, 1)
    return found


def _cells(plane: Plane) -> Plane:
    """Return the plane with the pixels of each cell in the axes 1 and 3."""
    rows, columns = plane.shape[0] // _CELL, plane.shape[1] // _CELL
    cut = plane[: rows * _CELL, : columns * _CELL]
    return cut.reshape(rows, _CELL, columns, _CELL, *plane.shape[2:])


def _is_flat(luma: Plane, thresholds: Thresholds) -> Flags:
    cells = _cells(luma)
    high, low = cells.max(axis=(1, 3)), cells.min(axis=(1, 3))
    if thresholds.is_lossy:
        high, low = _around(high, np.maximum), _around(low, np.minimum)
    flat: Flags = high - low <= thresholds.flat_contrast
    return flat


def _cell_means(pixels: Plane) -> npt.NDArray[np.float32]:
    means: npt.NDArray[np.float32] = _cells(pixels).mean(axis=(1, 3), dtype=np.float32)
    return means


_TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32
) / np.array([[0.9505], [1.0], [1.089]], np.float32)


def _lab(rgb: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return CIELAB colors of sRGB ones."""
    share = rgb / np.float32(255)
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    lab: npt.NDArray[np.float32] = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
    return lab
