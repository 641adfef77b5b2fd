"""Removes detours from an alignment: a few rows inserted (or removed) and soon removed (or inserted) again.

Between the two, all rows seem to have moved by a few rows, but the rows above and below did not. A row of a
rounded corner can equal the next row of a corner with another radius, and such rows become anchors. That is
not a movement, so the rows of a detour are paired straight, unless the detour saves a lot.
"""

from prshots.server.adapters.pictures.engine.row_edits import EDIT_MUST_SAVE, ROW_COST, pairing_costs
from prshots.server.adapters.pictures.engine.stretches import Kind, Sketches, Stretch

_WIDEST, _LONGEST = 8, 200
"""In rows: how far a detour moves its rows, and how many it has. More than that counts as a movement. On the
corpus in tests/comparison, `line-moved` and `rounder-corners` get another verdict if detours stay. With 3 to
24 and with 40 to 1,000 rows, no verdict changes."""

_DIRECTION: dict[Kind, int] = {"equal": 0, "paired": 0, "inserted": 1, "removed": -1}


def remove_detours(stretches: list[Stretch], sketches: Sketches) -> list[Stretch]:
    kept: list[Stretch] = []
    index = 0
    while index < len(stretches):
        end = _find_end(stretches, index)
        if end and _is_cheaper_straight(stretches[index:end], sketches):
            _, before, after, _ = stretches[index]
            rows = sum(stretch.rows for stretch in stretches[index:end] if stretch.kind != "removed")
            kept += [Stretch("paired", before + row, after + row, 1) for row in range(rows)]
            index = end
        else:
            kept.append(stretches[index])
            index += 1
    return kept


def _find_end(stretches: list[Stretch], start: int) -> int:
    """Return the index of the first stretch after a detour; 0 if no detour starts here."""
    shift = rows = 0
    for end, stretch in enumerate(stretches[start:], start + 1):
        shift += _DIRECTION[stretch.kind] * stretch.rows
        rows += stretch.rows
        if shift == 0:
            return end if end > start + 1 else 0
        if abs(shift) > _WIDEST or rows > _LONGEST:
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
