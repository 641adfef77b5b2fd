"""Sums and extremes of small square cells of an image, and of the cells around them.

It uses slices, because numpy's reductions over several axes are ten times slower on small cells.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

SIDE = 4
"""The side of a cell in pixels."""

Array = npt.NDArray[Any]


def pad(pixels: Array) -> Array:
    """Repeat the last rows and columns until both sides are whole cells."""
    rows, columns = (-length % SIDE for length in pixels.shape[:2])
    if not rows and not columns:
        return pixels
    return np.pad(pixels, [(0, rows), (0, columns), (0, 0)][: pixels.ndim], mode="edge")


def combine_cells(pixels: Array, combine: np.ufunc) -> Array:
    """Return the sum, minimum or maximum of each cell."""
    rows = combine(combine(pixels[0::4], pixels[1::4]), combine(pixels[2::4], pixels[3::4]))
    columns: Array = combine(combine(rows[:, 0::4], rows[:, 1::4]), combine(rows[:, 2::4], rows[:, 3::4]))
    return columns


def combine_neighbors(values: Array, combine: np.ufunc) -> Array:
    """Return the sum, minimum or maximum of each element and its eight neighbors."""
    rows = values.copy()
    combine(rows[1:], values[:-1], out=rows[1:])
    combine(rows[:-1], values[1:], out=rows[:-1])
    both = rows.copy()
    combine(both[:, 1:], rows[:, :-1], out=both[:, 1:])
    combine(both[:, :-1], rows[:, 1:], out=both[:, :-1])
    return both


def spread_to_pixels(cells: Array) -> Array:
    """Return for each pixel the value of its cell."""
    pixels: Array = cells.repeat(SIDE, 0).repeat(SIDE, 1)
    return pixels
