"""Find what no movement explains: the residue of both images.

A token is explained by one offset, the one that leaves least of it. The ground and borders between tokens
are explained by any offset of content nearby.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.alignment import CELL, Alignment, Offset
from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.regions import Box, enclose_both, groups_of, shift
from prshots.server.adapters.pictures.engine.side import Side
from prshots.server.adapters.pictures.engine.tokens import find_word

Plane = npt.NDArray[np.uint8]

Place = tuple[Offset, Box]
"""A box of the after image, and an offset at which to compare it. It can reach beyond both images."""
Differ = Callable[[Sequence[Place]], list[Strength]]
"""Returns how much each pixel of some boxes of the after image differs from the before image at an offset."""

_REACH = 200 // CELL
"""A ground or a border can have moved with content that is at most this many cells above or below it, and
anywhere beside it: tables are empty between their columns."""

_MOST_LEFTOVERS, _LEAST_WORD, _LIKENESS, _MOST_OFFSETS = 80, 100, 0.65, 60
"""How many words without a partner to compare with each other, of how many pixels, and how alike two are
at least. They move only if they then are the same."""

_TEXT = 26
"""The height of the largest text of a button."""

_BORDER, _MOST_BORDERS = 6, 300
"""How thick a border can be, with its shadow, and how many to look at."""
_AROUND = [(across, down) for across in (-1, 0, 1) for down in (-1, 0, 1)]

_ASIDE = (1, 0), (-1, 0), (0, 1), (0, -1)


class Differs(NamedTuple):
    in_turn: Sequence[Differ]
    """Each is tried on what the one before left: a fast one, then one that knows noise."""
    on_ground: Differ
    """For single tokens: sees no difference between the grounds of both images."""


def find_residue(before: Side, after: Side, alignment: Alignment, differs: Differs) -> None:
    """Clear what a movement explains from what is left of both sides."""
    keys = [np.array(side.tokens.keys, np.int64) for side in (before, after)]
    ours, theirs = alignment.partners
    is_equal = keys[0][ours] == keys[1][theirs]
    before.follow(alignment.before, ours[is_equal])
    after.follow(alignment.after, theirs[is_equal])
    for differ in differs.in_turn:
        for number, (dx, dy) in enumerate(alignment.offsets):
            cells = before.cells_of(number) | _fit(after.cells_of(number), before)
            near = _reach(cells) if number else np.ones_like(cells)
            if not near.any():
                continue
            needed = [shift(zone, dx, dy) for zone in before.open_zones(near)]
            needed += after.open_zones(_fit(near, after))
            zones = [*_merge(needed)]
            for zone, strengths in zip(zones, differ([((dx, dy), zone) for zone in zones]), strict=True):
                before.offer(number, shift(zone, -dx, -dy), strengths, after, (dx, dy))
                after.offer(number, zone, strengths, before, (-dx, -dy))
    alike = [
        _Alike(i, j, alignment.offsets[alignment.after[j]])
        for i, j in zip(ours[~is_equal].tolist(), theirs[~is_equal].tolist(), strict=True)
    ]
    _look_closely(before, after, alike, differs.on_ground)
    _look_at_unpaired(before, after, alignment.offsets, differs.on_ground)
    before.adopt()
    after.adopt()
    _pair_leftovers(before, after, alignment, differs.on_ground)
    for side, way in ((before, -1), (after, 1)):
        _look_at_borders(side, way, alignment, differs.in_turn[-1])


class _Alike(NamedTuple):
    """Two tokens that look alike."""

    before: int
    after: int
    offset: Offset


def _look_closely(before: Side, after: Side, alike: Sequence[_Alike], differs: Differ) -> None:
    """Compare tokens that look alike on the same ground, and if they differ, also a pixel aside."""

    def compare(
        pairs: Sequence[_Alike], sides: Sequence[Offset]
    ) -> Iterator[tuple[_Alike, Box, list[Strength]]]:
        zones = [enclose_both(after.boxes[j], shift(before.boxes[i], *offset)) for i, j, offset in pairs]
        found = iter(
            differs(
                [
                    ((pair.offset[0] + across, pair.offset[1] + down), zone)
                    for pair, zone in zip(pairs, zones, strict=True)
                    for across, down in sides
                ]
            )
        )
        for pair, zone in zip(pairs, zones, strict=True):
            yield pair, zone, [next(found) for _ in sides]

    def take(pair: _Alike, zone: Box, strengths: Strength) -> None:
        dx, dy = pair.offset
        before.take(pair.before, shift(zone, -dx, -dy), strengths)
        after.take(pair.after, zone, strengths)

    still_open = [pair for pair in alike if before.is_open(pair.before) or after.is_open(pair.after)]
    differing: dict[_Alike, Strength] = {}
    for pair, zone, [straight] in compare(still_open, [(0, 0)]):
        take(pair, zone, straight)
        if straight.any():
            differing[pair] = straight
    for pair, zone, aside in compare([*differing], _ASIDE):
        if _is_button(before.boxes[pair.before], after.boxes[pair.after]):
            # Its label can move by a pixel, and its frame doesn't.
            aside += [np.minimum(differing[pair], other) for other in aside]
        for strengths in aside:
            if not strengths.any():
                take(pair, zone, strengths)


def _look_at_unpaired(before: Side, after: Side, offsets: list[Offset], differs: Differ) -> None:
    ours = [(before, index, offsets[number]) for index, number in before.find_open()]
    theirs = [(after, index, offsets[number]) for index, number in after.find_open()]
    places = [(offset, shift(side.boxes[index], *offset)) for side, index, offset in ours]
    places += [(offset, side.boxes[index]) for side, index, offset in theirs]
    for (side, index, _), strengths in zip(ours + theirs, differs(places), strict=True):
        side.take(index, side.boxes[index], strengths)


def _is_button(one: Box, other: Box) -> bool:
    """Return whether two boxes are of the same size, and higher than text."""
    return one.region[2:] == other.region[2:] and one.bottom - one.top > _TEXT


def _pair_leftovers(before: Side, after: Side, alignment: Alignment, differs: Differ) -> None:
    """Pair words that went from one line to another: nothing around them moved as far."""
    ours, theirs = before.find_unpaired(_LEAST_WORD), after.find_unpaired(_LEAST_WORD)
    if max(len(ours), len(theirs)) > _MOST_LEFTOVERS:
        return
    found = {(i, j): find_word(before.tokens, i, after.tokens, j) for i in ours for j in theirs}
    alike: list[_Alike] = []
    for (i, j), (likeness, offset) in sorted(found.items(), key=lambda pair: -pair[1][0]):
        if likeness >= _LIKENESS and not any(i == pair.before or j == pair.after for pair in alike):
            alike.append(_Alike(i, j, offset))
    _look_closely(before, after, alike, differs)
    for i, j, offset in alike:
        if not before.is_open(i) and not after.is_open(j) and len(alignment.offsets) < _MOST_OFFSETS:
            before.own[i] = after.own[j] = len(alignment.offsets)
            alignment.offsets.append(offset)


def _look_at_borders(side: Side, way: int, alignment: Alignment, differs: Differ) -> None:
    """Let borders of moved content be a pixel aside: browsers round them, and not as they round text."""
    tried: list[tuple[Box, Place]] = []
    for box in groups_of(side.left, 2)[:_MOST_BORDERS]:
        if min(box.right - box.left, box.bottom - box.top) > _BORDER or side.owners[box.slices].any():
            continue
        for dx, dy in _nearest_moves(side, box, alignment):
            offsets = [(dx + across, dy + down) for across, down in _AROUND]
            tried += [(box, (offset, box if way > 0 else shift(box, *offset))) for offset in offsets]
    for (box, _), strengths in zip(tried, differs([place for _, place in tried]), strict=True):
        np.minimum(side.left[box.slices], strengths, out=side.left[box.slices])


def _nearest_moves(side: Side, box: Box, alignment: Alignment) -> set[Offset]:
    """Return the offsets of the moved content nearest to a box, beside it and above or below it."""
    boxes, own = side.tokens.boxes, np.array(side.own, np.int32)
    found = set()
    for axis in (0, 1):
        is_level = (boxes[:, 1 - axis] < box[3 - axis] + _BORDER) & (
            box[1 - axis] < boxes[:, 3 - axis] + _BORDER
        )
        chosen = np.flatnonzero(is_level & (own >= 0))
        if len(chosen):
            away = np.maximum(boxes[chosen, axis] - box[axis + 2], box[axis] - boxes[chosen, axis + 2])
            found.add(alignment.offsets[own[chosen[away.clip(0).argmin()]]])
    return found - {(0, 0)}


def _reach(cells: Plane) -> Plane:
    rows = cv2.dilate(cells.max(axis=1, keepdims=True), np.ones((2 * _REACH + 1, 1), np.uint8))
    return np.repeat(rows, cells.shape[1], axis=1)


def _fit(cells: Plane, side: Side) -> Plane:
    """Return cells of one image as cells of the other."""
    height, width = side.cells
    fitted = np.zeros((height, width), np.uint8)
    part = cells[:height, :width]
    fitted[: part.shape[0], : part.shape[1]] = part
    return fitted


def _merge(zones: list[Box]) -> Iterator[Box]:
    """Yield boxes that cover the zones, and overlap rarely."""
    left = list(zones)
    while left:
        zone = left.pop()
        while found := [other for other in left if zone.overlaps(other)]:
            left = [other for other in left if not zone.overlaps(other)]
            for other in found:
                zone = enclose_both(zone, other)
        yield zone
