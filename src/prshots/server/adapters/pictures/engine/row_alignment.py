"""Find which rows of two images belong together, to keep an inserted line from changing all rows below it.

This is a diff of two texts whose lines are rows of pixels. Equal rows have the same number, their hash.

1. The whole image is the first **gap**: rows of both images that aren't aligned yet.
2. Equal rows at the top and the bottom of a gap belong together.
3. Rows that occur exactly once in both images are **landmarks**. As in a patience diff, the largest set of
   landmarks that have the same order in both images becomes the **anchors**: each is aligned with its equal.
   The rows between two anchors are a smaller gap, which goes back to step 2.
4. A gap without anchors gets the cheapest edit (see row_edits.py), which compares how rows look.
5. `_remove_detours` removes **detours**: rows that seem to be inserted and soon removed again.
6. Finally, `_slide` moves inserted and removed rows to a separator: a line or a gap.

The result is a list of stretches: consecutive rows that are equal, paired, inserted or removed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from prshots.server.adapters.pictures.engine.row_edits import (
    EDIT_MUST_SAVE,
    INSERT,
    PAIR,
    REMOVE,
    ROW_COST,
    Sketch,
    find_edit,
    pairing_costs,
)

Kind = Literal["equal", "paired", "inserted", "removed"]
"""Paired rows belong together but differ. They alone have to be compared pixel by pixel."""

Anchor = tuple[int, int]
"""The same row in the before image and in the after image."""

_KINDS: dict[int, Kind] = {PAIR: "paired", REMOVE: "removed", INSERT: "inserted"}

_WIDEST, _LONGEST = 8, 200
"""How far a detour moves its rows, and how many rows it has at most. Anything beyond counts as a movement. On
the corpus in tests/comparison, keeping detours changes the verdicts of `line-moved` and `rounder-corners`.
Values from 3 to 24 and from 40 to 1,000 change no verdict."""

_MOSTLY_WIDE = 1.1
"""A detour can be wider if almost none of its rows moved: some rows were removed, and others inserted at
almost the same place."""

_PADDING, _LINE = 3, 4
"""How many equal rows are blank rows at the edge of an item, and how many rows a line has at most."""

_BLURRED = 18
"""How many unequal rows to cross on the way to a gap, such as the rounded corners of two cards. At double
density, 12 are too few."""


class Stretch(NamedTuple):
    """Consecutive rows of the same kind. Equal and paired stretches have as many rows before as after."""

    kind: Kind
    before: int
    """Its first row in the before image. For inserted rows, the row that they were inserted above."""
    after: int
    rows: int

    @property
    def shift(self) -> int:
        """How many rows it moves the rows below it down; negative if up."""
        return {"inserted": self.rows, "removed": -self.rows}.get(self.kind, 0)


class Sketches(NamedTuple):
    """Functions that take a first row and an end row, and return the sketches of these rows."""

    before: Callable[[int, int], Sketch]
    after: Callable[[int, int], Sketch]
    look_alike: Callable[[list[Stretch]], bool]
    """Returns whether nobody sees a difference in the paired rows."""


class _Gap(NamedTuple):
    before: int
    before_end: int
    after: int
    after_end: int


def align(
    before: Sequence[int], after: Sequence[int], sketches: Sketches, *, lossy: bool = False
) -> list[Stretch]:
    """Return the stretches of both images in order. In `lossy` images, rows are equal only by chance."""
    found: list[Stretch] = []
    landmarks = _find_unique(before) & _find_unique(after)
    open_gaps = [_Gap(0, len(before), 0, len(after))]
    while open_gaps:  # not recursive: an image can be built to need thousands of steps
        gap, ends = _trim_equal_ends(open_gaps.pop(), before, after)
        found += ends
        anchors = [] if lossy else _find_anchors(gap, before, after, landmarks)
        if anchors:
            found += [Stretch("equal", i, j, 1) for i, j in anchors]
            open_gaps += _split(gap, anchors)
        else:
            found += _edit(gap, sketches)
    joined = _join(_remove_detours(_join(found, before, after), sketches), before, after)
    for index in range(len(joined) - 2, 0, -1):  # from the end, because stretches are added
        _slide(joined, index, before, after, sketches)
    return _join([stretch for stretch in joined if stretch.rows], before, after)


def _find_unique(rows: Sequence[int]) -> set[int]:
    return {row for row, count in Counter(rows).items() if count == 1}


def _trim_equal_ends(gap: _Gap, before: Sequence[int], after: Sequence[int]) -> tuple[_Gap, list[Stretch]]:
    """Return the rest of the gap, and the stretches of equal rows at its top and bottom."""
    i, i_end, j, j_end = gap
    while i < i_end and j < j_end and before[i] == after[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    top = Stretch("equal", gap.before, gap.after, i - gap.before)
    bottom = Stretch("equal", i_end, j_end, gap.before_end - i_end)
    return _Gap(i, i_end, j, j_end), [stretch for stretch in (top, bottom) if stretch.rows]


def _find_anchors(
    gap: _Gap, before: Sequence[int], after: Sequence[int], landmarks: set[int]
) -> list[Anchor]:
    """Use the landmarks of the images, or else the rows that occur once on each side of this gap."""
    ours, theirs = before[gap.before : gap.before_end], after[gap.after : gap.after_end]
    return _anchors_among(landmarks, gap, ours, theirs) or _anchors_among(
        _find_unique(ours) & _find_unique(theirs), gap, ours, theirs
    )


def _anchors_among(
    landmarks: set[int], gap: _Gap, ours: Sequence[int], theirs: Sequence[int]
) -> list[Anchor]:
    """Return the largest set of landmarks of the gap that have the same order in both images."""
    place = {row: j for j, row in enumerate(theirs, gap.after) if row in landmarks}
    return _longest_rising([(i, place[row]) for i, row in enumerate(ours, gap.before) if row in place])


def _longest_rising(pairs: list[Anchor]) -> list[Anchor]:
    """Return the longest subsequence whose second numbers rise, by patience sorting."""
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


def _split(gap: _Gap, anchors: list[Anchor]) -> Iterator[_Gap]:
    """Yield the gaps between anchors."""
    i, j = gap.before, gap.after
    for anchor_i, anchor_j in [*anchors, (gap.before_end, gap.after_end)]:
        if anchor_i > i or anchor_j > j:
            yield _Gap(i, anchor_i, j, anchor_j)
        i, j = anchor_i + 1, anchor_j + 1


def _edit(gap: _Gap, sketches: Sketches) -> list[Stretch]:
    """Return the stretches of a gap without anchors."""
    i, i_end, j, j_end = gap
    if i == i_end or j == j_end:
        stretches = Stretch("removed", i, j, i_end - i), Stretch("inserted", i, j, j_end - j)
        return [stretch for stretch in stretches if stretch.rows]
    steps = find_edit(sketches.before(i, i_end), sketches.after(j, j_end))
    found = []
    for step in steps:
        found.append(Stretch(_KINDS[step], i, j, 1))
        i, j = i + (step != INSERT), j + (step != REMOVE)
    return found


def _remove_detours(stretches: list[Stretch], sketches: Sketches) -> list[Stretch]:
    """Pair the rows of detours directly: rows inserted (or removed) and soon removed (or inserted) again.

    Between the two, all rows seem to have moved by a few rows, but the rows above and below didn't. A row of
    a rounded corner can equal the next row of a corner with another radius, and such rows become anchors.
    That isn't a movement, unless the detour saves a lot.
    """
    kept: list[Stretch] = []
    index = shift = 0
    while index < len(stretches):
        end = _find_detour_end(stretches, index)
        if end and (shift == 0 or _is_cheaper_straight(stretches[index:end], sketches)):
            _, before, after, _ = stretches[index]
            rows = sum(stretch.rows for stretch in stretches[index:end] if stretch.kind != "removed")
            kept += [Stretch("paired", before + row, after + row, 1) for row in range(rows)]
            index = end
        else:
            kept.append(stretches[index])
            shift += stretches[index].shift
            index += 1
    return kept


def _find_detour_end(stretches: list[Stretch], start: int) -> int:
    """Return the index of the first stretch after a detour, or 0 if no detour starts here."""
    shift = rows = widest = 0
    for end, stretch in enumerate(stretches[start:], start + 1):
        shift += stretch.shift
        rows += stretch.rows
        widest = max(widest, abs(shift))
        if shift == 0:
            return end if end > start + 1 else 0
        if (widest > _WIDEST or rows > _LONGEST) and rows > _MOSTLY_WIDE * widest:
            break
    return 0


def _is_cheaper_straight(detour: list[Stretch], sketches: Sketches) -> bool:
    before, after = detour[0].before, detour[0].after
    rows = sum(stretch.rows for stretch in detour if stretch.kind != "inserted")
    ours, theirs = sketches.before(before, before + rows), sketches.after(after, after + rows)
    cost = 0
    for kind, i, j, length in detour:
        if kind == "paired":
            cost += int(pairing_costs(ours[i - before :][:length], theirs[j - after :][:length]).sum())
        elif kind != "equal":
            cost += length * ROW_COST
    return int(pairing_costs(ours, theirs).sum()) <= cost + EDIT_MUST_SAVE


def _join(found: list[Stretch], before: Sequence[int], after: Sequence[int]) -> list[Stretch]:
    """Return as few stretches as possible, in order. Paired rows that are equal become equal rows."""
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


def _slide(
    stretches: list[Stretch], index: int, before: Sequence[int], after: Sequence[int], sketches: Sketches
) -> None:
    """Move inserted or removed rows to the separator, if the rows that they cross still look the same."""
    above, moved, below = stretches[index - 1 : index + 2]
    if not moved.shift or above.kind != "equal":
        return
    for by in _find_places(before if moved.kind == "removed" else after, above, moved, below):
        up, down = min(by, 0), max(by, 0)
        _, i, j, _ = below if up else moved
        crossed = _join([Stretch("paired", i + row, j + row, 1) for row in range(up, down)], before, after)
        are_equal = all(stretch.kind == "equal" for stretch in crossed)
        if are_equal or below.kind == "paired" or sketches.look_alike(crossed):
            stretches[index - 1 : index + 2] = [
                above._replace(rows=above.rows + up),
                moved._replace(before=moved.before + by, after=moved.after + by),
                *crossed,
                below._replace(before=below.before + down, after=below.after + down, rows=below.rows - down),
            ]
            return


def _find_places(rows: Sequence[int], above: Stretch, moved: Stretch, below: Stretch) -> Iterator[int]:
    """Yield how far the moved rows can move down, or up if negative. The best place comes first.

    A new item of a list can start at any blank row above it, and then ends at the same row of the next item.
    """
    start = moved.before if moved.kind == "removed" else moved.after
    end = start + moved.rows
    if below.kind == "paired" and rows[start - 1] != rows[end - 1]:
        most = min(above.rows, moved.rows) - 1
        ours, theirs = (_count_same(rows, range(edge - 2, edge - 2 - most, -1), 1) for edge in (start, end))
        if ours <= theirs and ours < most:
            yield -ours - 1  # the blank rows above a new row of a striped table, where the ground changes
    if below.kind != "equal":
        return
    is_last = moved.kind == "removed" and end + below.rows == len(rows)
    if is_last and rows[start : start + below.rows] == rows[end:]:
        yield below.rows  # pushed off the end
    (up, further_up), (down, further_down) = (
        [_count_same(rows, places, moved.rows, unequal) for unequal in (0, _BLURRED)]
        for places in (range(start - 1, start - above.rows, -1), range(start, start + below.rows - 1))
    )
    for top, bottom in ((up, down), (further_up, down), (up, further_down)):
        separator = _find_separator(rows[start - top : start + bottom])
        if separator:
            yield separator - top
    same = rows[start - up : start + down]
    yield (len(same) // 2 if same[:1] == same[-1:] else _find_separator(same, outside=True)) - up


def _count_same(rows: Sequence[int], places: range, apart: int, unequal: int = 0) -> int:
    """Return how many rows equal the row `apart` below them. Skip up to `unequal` rows between them."""
    count = 0
    for number, row in enumerate(places, 1):
        if rows[row] == rows[row + apart]:
            count = number
        elif unequal:
            unequal -= 1
        else:
            break
    return count


def _find_separator(rows: Sequence[int], *, outside: bool = False) -> int:
    """Return the end of the line between two items, the middle of the gap between two cards, or 0.

    Items have blank rows at the top and at the bottom. The separator is between them, or `outside`.
    """
    ends = [i for i in range(1, len(rows)) if rows[i] != rows[i - 1]]
    runs = [range(*run) for run in pairwise([0, *ends, len(rows)])]
    for above, line, below in zip(runs, runs[1:], runs[2:], strict=False):
        is_padded = len(above) >= _PADDING <= len(below) and rows[above.start] == rows[below.start]
        if is_padded and len(line) <= _LINE:
            return line.stop
    gaps = [run for run in runs if len(run) >= _PADDING and rows[run.start] not in (rows[0], rows[-1])]
    widest = max(runs if outside else gaps, key=len, default=range(0))
    return (widest.start + widest.stop) // 2
