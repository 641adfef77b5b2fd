"""Decide which pixels of two aligned images differ visibly.

There are two passes. The coarse pass looks for shapes. On edges, it ignores the effects of anti-aliasing, of
encoders and of movements of less than a pixel. The fine pass looks for flat color, where a small difference
is visible and noise averages out.
"""

from typing import NamedTuple, TypeVar

import cv2
import numpy as np
import numpy.typing as npt

Plane = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
T = TypeVar("T", bound=np.generic)
Strength = npt.NDArray[np.uint8]
"""How much each pixel differs, or 0 if the difference isn't visible."""

_NEIGHBORS = np.ones((3, 3), np.uint8)

MARGIN = 8
"""How many pixels around a pixel affect its result."""

CELL_SIDE = 4
"""The side of a cell in pixels. A cell is a small square whose sums and extremes describe a pixel's
surroundings."""
_CELL = np.ones((CELL_SIDE, CELL_SIDE), np.uint8)


class Thresholds(NamedTuple):
    """Thresholds. Levels range from 0 to 255."""

    shape: int
    """A pixel of a shape differs if it changed by more levels than this."""
    flat: float
    """A flat area differs if its ΔE (CIE 1976) is larger than this."""
    flat_contrast: int
    """A cell with at most this contrast is flat."""
    flat_cells: int
    """How many of nine neighboring flat cells must differ."""
    least_sum: int
    """The minimum sum of levels in a group of differing pixels. Less is noise in a pixel or two."""
    is_lossy: bool
    """Encoders blur the color of shapes, so only their brightness counts."""


LOSSLESS = Thresholds(shape=6, flat=1.5, flat_contrast=6, flat_cells=4, least_sum=60, is_lossy=False)
LOSSY = Thresholds(shape=30, flat=4.0, flat_contrast=12, flat_cells=4, least_sum=100, is_lossy=True)

_SHIFT = 0.6
"""The largest movement, in pixels, to ignore: browsers place letters at fractions of pixels."""
_IS_SHIFT, _IS_NO_SHIFT = 0.4, 0.1
"""If there was a movement, it explains at least the first share of the change around a pixel. If there was
none, a movement explains at most the second."""
_FULL_CONTRAST = 2.2
"""How much a difference counts if it's as large as the contrast around it: the corner of a pale card, rather
than the edge of a letter that moved a little."""
_STRONG = 0.25
"""A pixel that changes by this share of the contrast around it belongs to a changed shape, not an edge."""
_LEAST_FLAT = 24
"""How many flat cells a cell of a lossy image needs around it. A cell far from any edge has 81."""
_BALANCED = 0.45
"""The largest share of the change that is only brighter, or only darker, after a movement."""
_LARGEST_SHIFT = 1.2
"""The largest movement, as estimated from slopes. At sharp edges, a movement of half a pixel gives 0.6 to
1.1, and of one pixel 1.3."""
_CORRELATION = 0.9
"""The least correlation of brightness around a pixel if a shape is the same in other colors."""
_SLOPE_NOISE = 4200
_LEAST_CHANGE = 500

_LUMA = np.array([77, 150, 29, 0]) / 256
_TO_PLANES = np.array([_LUMA, (np.array([0, 0, 1, 256]) - _LUMA) / 2, (np.array([1, 0, 0, 256]) - _LUMA) / 2])

_TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32
) / np.array([[0.9505], [1.0], [1.089]], np.float32)


def find_unequal(before: Plane, after: Plane) -> Flags:
    """Return which pixels aren't equal."""
    channels = range(before.shape[2])
    differing: Flags = np.logical_or.reduce([before[..., each] != after[..., each] for each in channels])
    return differing


def find_differences(before: Plane, after: Plane, thresholds: Thresholds) -> Strength:
    """Compare two arrays of RGB pixels of the same shape."""
    height, width = before.shape[:2]
    before, after = _pad(before), _pad(after)
    luma, *colors = zip(_planes(before), _planes(after), strict=True)
    distance = np.maximum.reduce([_distance(*plane) for plane in (luma, *colors)])
    contrast = _contrast(*luma)
    shapes = _is_shape(*luma, contrast, thresholds)
    if not thresholds.is_lossy:
        for plane in colors:
            if (_distance(*plane) > thresholds.shape).any():
                shapes |= _is_shape(*plane, _contrast(*plane), thresholds)
        shapes = _drop_shifts(shapes, *luma, contrast, thresholds)
    shapes |= _find_flat_areas(before, after, luma, distance, thresholds)
    strengths = np.where(shapes, np.maximum(distance, 1), 0)
    if not thresholds.is_lossy:
        strengths[shapes] = _weigh(strengths[shapes], contrast[shapes])
    return strengths[:height, :width].astype(np.uint8)


def _weigh(distances: Plane, contrasts: Plane) -> Plane:
    """Return how much differences count. The larger their share of the contrast around them, the more."""
    share = distances / np.maximum(distances, contrasts).astype(np.float32)
    return np.clip(distances * share * _FULL_CONTRAST, 1, 255).astype(np.uint8)


def _planes(pixels: Plane) -> tuple[Plane, ...]:
    """Return the brightness of each pixel, and how much bluer and redder than gray it is."""
    return tuple(cv2.split(cv2.transform(pixels, _TO_PLANES)))


def _distance(one: Plane, other: Plane) -> Plane:
    return cv2.absdiff(one, other)


def _is_shape(one: Plane, other: Plane, contrast: Plane, thresholds: Thresholds) -> Flags:
    """Return which pixels differ by more than a small movement of an edge explains."""
    distance = _distance(one, other)
    differs = distance > thresholds.shape
    by_shift = differs & (distance <= contrast * np.float32(_SHIFT) + thresholds.shape)
    if not by_shift.any():
        return differs
    return differs & ~(by_shift & (_is_edge(one, other) | _spread_to_pixels(_is_balanced(one, other))))


def _drop_shifts(shapes: Flags, one: Plane, other: Plane, contrast: Plane, thresholds: Thresholds) -> Flags:
    """Drop pixels that a movement explains, and add strong differences that no movement explains."""
    strong = _distance(one, other) > contrast * np.float32(_STRONG) + thresholds.shape
    if not shapes.any() and not strong.any():
        return shapes
    explained = _measure_shift(one, other)
    return (shapes & _spread_to_pixels(explained < _IS_SHIFT)) | (
        strong & _spread_to_pixels(explained < _IS_NO_SHIFT)
    )


def _contrast(one: Plane, other: Plane) -> Plane:
    """Return the contrast around each pixel in both images."""
    return cv2.subtract(brightest_around(cv2.max(one, other)), darkest_around(cv2.min(one, other)))


def _is_edge(one: Plane, other: Plane) -> Flags:
    """Return where both images have both values nearby: the edge between them moved.

    A line of another color isn't such an edge: its old color is nowhere in the new image.
    """
    low, high = cv2.min(one, other), cv2.max(one, other)
    darkest = cv2.max(darkest_around(one), darkest_around(other))
    brightest = cv2.min(brightest_around(one), brightest_around(other))
    return (darkest <= low) & (brightest >= high)


def _find_flat_areas(
    before: Plane, after: Plane, lumas: tuple[Plane, Plane], distance: Plane, thresholds: Thresholds
) -> Flags:
    """Return which pixels are in flat areas whose color changed."""
    flat = _is_flat(lumas[0], thresholds) & _is_flat(lumas[1], thresholds)
    flat &= _brightest_of_cells(distance) > 0
    change = np.zeros((*flat.shape, 3), np.float32)
    change[flat] = _to_lab(_cell_means(before, flat)) - _to_lab(_cell_means(after, flat))
    cells = flat.astype(np.float32)
    if thresholds.is_lossy:  # an encoder's errors cancel out, a new color doesn't
        change, cells = (_sum_neighbors(_sum_neighbors(each)) for each in (change, cells))
        change /= np.maximum(cells, 1)[..., np.newaxis]
        flat &= cells >= _LEAST_FLAT
    other = (flat & (np.square(change).sum(axis=-1) > thresholds.flat**2)).astype(np.float32)
    return _spread_to_pixels((other > 0) & (_sum_neighbors(other) >= thresholds.flat_cells))


def _is_flat(luma: Plane, thresholds: Thresholds) -> Flags:
    darkest = cv2.erode(luma, _CELL, anchor=(0, 0))[::CELL_SIDE, ::CELL_SIDE]
    flat: Flags = _brightest_of_cells(luma) - darkest <= thresholds.flat_contrast
    return flat


def _cell_means(pixels: Plane, chosen: Flags) -> Floats:
    """Return the mean color of the chosen cells."""
    means: Floats = _means_of_cells(pixels.astype(np.float32))[chosen]
    return means


def _to_lab(rgb: Floats) -> Floats:
    """Convert sRGB colors (0 to 255) to CIELAB. The distance between two results is their ΔE (CIE 1976)."""
    share = rgb / np.float32(255)
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4).astype(np.float32)  # noqa: PLR2004
    xyz = linear @ _TO_XYZ.T
    x, y, z = np.moveaxis(np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116), -1, 0)  # noqa: PLR2004
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)


def _is_balanced(one: Plane, other: Plane) -> Flags:
    """Return the cells around which as much got darker as got brighter."""
    change = other.astype(np.float32) - one
    return np.abs(_sum_around_cells(change)) <= _BALANCED * _sum_around_cells(np.abs(change))


def _measure_shift(one: Plane, other: Plane) -> Floats:
    """Return the share of the change around each cell that one small movement explains, from 0 to 1.

    This is the Lucas-Kanade method: where brightness has a slope, a movement changes it by the slope times
    the distance. The estimate is the distance that leaves the least change unexplained.
    """
    change = other.astype(np.float32) - one
    both = other.astype(np.float32) + one
    across, down = np.zeros_like(both), np.zeros_like(both)  # four times the slope
    np.subtract(both[:, 2:], both[:, :-2], out=across[:, 1:-1])
    np.subtract(both[2:], both[:-2], out=down[1:-1])
    xx, xy, yy = (_sum_around_cells(product) for product in (across * across, across * down, down * down))
    xt, yt, tt = (_sum_around_cells(product) for product in (across * change, down * change, change * change))
    steep_x, steep_y = xx + np.float32(_SLOPE_NOISE), yy + np.float32(_SLOPE_NOISE)
    area = steep_x * steep_y - xy * xy
    dx, dy = (steep_y * xt - xy * yt) / area, (steep_x * yt - xy * xt) / area
    left = tt - 2 * (dx * xt + dy * yt) + dx * dx * xx + 2 * dx * dy * xy + dy * dy * yy
    is_shift = (np.hypot(dx, dy) * 4 <= _LARGEST_SHIFT) & (tt > _LEAST_CHANGE)
    explained: Floats = np.where(is_shift, 1 - left / np.maximum(tt, 1), 0)
    return explained


def find_same_shapes(before: Plane, after: Plane) -> Flags:
    """Return which pixels are in shapes that only have other colors: brightness around them correlates."""
    height, width = before.shape[:2]
    one, other = (_planes(_pad(pixels))[0].astype(np.float32) for pixels in (before, after))
    count = _sum_around_cells(np.ones_like(one))
    sum_one, sum_other, products, squares_one, squares_other = (
        _sum_around_cells(values) for values in (one, other, one * other, one * one, other * other)
    )
    spread_one, spread_other = squares_one - sum_one**2 / count, squares_other - sum_other**2 / count
    together = products - sum_one * sum_other / count
    is_same = together**2 >= _CORRELATION**2 * np.maximum(spread_one, count) * np.maximum(spread_other, count)
    return _spread_to_pixels(is_same)[:height, :width]


def _sum_around_cells(values: Floats) -> Floats:
    """Return the sum over each cell and its eight neighbors."""
    return _sum_neighbors(_means_of_cells(values)) * np.float32(CELL_SIDE * CELL_SIDE)


def _pad(pixels: Plane) -> Plane:
    """Repeat the last rows and columns until both sides are whole cells."""
    rows, columns = (-length % CELL_SIDE for length in pixels.shape[:2])
    if not rows and not columns:
        return pixels
    return np.pad(pixels, [(0, rows), (0, columns), (0, 0)], mode="edge")


def _means_of_cells(values: Floats) -> Floats:
    height, width = values.shape[:2]
    means: Floats = cv2.resize(
        values, (width // CELL_SIDE, height // CELL_SIDE), interpolation=cv2.INTER_AREA
    )
    return means


def _brightest_of_cells(plane: Plane) -> Plane:
    return cv2.dilate(plane, _CELL, anchor=(0, 0))[::CELL_SIDE, ::CELL_SIDE]


def _sum_neighbors(values: Floats) -> Floats:
    return cv2.boxFilter(values, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)


def brightest_around(plane: Plane) -> Plane:
    return cv2.dilate(plane, _NEIGHBORS)


def darkest_around(plane: Plane) -> Plane:
    return cv2.erode(plane, _NEIGHBORS)


def _spread_to_pixels(cells: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the value of each pixel's cell."""
    return cells.repeat(CELL_SIDE, 0).repeat(CELL_SIDE, 1)
