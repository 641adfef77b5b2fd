"""Draw boxes around groups of pixels."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from prshots.contract.replies import Region

_FIRST_CELL = 8


_Run = tuple[int, int, int]
"""A row of cells, the first column of the run, and the column after its last."""


class Box(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def region(self) -> Region:
        return self.left, self.top, self.right - self.left, self.bottom - self.top

    @classmethod
    def of(cls, region: Region) -> Self:
        left, top, width, height = region
        return cls(left, top, left + width, top + height)

    def overlaps(self, other: "Box") -> bool:
        is_level = self.top < other.bottom and other.top < self.bottom
        return is_level and self.left < other.right and other.left < self.right


def clear_noise(marks: npt.NDArray[np.uint8], least_sum: int) -> None:
    """Set groups of pixels to 0 if their values add up to less than `least_sum`."""
    for box in list(_find_groups(_find_occupied(marks, _FIRST_CELL), _FIRST_CELL)):
        part = marks[box.slices]
        if int(part.sum(dtype=np.int64)) < least_sum:
            part[:] = 0


def boxes_around(marks: npt.NDArray[np.uint8], at_most: int) -> list[Box]:
    """Return boxes around the groups of pixels that aren't 0, from the top.

    Pixels less than a cell or two apart belong together. If there are too many groups, use larger cells.
    """
    cell, occupied = _FIRST_CELL, _find_occupied(marks, _FIRST_CELL)
    while len(groups := list(_find_groups(occupied, cell))) > at_most:
        cell, occupied = 2 * cell, _find_occupied(occupied, 2)
    return sorted((_tighten(marks, group) for group in groups), key=lambda box: (box.top, box.left))


def _find_occupied(marks: npt.NDArray[np.uint8] | npt.NDArray[np.bool_], cell: int) -> npt.NDArray[np.bool_]:
    """Return which cells of a grid have a marked pixel."""
    height, width = marks.shape
    # `reduceat` along the rows is ten times slower.
    rows = np.array([marks[top : top + cell].any(axis=0) for top in range(0, height, cell)])
    occupied: npt.NDArray[np.bool_] = np.logical_or.reduceat(rows, range(0, width, cell), axis=1)
    return occupied


def _find_groups(occupied: npt.NDArray[np.bool_], cell: int) -> Iterator[Box]:
    """Yield the extent in pixels of each group of cells that touch, even at corners."""
    runs = _find_runs(occupied)
    parents = list(range(len(runs)))

    def root(run: int) -> int:
        while parents[run] != run:
            parents[run] = parents[parents[run]]
            run = parents[run]
        return run

    first, above = 0, range(0)
    for _, same_row in itertools.groupby(runs, key=lambda run: run[0]):
        here = range(first, first + len(list(same_row)))
        for run, other in _find_touching(runs, here, above):
            parents[root(run)] = root(other)
        first, above = here.stop, here
    extents: dict[int, Box] = {}
    for run, (row, start, end) in enumerate(runs):
        box = Box(start * cell, row * cell, end * cell, (row + 1) * cell)
        extents[root(run)] = enclose_both(extents.get(root(run), box), box)
    yield from extents.values()


def _find_runs(occupied: npt.NDArray[np.bool_]) -> list[_Run]:
    """Return the runs of occupied cells in each row, in order."""
    bordered = np.pad(occupied.astype(np.int8), [(0, 0), (1, 1)])
    steps = np.diff(bordered, axis=1)
    rows, starts = np.nonzero(steps == 1)
    _, ends = np.nonzero(steps == -1)
    return list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))


def _find_touching(runs: list[_Run], here: range, above: range) -> Iterator[tuple[int, int]]:
    """Yield the pairs of touching runs in two rows. Both ranges are in column order.

    `above` contains the runs of the nearest row above that has any. If that row isn't adjacent, no runs
    touch.
    """
    if here and above and runs[here[0]][0] != runs[above[0]][0] + 1:
        return
    upper = iter(above)
    other = next(upper, None)
    for run in here:
        _, start, end = runs[run]
        while other is not None and runs[other][2] < start:
            other = next(upper, None)
        while other is not None and runs[other][1] <= end:
            yield run, other
            if runs[other][2] > end:
                break
            other = next(upper, None)


def enclose_both(one: Box, other: Box) -> Box:
    return Box(
        min(one.left, other.left),
        min(one.top, other.top),
        max(one.right, other.right),
        max(one.bottom, other.bottom),
    )


def _tighten(marks: npt.NDArray[np.uint8], box: Box) -> Box:
    """Return the smallest box around the marked pixels in a box."""
    part = marks[box.slices]
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    return Box(
        box.left + int(columns[0]),
        box.top + int(rows[0]),
        box.left + int(columns[-1]) + 1,
        box.top + int(rows[-1]) + 1,
    )


def merge_strips(strips: list[Box], at_most: int) -> list[Box]:
    """Join the strips that are closest to each other until there are at most `at_most`."""
    strips = sorted(strips, key=lambda strip: (strip.top, strip.left))
    while len(strips) > at_most:
        gaps = [lower.top - upper.bottom for upper, lower in itertools.pairwise(strips)]
        nearest = gaps.index(min(gaps))
        strips[nearest : nearest + 2] = [enclose_both(*strips[nearest : nearest + 2])]
    return strips
