"""Describe a difference independently of its place, to find the same change on other pages.

Three traits: the pixels that differ, the inserted or removed rows, and the table of colors that the differing
pixels follow. Pixels that are the same before and after have no effect on the first and the last.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.regions import Box
from prshots.server.adapters.pictures.engine.row_alignment import Stretch
from prshots.server.domain.comparison.models import ColorChange, Traits

Pixels = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Colors = npt.NDArray[np.float32]
"""Red, green and blue of each color."""
Numbers = npt.NDArray[np.uint32]
"""Colors as numbers: 0xrrggbb."""

_GAP = 8
"""Differing pixels belong together if fewer rows or columns without a difference are between them."""

_MOST_HASHED = 2_000_000
"""How many pixels to hash. A larger difference has no hash."""

_SAMPLE = 100_000
"""How many pixels to take the colors from."""

_FOLLOWING = 0.95
"""The share of the differing pixels that must follow the table."""
_MOST_ENTRIES = 16
_LEAST_PIXELS, _LEAST_SHARE = 8, 0.002
"""An entry has at least this many of the sampled pixels that differ, and at least this share of them."""
_FLAT_SHARE = 0.05
"""A color with this share is an entry even if it's a mixture of two others. Edges have fewer pixels."""
_MOST_PAIRS = 1024
"""How many different pairs of an old and a new color to look at. The others don't follow the table."""

_ENDS = 12
"""How many colors that stay the same can be one side of an edge."""
_GROUND_SHARE = 0.03
"""A color that stays the same in this share of the image is a ground."""
_ROUNDING = 2
"""How far an old color may be from a mixture of two others, in levels."""
_NEAR, _NEAR_SHARE = 6, 0.15
"""How far the new one may be, in levels, and as a share of the contrast: browsers draw dark text on bright
ground bolder than bright text on dark ground."""


class Rows(NamedTuple):
    """Functions that take a first row and an end row, and return the pixels of these rows."""

    before: Callable[[int, int], Pixels]
    after: Callable[[int, int], Pixels]


class _Band(NamedTuple):
    """Rows that belong together, and differ in places."""

    before: int
    after: int
    rows: int


def find_traits(rows: Rows, stretches: Sequence[Stretch], strengths: Strength) -> Traits:
    """Describe the difference of two images with the same width."""
    return Traits(
        regions=_hash_regions(rows, stretches, strengths),
        colors=_find_colors(rows, stretches, strengths),
        rows=_hash_moved_rows(rows, stretches, strengths.shape[1]),
        share=round(int(np.count_nonzero(strengths)) / strengths.size, 3),
    )


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"".join(parts), digest_size=8).hexdigest()


# Regions


def _hash_regions(rows: Rows, stretches: Sequence[Stretch], strengths: Strength) -> str:
    """Hash what differs, as a set: the same button three times on a page is the same change as once."""
    bands = [band for band in _find_bands(stretches) if band.rows]
    if sum(band.rows for band in bands) * strengths.shape[1] > _MOST_HASHED:
        return ""
    found = set()
    for band in bands:
        before, after = (
            read(top, top + band.rows) for read, top in zip(rows, (band.before, band.after), strict=True)
        )
        differs, is_visible = _differs(before, after), strengths[band.after : band.after + band.rows] > 0
        for box in _split(differs):
            if is_visible[box.slices].any():
                mask = differs[box.slices]
                shape = f"{mask.shape}".encode()
                pixels = ((part[box.slices] * mask[..., None]).tobytes() for part in (before, after))
                found.add(_digest(shape, *pixels))
    return _digest("".join(sorted(found)).encode()) if found else ""


def _differs(before: Pixels, after: Pixels) -> Flags:
    channels = range(before.shape[2])
    differs: Flags = np.logical_or.reduce([before[..., each] != after[..., each] for each in channels])
    return differs


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
        is_new_column = np.append(True, _differs(strip[:, 1:], strip[:, :-1]).any(axis=0))
        parts += [f"{kind} {count} ".encode(), strip[:, is_new_column].tobytes()]
    return _digest(*parts)


# Colors


def _find_colors(rows: Rows, stretches: Sequence[Stretch], strengths: Strength) -> list[ColorChange]:
    """Return the table of colors that the differing pixels follow, or an empty list.

    A pixel follows the table if its color is an entry, or a mixture of two entries, as at the edges of
    letters. Either of the two may also be a color that stays the same.

    No entry starts or ends at a ground that stays, and no two end at the same color: the ground and the text
    under a new box aren't recolored, and neither is a button that is gone.
    """
    old, new, scale = _sample_differing(rows, stretches, strengths)
    if len(old) < _LEAST_PIXELS:
        return []
    pairs, counts = np.unique(old.astype(np.uint64) << 24 | new, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:_MOST_PAIRS]
    pairs, counts = pairs[most], counts[most]
    olds, news = (pairs >> 24).astype(np.uint32), (pairs & 0xFFFFFF).astype(np.uint32)
    kept = Counter(_count_colors(rows, stretches, strengths.shape[1]))
    changed = Counter[int]()
    for color, count in zip(olds.tolist(), counts.tolist(), strict=True):
        changed[color] += count * scale
    kept.subtract(changed)
    ends = [color for color, count in kept.most_common(_ENDS) if count > 0]
    least = _GROUND_SHARE * strengths.size
    table = _Table(olds, news, ends, [color for color in ends if kept[color] >= max(least, changed[color])])
    for index, count in enumerate(counts.tolist()):
        if count < max(_LEAST_PIXELS, _LEAST_SHARE * len(old)):
            break
        if not table.follows[index] or count >= _FLAT_SHARE * len(old):
            table.add(index)
    if counts[table.follows].sum() < _FOLLOWING * len(old):
        return []
    return [
        ColorChange(f"#{olds[index]:06x}", f"#{news[index]:06x}", int(counts[index]) * scale)
        for index in table.entries
    ]


class _Table:
    """A table of colors, and which pairs of an old and a new color follow it.

    `kept` are colors that stay the same, and `grounds` those that no entry may start or end at.
    """

    def __init__(self, olds: Numbers, news: Numbers, kept: list[int], grounds: list[int]) -> None:
        self.entries: list[int] = []
        """Indexes of pairs."""
        self.follows = np.zeros(len(olds), bool)
        self._numbers = list(zip(olds.tolist(), news.tolist(), strict=True))
        self._olds, self._news = _to_rgb(olds), _to_rgb(news)
        self._ends = [(color, color) for color in _to_rgb(np.array(kept, np.uint32))]
        self._starts, self._targets = {*grounds}, {*grounds}

    def add(self, index: int) -> None:
        """Make the pair an entry, if there is room and neither of its colors is taken."""
        start, target = self._numbers[index]
        if len(self.entries) == _MOST_ENTRIES or start in self._starts or target in self._targets:
            return
        self._starts.add(start)
        self._targets.add(target)
        self.entries.append(index)
        self._ends.append((self._olds[index], self._news[index]))
        for other in self._ends:
            self.follows |= self._is_mixture(self._ends[-1], other)

    def _is_mixture(self, one: tuple[Colors, Colors], other: tuple[Colors, Colors]) -> Flags:
        """Return which pairs are as far from `one` to `other` before as after."""
        before, after = other[0] - one[0], other[1] - one[1]
        way = ((self._olds - one[0]) @ before / max(1, before @ before)).clip(0, 1)[:, None]
        near = _NEAR + _NEAR_SHARE * np.abs(after).max()
        is_mixture: Flags = np.abs(one[0] + way * before - self._olds).max(axis=1) <= _ROUNDING
        is_mixture &= np.abs(one[1] + way * after - self._news).max(axis=1) <= near
        return is_mixture


def _sample_differing(
    rows: Rows, stretches: Sequence[Stretch], strengths: Strength
) -> tuple[Numbers, Numbers, int]:
    """Return the old and the new color of pixels that differ, and how many pixels each of them stands for."""
    paired = [stretch for stretch in stretches if stretch.kind == "paired"]
    step = 1 + sum(stretch.rows for stretch in paired) * strengths.shape[1] // _SAMPLE
    if step > 1:  # read single rows
        every = [(before + row, after + row, 1) for _, before, after, count in paired for row in range(count)]
    else:
        every = [stretch[1:] for stretch in paired]
    old, new = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    for before, after, count in every[::step]:
        ours, theirs = rows.before(before, before + count), rows.after(after, after + count)
        differs = _differs(ours, theirs) & (strengths[after : after + count] > 0)
        old.append(_to_numbers(ours[differs]))
        new.append(_to_numbers(theirs[differs]))
    return np.concatenate(old), np.concatenate(new), step


def _count_colors(rows: Rows, stretches: Sequence[Stretch], width: int) -> dict[int, int]:
    """Estimate how many pixels of the before image have each color."""
    height = max(stretch.before + stretch.rows for stretch in stretches if stretch.kind != "inserted")
    step = 1 + height * width // _SAMPLE
    if step > 1:
        sample = np.concatenate([rows.before(row, row + 1) for row in range(0, height, step)])
    else:
        sample = rows.before(0, height)
    colors, counts = np.unique(_to_numbers(sample), return_counts=True)
    return dict(zip(colors.tolist(), (counts * step).tolist(), strict=True))


def _to_numbers(pixels: Pixels) -> Numbers:
    red, green, blue = (pixels[..., channel].astype(np.uint32).ravel() for channel in range(3))
    return red << np.uint32(16) | green << np.uint32(8) | blue


def _to_rgb(numbers: Numbers) -> Colors:
    return np.stack([numbers >> shift & 255 for shift in (16, 8, 0)], axis=1).astype(np.float32)
