"""Finds which rows of two images belong together, so that an inserted line does not change all rows below it.

A row is a number here, the same for equal rows. Rows that occur once in both images hold the alignment, as
in a patience diff. Between them, the cheapest edit decides: a row can be replaced, inserted or removed, and
replacing it costs less the more the two rows look alike.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_CELLS = 4_000_000
"""The largest table of row pairs that is searched for the cheapest edit. It takes a byte per pair."""

_ALIKE = 4.0
"""Mean brightness (0 to 255) by which rows that show the same may differ, for example after re-encoding."""
_UNRELATED = 16.0
_ROW = 100
"""The cost of a row that is inserted, removed, or replaced by an unrelated one. Whole, for exact sums."""
_EDIT_MUST_SAVE = 3 * _ROW
"""What an insertion and a removal must save, compared with replacing rows, so that noise is no movement."""

_WIDEST_DETOUR, _LONGEST_DETOUR = 8, 200
"""Rows. More that are inserted, or longer parts of a page that moved, are a movement."""

_DIAGONAL, _UP, _LEFT = 0, 1, 2

Kind = Literal["equal", "paired", "inserted", "removed"]
_DIRECTION: dict[Kind, int] = {"equal": 0, "paired": 0, "inserted": 1, "removed": -1}
Sketch = npt.NDArray[np.float32]


class Stretch(NamedTuple):
    """Consecutive rows of the same kind. Equal and paired ones have as many rows before as after."""

    kind: Kind
    before: int
    after: int
    rows: int


class Sketches(NamedTuple):
    """Sketches of the rows from one number to another, of either image."""

    before: Callable[[int, int], Sketch]
    after: Callable[[int, int], Sketch]


class _Gap(NamedTuple):
    """Rows of both images between two rows that belong together."""

    before: int
    before_end: int
    after: int
    after_end: int

    @property
    def removed(self) -> int:
        return self.before_end - self.before

    @property
    def inserted(self) -> int:
        return self.after_end - self.after


def align(
    before: Sequence[int], after: Sequence[int], sketches: Sketches, *, lossy: bool = False
) -> list[Stretch]:
    """Return the stretches of both images in order. In `lossy` images, rows are equal by chance only."""
    found: list[Stretch] = []
    landmarks = _once(before) & _once(after)
    open_gaps = [_Gap(0, len(before), 0, len(after))]
    while open_gaps:  # not recursive: an image can be built to need thousands of steps
        gap, ends = _without_equal_ends(open_gaps.pop(), before, after)
        found += ends
        anchors = [] if lossy else _anchors(gap, before, after, landmarks) or _anchors(gap, before, after)
        if anchors:
            found += [Stretch("equal", i, j, 1) for i, j in anchors]
            open_gaps += _between(gap, anchors)
        else:
            found += _edited(gap, sketches)
    return _joined(_without_detours(_joined(found, before, after), sketches), before, after)


def _without_equal_ends(gap: _Gap, before: Sequence[int], after: Sequence[int]) -> tuple[_Gap, list[Stretch]]:
    i, i_end, j, j_end = gap
    while i < i_end and j < j_end and before[i] == after[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    top = Stretch("equal", gap.before, gap.after, i - gap.before)
    bottom = Stretch("equal", i_end, j_end, gap.before_end - i_end)
    return _Gap(i, i_end, j, j_end), [stretch for stretch in (top, bottom) if stretch.rows]


def _once(rows: Sequence[int]) -> set[int]:
    return {row for row, count in Counter(rows).items() if count == 1}


def _anchors(
    gap: _Gap, before: Sequence[int], after: Sequence[int], landmarks: set[int] | None = None
) -> list[tuple[int, int]]:
    """Return the most landmarks of a gap that have the same order in both images.

    By default these are all rows that occur once in both parts of the gap.
    """
    ours, theirs = before[gap.before : gap.before_end], after[gap.after : gap.after_end]
    if landmarks is None:
        landmarks = _once(ours) & _once(theirs)
    place = {row: j for j, row in enumerate(theirs, gap.after) if row in landmarks}
    return _longest_rising([(i, place[row]) for i, row in enumerate(ours, gap.before) if row in place])


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    tails: list[int] = []  # the smallest end of a rising chain of each length
    at: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        previous.append(at[length - 1] if length else -1)
        tails[length : length + 1] = [j]
        at[length : length + 1] = [index]
    chain, index = [], at[-1] if at else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _between(gap: _Gap, anchors: list[tuple[int, int]]) -> Iterator[_Gap]:
    i, j = gap.before, gap.after
    for anchor_i, anchor_j in [*anchors, (gap.before_end, gap.after_end)]:
        if anchor_i > i or anchor_j > j:
            yield _Gap(i, anchor_i, j, anchor_j)
        i, j = anchor_i + 1, anchor_j + 1


def _edited(gap: _Gap, sketches: Sketches) -> list[Stretch]:
    """Return the stretches of a gap in which no row is a landmark."""
    if not gap.removed or not gap.inserted:
        removed = Stretch("removed", gap.before, gap.after, gap.removed)
        inserted = Stretch("inserted", gap.before, gap.after, gap.inserted)
        return [stretch for stretch in (removed, inserted) if stretch.rows]
    ours = sketches.before(gap.before, gap.before_end)
    theirs = sketches.after(gap.after, gap.after_end)
    top = bottom = 0
    if gap.removed * gap.inserted > MAX_CELLS:
        top, bottom = _alike_ends(ours, theirs)
    ours, theirs = ours[top : len(ours) - bottom], theirs[top : len(theirs) - bottom]
    steps = [_DIAGONAL] * top + _cheapest_steps(ours, theirs) + [_DIAGONAL] * bottom
    return list(_stretches(gap, steps))


def _alike_ends(ours: Sketch, theirs: Sketch) -> tuple[int, int]:
    """Return how many rows look alike at the top, and how many of the others at the bottom."""
    shared = min(len(ours), len(theirs))
    top = _alike_rows(ours[:shared], theirs[:shared])
    left = shared - top
    return top, _alike_rows(ours[::-1][:left], theirs[::-1][:left])


def _alike_rows(ours: Sketch, theirs: Sketch) -> int:
    if not len(ours):
        return 0
    differs = np.abs(ours - theirs).max(axis=1) > _ALIKE
    return int(differs.argmax()) if differs.any() else len(ours)


def _cheapest_steps(ours: Sketch, theirs: Sketch) -> list[int]:
    """Return the steps from the top: a row of both (diagonal), of the first (up), or of the second (left)."""
    n, m = len(ours), len(theirs)
    shared = min(n, m)
    if n * m > MAX_CELLS:
        return [_DIAGONAL] * shared + [_UP] * (n - shared) + [_LEFT] * (m - shared)
    choice = np.empty((n + 1, m + 1), np.uint8)
    choice[0], choice[:, 0] = _LEFT, _UP
    columns = np.arange(m + 1, dtype=np.int32) * np.int32(_ROW)
    cost = columns.copy()
    for i in range(n):
        diagonal = cost[:-1] + _costs(ours[i], theirs)
        best = cost + _ROW
        np.minimum(best[1:], diagonal, out=best[1:])
        best = np.minimum.accumulate(best - columns) + columns  # each step to the left costs a row
        choice[i + 1, 1:] = np.where(
            diagonal <= best[1:], _DIAGONAL, np.where(cost[1:] + _ROW <= best[1:], _UP, _LEFT)
        )
        cost = best
    if n == m and int(_costs(ours, theirs).sum()) <= int(cost[m]) + _EDIT_MUST_SAVE:
        return [_DIAGONAL] * n
    return _walk(choice)


def _costs(ours: Sketch, theirs: Sketch) -> npt.NDArray[np.int32]:
    """Return what it costs to replace rows: nothing if they look the same, a row if they are unrelated."""
    worst = np.abs(ours - theirs).max(axis=1)
    costs: npt.NDArray[np.int32] = np.clip((worst - _ALIKE) * (_ROW / (_UNRELATED - _ALIKE)), 0, _ROW).astype(
        np.int32
    )
    return costs


def _walk(choice: npt.NDArray[np.uint8]) -> list[int]:
    i, j = choice.shape[0] - 1, choice.shape[1] - 1
    steps = []
    while i or j:
        step = int(choice[i, j])
        steps.append(step)
        i, j = i - (step != _LEFT), j - (step != _UP)
    return steps[::-1]


def _stretches(gap: _Gap, steps: Sequence[int]) -> Iterator[Stretch]:
    i, j = gap.before, gap.after
    kinds: tuple[Kind, ...] = ("paired", "removed", "inserted")
    for step in steps:
        yield Stretch(kinds[step], i, j, 1)
        i, j = i + (step != _LEFT), j + (step != _UP)


def _without_detours(stretches: list[Stretch], sketches: Sketches) -> list[Stretch]:
    """Return them without a few inserted rows that a removal soon takes back, unless they save a lot.

    A row of a rounded corner can equal the next one of another radius. That is no movement.
    """
    kept: list[Stretch] = []
    index = 0
    while index < len(stretches):
        end = _end_of_detour(stretches, index)
        if end and _is_cheaper_straight(stretches[index:end], sketches):
            _, before, after, _ = stretches[index]
            rows = sum(stretch.rows for stretch in stretches[index:end] if stretch.kind != "removed")
            kept += [Stretch("paired", before + row, after + row, 1) for row in range(rows)]
            index = end
        else:
            kept.append(stretches[index])
            index += 1
    return kept


def _end_of_detour(stretches: list[Stretch], start: int) -> int:
    """Return the first stretch after a detour. 0 if none starts here."""
    shift = rows = 0
    for end, stretch in enumerate(stretches[start:], start + 1):
        shift += _DIRECTION[stretch.kind] * stretch.rows
        rows += stretch.rows
        if shift == 0:
            return end if end > start + 1 else 0
        if abs(shift) > _WIDEST_DETOUR or rows > _LONGEST_DETOUR:
            break
    return 0


def _is_cheaper_straight(detour: list[Stretch], sketches: Sketches) -> bool:
    before, after = detour[0].before, detour[0].after
    rows = sum(stretch.rows for stretch in detour if stretch.kind != "inserted")
    ours, theirs = sketches.before(before, before + rows), sketches.after(after, after + rows)
    cost = 0
    for kind, i, j, length in detour:
        if kind == "paired":
            part = _costs(ours[i - before :][:length], theirs[j - after :][:length])
            cost += int(part.sum())
        elif kind != "equal":
            cost += length * _ROW
    return int(_costs(ours, theirs).sum()) <= cost + _EDIT_MUST_SAVE


def _joined(found: list[Stretch], before: Sequence[int], after: Sequence[int]) -> list[Stretch]:
    """Return them in order, as few as possible. Paired rows that are equal are told so."""
    joined: list[Stretch] = []
    for stretch in sorted(found, key=lambda each: (each.before, each.after)):
        kind = stretch.kind
        if kind == "paired" and before[stretch.before] == after[stretch.after]:
            kind = "equal"
        if joined and joined[-1].kind == kind:
            joined[-1] = joined[-1]._replace(rows=joined[-1].rows + stretch.rows)
        else:
            joined.append(stretch._replace(kind=kind))
    return joined
