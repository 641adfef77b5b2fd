"""Find what no movement explains: the residue of both images.

A token is explained by one offset, the one that leaves least of it. The ground and borders between tokens
are explained by any offset of content nearby.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.alignment import CELL, NEIGHBORS, NUDGES, Alignment, Offset
from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.regions import Box, enclose_both, groups_of, grow, shift
from prshots.server.adapters.pictures.engine.side import SAME_GROUND, Side
from prshots.server.adapters.pictures.engine.tokens import Pixels, find_word

Plane = npt.NDArray[np.uint8]

Place = tuple[Offset, Box]
"""A box of the after image, and an offset at which to compare it. It can reach beyond both images."""
Differ = Callable[[Sequence[Place]], list[Strength]]
"""Returns how much each pixel of some boxes of the after image differs from the before image at an offset."""

_REACH = 200 // CELL
"""A ground or a border can have moved with content that is at most this many cells above or below it, and
anywhere beside it: tables are empty between their columns."""

_MOST_LEFTOVERS, _LEAST_WORD, _MOST_WORD, _LIKENESS, _MOST_OFFSETS = 80, 100, 500_000, 0.65, 60
"""How many words and pictures without a partner to compare with each other, of how many pixels, and how alike
two are at least. They move only if they then are the same."""

_MOST_LOOKED_AT, _MOST_ASIDE = 1_000, 400
"""How many tokens to compare one by one, and how many also a pixel aside. On a page where more of them
differ, the rest has changed."""

_TEXT = 26
"""The height of the largest text of a button."""

_EDGE_OF_BOX, _MOST_AROUND_BOX = 2, 0.25
"""How far from the ground pixels are the edge of a box, and how much of the box's rectangle the ground takes
at most: around a circle, it is a fifth."""
_NEAR_EDGE = np.ones((2 * _EDGE_OF_BOX + 1,) * 2, np.uint8)

_LEAST_PICTURE, _MOST_PICTURE, _SAME_PICTURE = 32, 3_000_000, 0.86
"""The least side of a picture, the most levels that are blurred at once, and how much the same ones
correlate."""
_LEAST_DIFFERING = 0.5
"""The least share of its pixels that aren't equal."""
_SMOOTH, _MOST_SMOOTHED = 1.5, 20
"""The deviation of the blur in which fractions of a pixel vanish, and how many levels still differ then."""

_BORDER, _MOST_BORDERS = 6, 300
"""How thick a border can be, with its shadow, and how many to look at."""


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
    looks, offsets = _Looks(before, after, differs.on_ground), alignment.offsets
    looks.look(
        [
            _Match(i, j, offsets[alignment.after[j]])
            for i, j in zip(ours[~is_equal].tolist(), theirs[~is_equal].tolist(), strict=True)
        ]
    )
    looks.look([_Match(i, None, offsets[number]) for i, number in before.find_open()])
    looks.look([_Match(None, j, offsets[number]) for j, number in after.find_open()])
    before.adopt()
    after.adopt()
    _pair_leftovers(before, after, alignment, looks)
    for side, way in ((before, -1), (after, 1)):
        _look_at_borders(side, way, alignment, differs.in_turn[-1])


class _Match(NamedTuple):
    """Two tokens that look alike, or one whose place in the other image looks alike, and how far it moved."""

    before: int | None
    after: int | None
    offset: Offset


class _Looks:
    """Compares matches one by one, on the same ground."""

    def __init__(self, before: Side, after: Side, differs: Differ) -> None:
        self._before, self._after = before, after
        self._differs = differs

    def look(self, matches: Sequence[_Match]) -> None:
        """Clear what is the same, or would be the same a pixel aside."""
        still_open = [match for match in matches if self._is_open(match)][:_MOST_LOOKED_AT]
        differing: dict[_Match, Strength] = {}
        for match, [straight] in self._compare(still_open, [(0, 0)]):
            self._take(match, straight)
            if straight.any():
                differing[match] = straight
        paired = [match for match in differing if None not in {match.before, match.after}]
        self._look_aside(self._look_aside(paired[:_MOST_ASIDE]))
        for match, straight in differing.items():
            if self._is_open(match) and _is_same_picture(*self._pictures(match)):
                self._take(match, np.zeros_like(straight))

    def _look_aside(self, matches: Sequence[_Match]) -> list[_Match]:
        """Clear what would be the same a pixel aside. Return what differs less there, at its new offset."""
        nearer = []
        for match, places in self._compare(matches, NUDGES):
            least_left = min(range(len(NUDGES)), key=lambda number: cv2.sumElems(places[number])[0])
            tried = [*places]
            if self._is_button(match):  # its label can move by a pixel, and its frame doesn't
                tried += [np.minimum(places[0], other) for other in places[1:]]
            edge = self._find_edge(match)
            if edge is not None:  # browsers round the places of a box and of its label apart
                least = np.minimum.reduce(places)
                tried += [np.where(edge, least, strengths) for strengths in places]
            for strengths in tried:
                if not strengths.any():
                    self._take(match, strengths)
            if self._is_open(match) and least_left and match.offset != (0, 0):
                (dx, dy), (across, down) = match.offset, NUDGES[least_left]
                nearer.append(match._replace(offset=(dx + across, dy + down)))
        return nearer

    def _is_open(self, match: _Match) -> bool:
        return any(index is not None and side.is_open(index) for side, index, _ in self._sides(match))

    def _sides(self, match: _Match) -> Iterator[tuple[Side, int | None, Offset]]:
        """Yield both sides, with the token and how far the zone is from there."""
        dx, dy = match.offset
        yield self._before, match.before, (-dx, -dy)
        yield self._after, match.after, (0, 0)

    def _boxes(self, match: _Match) -> tuple[Box, Box]:
        """Return where the match is in both images."""
        dx, dy = match.offset
        if match.before is None:
            after = self._after.boxes[match.after or 0]
            return shift(after, -dx, -dy), after
        ours = self._before.boxes[match.before]
        return ours, shift(ours, dx, dy) if match.after is None else self._after.boxes[match.after]

    def _zone(self, match: _Match) -> Box:
        before, after = self._boxes(match)
        return enclose_both(after, shift(before, *match.offset))

    def _compare(
        self, matches: Sequence[_Match], sides: Sequence[Offset]
    ) -> Iterator[tuple[_Match, list[Strength]]]:
        places = [
            ((match.offset[0] + across, match.offset[1] + down), self._zone(match))
            for match in matches
            for across, down in sides
        ]
        found = iter(self._differs(places))
        for match in matches:
            yield match, [next(found) for _ in sides]

    def _take(self, match: _Match, strengths: Strength) -> None:
        zone = self._zone(match)
        for side, index, way in self._sides(match):
            if index is not None:
                side.take(index, shift(zone, *way), strengths)

    def _is_button(self, match: _Match) -> bool:
        """Return whether two boxes are of the same size, and higher than text."""
        before, after = self._boxes(match)
        return before.region[2:] == after.region[2:] and before.bottom - before.top > _TEXT

    def _find_edge(self, match: _Match) -> npt.NDArray[np.bool_] | None:
        """Return the edge of a box that moved. It can be a pixel larger, but not in its place."""
        before, after = self._boxes(match)
        sides = np.abs(np.subtract(before.region[2:], after.region[2:]))
        if match.offset == (0, 0) or sides.max() > 1:
            return None
        return _find_edge_of_box(self._after.image, self._zone(match))

    def _pictures(self, match: _Match) -> tuple[Pixels, Pixels]:
        before, after = self._boxes(match)
        return self._before.image[before.slices], self._after.image[after.slices]


def _find_edge_of_box(image: Pixels, zone: Box) -> npt.NDArray[np.bool_] | None:
    """Return which pixels of a zone are at the edge of a filled box, such as a button, if it has one."""
    room = grow(zone, _EDGE_OF_BOX)
    if room != room.clip(*image.shape[:2]):
        return None
    part = image[room.slices][..., :3]
    border = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
    ground = np.median(border, axis=0).astype(np.uint8)
    away = cv2.absdiff(part, np.full_like(part, ground)).max(axis=2)
    labels = cv2.connectedComponents((away <= SAME_GROUND).astype(np.uint8))[1]
    around = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    outside = np.isin(labels, around[around > 0]).astype(np.uint8)
    inner = slice(_EDGE_OF_BOX, -_EDGE_OF_BOX)
    if outside[inner, inner].mean() > _MOST_AROUND_BOX:
        return None
    edge: npt.NDArray[np.bool_] = cv2.dilate(outside, _NEAR_EDGE)[inner, inner] > 0
    return edge


def _is_same_picture(before: Pixels, after: Pixels) -> bool:
    """Return whether two pictures are the same, drawn at another fraction of a pixel.

    Pixels differ everywhere then, but only as much as the browser smooths them. If they differ in one place,
    it is an edit.
    """
    height, width = after.shape[:2]
    if before.shape != after.shape or min(height, width) < _LEAST_PICTURE or before.size > _MOST_PICTURE:
        return False
    if np.mean((before != after).any(axis=2)) < _LEAST_DIFFERING:
        return False
    smooth = [cv2.GaussianBlur(picture, (0, 0), _SMOOTH).astype(np.float32) for picture in (before, after)]
    grays = [picture[..., :3].mean(axis=2) for picture in smooth]
    (dx, dy), _ = cv2.phaseCorrelate(*grays)
    likeness = cv2.matchTemplate(before[..., :3], after[..., :3], cv2.TM_CCOEFF_NORMED)
    if max(abs(dx), abs(dy)) > 1 or likeness[0, 0] < _SAME_PICTURE:
        return False
    aside = np.array([[1, 0, dx], [0, 1, dy]], np.float32)
    moved = cv2.warpAffine(smooth[0], aside, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return bool(np.abs(moved - smooth[1]).max() <= _MOST_SMOOTHED)


def _pair_leftovers(before: Side, after: Side, alignment: Alignment, looks: _Looks) -> None:
    """Pair words that went from one line to another: nothing around them moved as far."""
    ours, theirs = (side.find_unpaired(_LEAST_WORD, _MOST_WORD) for side in (before, after))
    if max(len(ours), len(theirs)) > _MOST_LEFTOVERS:
        return
    found = {(i, j): find_word(before.tokens, i, after.tokens, j) for i in ours for j in theirs}
    alike: list[tuple[int, int, Offset]] = []
    for (i, j), (likeness, offset) in sorted(found.items(), key=lambda pair: -pair[1][0]):
        if likeness >= _LIKENESS and not any(i == ours or j == theirs for ours, theirs, _ in alike):
            alike.append((i, j, offset))
    looks.look([_Match(*pair) for pair in alike])
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
            offsets = [(dx + across, dy + down) for across, down in NEIGHBORS]
            tried += [(box, (offset, box if way > 0 else shift(box, *offset))) for offset in offsets]
    for (box, _), strengths in zip(tried, differs([place for _, place in tried]), strict=True):
        np.minimum(side.left[box.slices], strengths, out=side.left[box.slices])


def _nearest_moves(side: Side, box: Box, alignment: Alignment) -> set[Offset]:
    """Return the offsets of the moved content nearest to a box, beside it and above or below it."""
    boxes, own = side.tokens.boxes, side.own
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
