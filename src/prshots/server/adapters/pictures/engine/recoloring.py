"""Find the table of colors that a difference follows, and apply it to the before image.

Whatever still differs then is more than a new color.
"""

import math
from collections import Counter
from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.differing_pixels import (
    brightest_around,
    darkest_around,
    find_unequal,
)
from prshots.server.domain.comparison.models import ColorChange

Pixels = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Colors = npt.NDArray[np.float32]
"""Red, green and blue of each color."""
Numbers = npt.NDArray[np.uint32]
"""Colors as numbers: 0xrrggbb."""
Change = tuple[Colors, Colors]
"""A color before and after. Both are the same if it stays."""

_SAMPLE = 100_000
"""How many pixels to take the colors from."""

_FOLLOWING = 0.85
"""The share of the differing pixels that must follow the table. The others are edits."""
_SINGLE = 0.84
"""The share of the differing pixels that got the most frequent new color of their old one. Moved content has
0.3 to 0.8, recolored pages 0.87 and more. It's quick to measure."""
_MOST_ENTRIES = 16
_LEAST_PIXELS, _LEAST_SHARE = 8, 0.0005
"""An entry has at least this many of the sampled pixels that differ, and at least this share of them."""
_FLAT_SHARE = 0.05
"""A color with this share is an entry even if it's a mixture of two others. Edges have fewer pixels."""
_MOST_SAMPLED, _MOST_APPLIED = 1024, 20_000
"""How many different pairs of an old and a new color to look at, in the sample and in the whole image. The
others don't follow the table."""

_ENDS = 12
"""How many colors that stay the same can be one side of an edge."""
_BLACK, _WHITE = 0, 0xFFFFFF
"""Small text on a button may have no pixel with its full color."""
_GROUND_SHARE = 0.03
"""A color that stays the same in this share of the image is a ground."""
_ROUNDING = 2
"""How far an old color may be from a mixture of two others, in levels."""
_NO_MIXTURE = 256
"""Farther than any mixture can be."""
_NEAR, _NEAR_SHARE = 6, 0.15
"""How far the new color may be, in levels, and as a share of the contrast: browsers draw dark
text on bright ground bolder than bright text on dark ground."""
_MIXED = 0.48
"""How far from half and half a mixture is at most. Beyond, it is one of the two colors."""
_NEAR_PICTURE, _NEAR_MIXTURE = 16, 3
"""How far the old and the new color at a picture's edge may be from the mixture, in levels."""
_HALF_A_STROKE = 3
"""In pixels. Letters and lines are thinner than twice this."""


class Recoloring:
    """A table of colors that nearly all differing pixels follow.

    A pixel follows the table if its color is an entry, or a mixture of two entries, as at the edges of
    letters. Either of the two may also be a color that stays the same.
    """

    def __init__(self, table: list[ColorChange], edges: list[tuple[Change, Change]]) -> None:
        self.table = table
        self._edges = edges
        self._entries = {int(old[1:], 16): int(new[1:], 16) for old, new, _ in table}
        self._expected: dict[int, int] = {}

    def apply(self, before: Pixels, after: Pixels) -> Pixels:
        """Return the before image with new colors: those of the after image, where it follows the table."""
        old, new = _to_numbers(before), _to_numbers(after)
        expected, is_entry = old.copy(), np.zeros(old.shape, bool)
        for start, target in self._entries.items():
            here = old == start
            expected[here], is_entry[here] = target, True
        same = ~find_unequal(before, after)
        stays = (expected != new) & same.ravel()
        if stays.any():
            stays &= (_find_thick(same) | ~_find_flat(before)).ravel()
            expected[stays] = new[stays]
        others = np.flatnonzero(~is_entry & (old != new))
        expected[others] = self._mix(old[others], new[others])
        follows = (expected == new).reshape(same.shape)
        edge = ~follows & ~same & (brightest_around((follows & same).astype(np.uint8)) > 0)
        if edge.any():
            edge[edge] = self._mix_picture(before[..., :3], after[..., :3], edge, follows & same)
            expected[edge.ravel()] = new[edge.ravel()]
        recolored = np.where((expected == new).reshape(same.shape)[..., None], after, before)
        for channel, shift in enumerate((16, 8, 0)):
            recolored[..., channel] = (expected >> np.uint32(shift)).reshape(same.shape)
        return recolored

    def _mix_picture(self, before: Pixels, after: Pixels, edge: Flags, stays: Flags) -> Flags:
        """Return which pixels of the edge mix an entry with a color beside them that stays the same.

        A round photo has too many colors for `_edges`.
        """
        (rows, columns), olds = np.nonzero(edge), before[edge].astype(np.float32)
        change, follows = after[edge] - olds, np.zeros(len(olds), bool)
        before, stays = np.pad(before, [(1, 1), (1, 1), (0, 0)]), np.pad(stays, 1)
        for entry in self._entries.items():
            start, target = _to_rgb(np.array(entry, np.uint32))
            step = target - start
            part = (change @ step / max(1, step @ step)).clip(0, 1)[:, None]
            is_part = _widest(part * step - change) <= _NEAR_MIXTURE
            for down, right in np.ndindex(3, 3):
                beside = rows + down, columns + right
                off = _widest(part * start + (1 - part) * before[beside] - olds)
                follows |= is_part & stays[beside] & (off <= _NEAR_PICTURE)
        return follows

    def _mix(self, olds: Numbers, news: Numbers) -> Numbers:
        """Return the new colors where they follow the table, and else the ones that the table gives."""
        pairs, places = np.unique(olds.astype(np.uint64) << 24 | news, return_inverse=True)
        numbers = pairs.tolist()
        unknown = [pair for pair in numbers if pair not in self._expected]
        if unknown and len(self._expected) < _MOST_APPLIED:
            self._expected.update(zip(unknown, self._mix_pairs(np.array(unknown, np.uint64)), strict=True))
        expected = [self._expected.get(pair, pair >> 24) for pair in numbers]
        return np.array(expected, np.uint32)[places]

    def _mix_pairs(self, pairs: npt.NDArray[np.uint64]) -> list[int]:
        olds, news = _to_rgb((pairs >> 24).astype(np.uint32)), _to_rgb((pairs & 0xFFFFFF).astype(np.uint32))
        expected, distance = olds.copy(), np.full(len(pairs), np.inf, np.float32)
        for one, other in self._edges:
            mixed, beyond = _mix(olds, news, one, other)
            nearer = beyond < distance
            expected[nearer], distance[nearer] = mixed[nearer], beyond[nearer]
        expected[distance <= 0] = news[distance <= 0]
        numbers: list[int] = _to_numbers(np.rint(expected)).tolist()
        return numbers


def find_recoloring(before: Pixels, after: Pixels) -> Recoloring | None:
    """Return the table of colors that the differing pixels follow, if there is one.

    Both images have the same size. No entry starts or ends at a ground that stays, and no two end at the same
    color: the ground and the text under a new box aren't recolored, and neither is a button that is gone.
    """
    old, new, scale = _sample_differing(before, after)
    if len(old) < _LEAST_PIXELS:
        return None
    pairs, counts = np.unique(old.astype(np.uint64) << 24 | new, return_counts=True)
    if _share_of_first(pairs >> 24, counts) < _SINGLE:
        return None
    most = np.argsort(-counts, kind="stable")[:_MOST_SAMPLED]
    pairs, counts = pairs[most], counts[most]
    olds, news = (pairs >> 24).astype(np.uint32), (pairs & 0xFFFFFF).astype(np.uint32)
    kept = Counter(_count_colors(before))
    size = before.shape[0] * before.shape[1]
    changed = Counter[int]()
    for color, count in zip(olds.tolist(), counts.tolist(), strict=True):
        changed[color] += count * scale
    kept.subtract(changed)
    kept_colors = _to_rgb(np.array([*kept], np.uint32))
    kept_pixels = np.array([*kept.values()]).clip(0)
    ends = [color for color, count in kept.most_common(_ENDS) if count > 0]
    ends += {_BLACK, _WHITE} - {*ends}
    least = _GROUND_SHARE * size
    found = _Table(olds, news, ends, [color for color in ends if kept[color] >= max(least, changed[color])])
    for index, count in enumerate(counts.tolist()):
        if count < max(_LEAST_PIXELS, _LEAST_SHARE * len(old)):
            break
        if found.follows[index] and count < _FLAT_SHARE * len(old):
            continue
        near = _widest(kept_colors - _to_rgb(news[index : index + 1])) <= _ROUNDING
        if kept_pixels[near].sum() < least:  # else it's gone: a gradient is a ground of many colors
            found.add(index)
    if counts[found.follows].sum() < _FOLLOWING * len(old):
        return None
    table = [
        ColorChange(f"#{olds[index]:06x}", f"#{news[index]:06x}", int(counts[index]) * scale)
        for index in found.entries
    ]
    return Recoloring(table, found.edges)


def _share_of_first(olds: npt.NDArray[np.uint64], counts: npt.NDArray[np.intp]) -> float:
    """Return the share of pixels whose color became the most frequent new color of their old one.

    The old colors are sorted.
    """
    starts = np.flatnonzero(np.diff(olds, prepend=olds[:1] + 1))
    return float(np.maximum.reduceat(counts, starts).sum() / counts.sum())


class _Table:
    """A table in the making, and which pairs of an old and a new color follow it.

    `kept` are colors that stay the same, and `grounds` those that no entry may start or end at.
    """

    def __init__(self, olds: Numbers, news: Numbers, kept: list[int], grounds: list[int]) -> None:
        self.entries: list[int] = []
        """Indexes of pairs."""
        self.edges: list[tuple[Change, Change]] = []
        """The entries, each with each other one, and with each color that stays."""
        self.follows = np.zeros(len(olds), bool)
        self._numbers = list(zip(olds.tolist(), news.tolist(), strict=True))
        self._olds, self._news = _to_rgb(olds), _to_rgb(news)
        self._ends: list[Change] = [(color, color) for color in _to_rgb(np.array(kept, np.uint32))]
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
            self.edges.append((self._ends[-1], other))
            self.follows |= _mix(self._olds, self._news, *self.edges[-1])[1] <= 0


def _mix(olds: Colors, news: Colors, one: Change, other: Change) -> tuple[Colors, Colors]:
    """Return what the old colors become as mixtures of two, and how much too far the new ones are.

    A new color may be near, because of what browsers draw differently. For colors that aren't mixtures, it is
    infinitely far.
    """
    before, after = other[0] - one[0], other[1] - one[1]
    part = ((olds - one[0]) @ before / max(1, before @ before)).clip(0, 1)
    mixed = one[1] + part[:, None] * after
    near = np.where(np.abs(part - 0.5) < _MIXED, _NEAR + _NEAR_SHARE * np.abs(after).max(), _ROUNDING)
    beyond = _widest(mixed - news) - near
    off = _widest(one[0] + part[:, None] * before - olds)
    return mixed, np.where(off <= _ROUNDING, beyond, off + _NO_MIXTURE)


def _widest(differences: Colors) -> npt.NDArray[np.float32]:
    """Return the largest of red, green and blue. `max(axis=1)` takes five times as long."""
    red, green, blue = np.abs(differences).T
    widest: npt.NDArray[np.float32] = np.maximum(np.maximum(red, green), blue)
    return widest


def _find_flat(pixels: Pixels) -> Flags:
    """Return which pixels have the color of all their neighbors."""
    flat: Flags = (brightest_around(pixels) == darkest_around(pixels)).all(axis=2)
    return flat


def _find_thick(flags: Flags) -> Flags:
    """Return which of the marked pixels are in areas at least as wide and as high as a letter's strokes."""
    stroke = np.ones((2 * _HALF_A_STROKE + 1,) * 2, np.uint8)
    thick: Flags = cv2.morphologyEx(flags.astype(np.uint8), cv2.MORPH_OPEN, stroke) > 0
    return thick


def _sample_differing(before: Pixels, after: Pixels) -> tuple[Numbers, Numbers, int]:
    """Return the old and the new color of pixels that differ, and how many pixels each of them stands for."""
    step = _step(before)
    old, new = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    for ours, theirs in zip(_sample_rows(before, step), _sample_rows(after, step), strict=True):
        differs = find_unequal(ours, theirs)
        old.append(_to_numbers(ours[differs]))
        new.append(_to_numbers(theirs[differs]))
    return np.concatenate(old), np.concatenate(new), step * step


def _count_colors(image: Pixels) -> dict[int, int]:
    """Estimate how many pixels of an image have each color."""
    step = _step(image)
    colors, counts = np.unique(
        _to_numbers(np.concatenate([rows.reshape(-1, rows.shape[2]) for rows in _sample_rows(image, step)])),
        return_counts=True,
    )
    return dict(zip(colors.tolist(), (counts * step * step).tolist(), strict=True))


def _sample_rows(image: Pixels, step: int) -> Iterator[Pixels]:
    """Yield each `step`th pixel of each `step`th row. Rows start at different columns: lines are straight."""
    for column in range(step):
        yield image[column * step :: step * step, column::step]


def _step(image: Pixels) -> int:
    return math.ceil(math.sqrt(max(1, image.shape[0] * image.shape[1] / _SAMPLE)))


def _to_numbers(pixels: Pixels | Colors) -> Numbers:
    red, green, blue = (pixels[..., channel].astype(np.uint32).ravel() for channel in range(3))
    return red << np.uint32(16) | green << np.uint32(8) | blue


def _to_rgb(numbers: Numbers) -> Colors:
    return np.stack([numbers >> shift & 255 for shift in (16, 8, 0)], axis=1).astype(np.float32)
