"""The cheapest edit that turns the rows of one image into those of the other, by how the rows look.

An edit is a list of steps from the top: pair a row of both images, remove a row of the before image, or
insert a row of the after image. Removing or inserting a row costs `ROW_COST`. Pairing two rows costs nothing
if they look alike, and as much as a removal if they are unrelated. As for any edit distance, a table holds
the cost of the cheapest edit of the first `i` and the first `j` rows, and the path back through it is the
edit.
"""

import numpy as np
import numpy.typing as npt

Sketch = npt.NDArray[np.float32]
"""A few brightness values per row, similar for rows that look alike: see `Canvas.row_sketches`. The last
value is the row's ground, and the others are relative to it."""

PAIR, REMOVE, INSERT = 0, 1, 2
Step = int

MAX_CELLS = 4_000_000
"""The largest table. At one byte per cell, two gaps of 2,000 rows fit into 4 MB."""

ROW_COST = 100
"""An integer, to keep sums exact."""

EDIT_MUST_SAVE = 3 * ROW_COST
"""How much cheaper an edit with insertions must be than pairing all rows, to keep noise from counting as a
movement. The verdicts on the corpus in tests/comparison are the same from 0 to 10 rows."""

_ALIKE, _UNRELATED = 4.0, 16.0
"""How much the sketches of two rows differ (brightness from 0 to 255): at most the first if the rows show the
same content, for example after re-encoding, and at least the second if they are unrelated. Both are
estimates: the verdicts on the corpus in tests/comparison are the same with 1 to 8 and with 8 to 40."""


_TINTED, _TINT_COST = 24.0, 10
"""How much the ground of two rows can differ, and what it costs to pair them: a row inserted into a striped
table gives all rows below it the other ground."""


def find_edit(ours: Sketch, theirs: Sketch) -> list[Step]:
    """Return the cheapest steps. If the table would be too large, pair rows from both ends instead."""
    if len(ours) * len(theirs) <= MAX_CELLS:
        return _cheapest_steps(ours, theirs)
    top, bottom = _count_alike_ends(ours, theirs)
    ours, theirs = ours[top : len(ours) - bottom], theirs[top : len(theirs) - bottom]
    if len(ours) * len(theirs) <= MAX_CELLS:
        middle = _cheapest_steps(ours, theirs)
    else:
        shared = min(len(ours), len(theirs))
        middle = [PAIR] * shared + [REMOVE] * (len(ours) - shared) + [INSERT] * (len(theirs) - shared)
    return [PAIR] * top + middle + [PAIR] * bottom


def _cheapest_steps(ours: Sketch, theirs: Sketch) -> list[Step]:
    n, m = len(ours), len(theirs)
    choice = np.empty((n + 1, m + 1), np.uint8)
    choice[0], choice[:, 0] = INSERT, REMOVE
    columns = np.arange(m + 1, dtype=np.int32) * np.int32(ROW_COST)
    cost = columns.copy()
    for i in range(n):
        paired = cost[:-1] + pairing_costs(ours[i], theirs)
        best = cost + ROW_COST
        np.minimum(best[1:], paired, out=best[1:])
        best = np.minimum.accumulate(best - columns) + columns  # each insertion costs a row
        choice[i + 1, 1:] = np.where(
            paired <= best[1:], PAIR, np.where(cost[1:] + ROW_COST <= best[1:], REMOVE, INSERT)
        )
        cost = best
    if n == m and int(pairing_costs(ours, theirs).sum()) <= int(cost[m]) + EDIT_MUST_SAVE:
        return [PAIR] * n
    return _walk_back(choice)


def pairing_costs(ours: Sketch, theirs: Sketch) -> npt.NDArray[np.int32]:
    """Return the cost of pairing rows: from 0 if they look alike to `ROW_COST` if they are unrelated."""
    change = np.abs(ours - theirs)
    scale = ROW_COST / (_UNRELATED - _ALIKE)
    shape = np.clip((change[:, :-1].max(axis=1) - _ALIKE) * scale, 0, ROW_COST)
    ground = np.where(change[:, -1] > _TINTED, ROW_COST, (change[:, -1] > _ALIKE) * _TINT_COST)
    costs: npt.NDArray[np.int32] = np.maximum(shape, ground).astype(np.int32)
    return costs


def _walk_back(choice: npt.NDArray[np.uint8]) -> list[Step]:
    """Return the steps from the first cell to the last, traced back from the last."""
    i, j = choice.shape[0] - 1, choice.shape[1] - 1
    steps = []
    while i or j:
        step = int(choice[i, j])
        steps.append(step)
        i, j = i - (step != INSERT), j - (step != REMOVE)
    return steps[::-1]


def _count_alike_ends(ours: Sketch, theirs: Sketch) -> tuple[int, int]:
    """Return how many rows look alike at the top, and how many of the rest at the bottom."""
    shared = min(len(ours), len(theirs))
    top = _count_alike(ours[:shared], theirs[:shared])
    left = shared - top
    return top, _count_alike(ours[::-1][:left], theirs[::-1][:left])


def _count_alike(ours: Sketch, theirs: Sketch) -> int:
    """Return how many rows look alike before the first pair that doesn't."""
    if not len(ours):
        return 0
    differs = np.abs(ours - theirs).max(axis=1) > _ALIKE
    return int(differs.argmax()) if differs.any() else len(ours)
