"""Recognizes movements of less than a pixel, as of text that a browser places on fractions of pixels."""

import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.cells import combine_cells, combine_neighbors

_BALANCED = 0.45
"""The largest share of the change that is only brighter, or only darker, after a movement."""
_LARGEST = 1.2
"""The largest movement, as estimated from slopes. At sharp edges, half a pixel gives 0.6 to 1.1, one pixel
1.3."""
_SLOPE_NOISE = 4200
_LEAST_CHANGE = 500


def is_balanced(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return around which cells as much got darker as got brighter."""
    change = other.astype(np.int16) - one
    balanced: npt.NDArray[np.bool_] = np.abs(_sum_around_cells(change)) <= _BALANCED * _sum_around_cells(
        np.abs(change)
    )
    return balanced


def measure_shift(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return the share of the change around each cell that one small movement explains, from 0 to 1.

    The method is that of Lucas and Kanade: where brightness has a slope, a movement changes it by the slope
    times the distance. The distance that leaves the least change unexplained is the estimate.
    """
    change = other.astype(np.int32) - one
    both = one.astype(np.int32) + other
    across, down = np.zeros_like(both), np.zeros_like(both)  # four times the slope
    np.subtract(both[:, 2:], both[:, :-2], out=across[:, 1:-1])
    np.subtract(both[2:], both[:-2], out=down[1:-1])
    xx, xy, yy = (_sum_around_cells(product) for product in (across * across, across * down, down * down))
    xt, yt, tt = (_sum_around_cells(product) for product in (across * change, down * change, change * change))
    steep_x, steep_y = xx + np.float32(_SLOPE_NOISE), yy + np.float32(_SLOPE_NOISE)
    area = steep_x * steep_y - xy * xy
    dx, dy = (steep_y * xt - xy * yt) / area, (steep_x * yt - xy * xt) / area
    left = tt - 2 * (dx * xt + dy * yt) + dx * dx * xx + 2 * dx * dy * xy + dy * dy * yy
    is_shift = (np.hypot(dx, dy) * 4 <= _LARGEST) & (tt > _LEAST_CHANGE)
    explained: npt.NDArray[np.float32] = np.where(is_shift, 1 - left / np.maximum(tt, 1), 0)
    return explained


def _sum_around_cells(values: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.float32]:
    """Return the sum over each cell and its eight neighbors."""
    return combine_neighbors(combine_cells(values, np.add).astype(np.float32), np.add)
