"""Describe a difference independently of its place, to find the same change on other pages.

Three traits: the pixels that differ, the inserted or removed rows, and the table of colors that the differing
pixels follow. Pixels that are the same before and after have no effect on the first and the last.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.differing_pixels import Strength, find_unequal
from prshots.server.adapters.pictures.engine.recoloring import Recoloring, Rows
from prshots.server.adapters.pictures.engine.regions import Box
from prshots.server.adapters.pictures.engine.row_alignment import Stretch
from prshots.server.domain.comparison.models import Traits

Pixels = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_GAP = 8
"""Differing pixels belong together if fewer rows or columns without a difference are between them."""

_MOST_HASHED = 2_000_000
"""How many pixels to hash. A larger difference has no hash."""


class _Band(NamedTuple):
    """Rows that belong together, and differ in places."""

    before: int
    after: int
    rows: int


def find_traits(
    rows: Rows,
    stretches: Sequence[Stretch],
    strengths: Strength,
    recoloring: Recoloring | None,
    closeups: Sequence[Box],
    *,
    more_than_colors: bool,
) -> Traits:
    """Describe the difference of two images with the same width, and what each close-up shows of it.

    If `more_than_colors` changed, `strengths` are what the recoloring leaves.
    """
    hashes = _hash_boxes(rows, stretches, strengths, recoloring if more_than_colors else None)
    moved_rows = _hash_moved_rows(rows, stretches, strengths.shape[1])
    return Traits(
        regions=_digest_set(hashes.values()),
        colors=recoloring.table if recoloring else (),
        more_than_colors=more_than_colors,
        rows=moved_rows,
        share=round(int(np.count_nonzero(strengths)) / strengths.size, 3),
        closeups=[
            _digest_set(found for box, found in hashes.items() if box.overlaps(shown)) or moved_rows
            for shown in closeups
        ],
    )


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"".join(parts), digest_size=8).hexdigest()


# Regions


def _digest_set(hashes: Iterable[str]) -> str:
    """Return a hash of different hashes: the same button three times on a page is the same change as once."""
    different = sorted({*hashes})
    return _digest("".join(different).encode()) if different else ""


def _hash_boxes(
    rows: Rows, stretches: Sequence[Stretch], strengths: Strength, recoloring: Recoloring | None
) -> dict[Box, str]:
    """Hash what differs in each box around differing pixels."""
    bands = [band for band in _find_bands(stretches) if band.rows]
    if sum(band.rows for band in bands) * strengths.shape[1] > _MOST_HASHED:
        return {}
    found = {}
    for band in bands:
        before, after = (
            read(top, top + band.rows) for read, top in zip(rows, (band.before, band.after), strict=True)
        )
        recolored = recoloring.apply(before, after) if recoloring else before
        marks, is_visible = find_unequal(recolored, after), strengths[band.after : band.after + band.rows] > 0
        for box in _split(marks):
            if is_visible[box.slices].any():
                mask = marks[box.slices]
                shape = f"{mask.shape}".encode()
                pixels = ((part[box.slices] * mask[..., None]).tobytes() for part in (before, after))
                in_image = box._replace(top=box.top + band.after, bottom=box.bottom + band.after)
                found[in_image] = _digest(shape, *pixels)
    return found


def _find_bands(stretches: Sequence[Stretch]) -> Iterator[_Band]:
    """Yield the paired rows, together with the few equal rows between them."""
    band = _Band(0, 0, 0)
    for kind, before, after, rows in stretches:
        if kind != "paired":
            continue
        is_aligned = before - band.before == after - band.after
        if is_aligned and before - band.before - band.rows <= _GAP and band.rows:
            band = band._replace(rows=before + rows - band.before)
        else:
            yield band
            band = _Band(before, after, rows)
    yield band


def _split(marks: Flags) -> Iterator[Box]:
    """Yield boxes around marked pixels, divided wherever blank rows or columns cross a box.

    Regions depend on a grid, so two neighbors are one region at some places and two at others. These boxes
    depend on the marked pixels only.
    """
    height, width = marks.shape
    pending = [Box(0, 0, width, height)]
    while pending:
        box = pending.pop()
        part = marks[box.slices]
        down, across = (list(_find_runs(np.flatnonzero(part.any(axis=axis)))) for axis in (1, 0))
        if len(down) > 1:
            across = [(0, box.right - box.left)]
        parts = [
            Box(box.left + left, box.top + top, box.left + right, box.top + bottom)
            for top, bottom in down
            for left, right in across
        ]
        if parts == [box]:
            yield box
        else:
            pending += parts


def _find_runs(places: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each run of places. Gaps up to the limit are part of a run."""
    if len(places):
        breaks = np.flatnonzero(np.diff(places) > _GAP)
        starts, ends = places[np.append(0, breaks + 1)], places[np.append(breaks, len(places) - 1)] + 1
        yield from zip(starts.tolist(), ends.tolist(), strict=True)


# Rows


def _hash_moved_rows(rows: Rows, stretches: Sequence[Stretch], width: int) -> str:
    """Hash the inserted and removed rows. Columns that equal the one to their left don't count.

    A notice therefore has the same hash in windows of different widths, unless its text wraps.
    """
    moved = [stretch for stretch in stretches if stretch.shift]
    if not sum(stretch.shift for stretch in moved):  # pushed off the end of a window, or pulled in from there
        moved = list(takewhile(lambda stretch: stretch.kind == moved[0].kind, moved))
    if not moved or sum(stretch.rows for stretch in moved) * width > _MOST_HASHED:
        return ""
    parts = []
    for kind, before, after, count in moved:
        strip = (
            rows.after(after, after + count) if kind == "inserted" else rows.before(before, before + count)
        )
        is_new_column = np.append(True, find_unequal(strip[:, 1:], strip[:, :-1]).any(axis=0))
        parts += [f"{kind} {count} ".encode(), strip[:, is_new_column].tobytes()]
    return _digest(*parts)
