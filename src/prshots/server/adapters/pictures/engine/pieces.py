"""Turn the residue of both images into pieces: what changed, came in, went or got another color."""

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.alignment import CELL, Alignment, Offset
from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.regions import (
    Box,
    enclose_both,
    groups_of,
    grow,
    median_color,
    shift,
    to_mask,
)
from prshots.server.adapters.pictures.engine.side import SAME_GROUND, Side
from prshots.server.adapters.pictures.engine.tokens import Pixels
from prshots.server.domain.comparison.models import Piece, Shape

Plane = npt.NDArray[np.uint8]

MAX_REGIONS = 50
MAX_SHAPES = 40

_CELL = 4
_AROUND = 3
"""How many pixels around a fragment to look at. Fragments twice as far apart are one."""
_MOST_FRAGMENTS = 1_000
"""Of more fragments, those farther apart are one as well: each is compared with all others."""
_FRAGMENT = np.ones((2 * _AROUND + 1,) * 2, np.uint8)

_PLAIN_SHARE = 0.85
"""The share of the ground in a box that has nothing else but borders."""

_BESIDE, _BELOW = 1000, 40
"""How far apart fragments on the same line, and one below the other, can be one piece."""
_NEXT_WORD = 14
"""How far apart a changed word and one that came in can be one piece: the words of a label."""
_BESIDE_COLOR = 64
"""How far apart recolored fragments can be one piece."""
_LEAST_WORDS, _MOST_WORDS, _LEAST_OF_PAGE = 12, 0.5, 0.3
"""How many words of a redrawn page differ at least, their share, and the share of the page around them."""
_SAME_LINE = 0.5
"""The least share of the lower of two boxes that is on the same line."""


class Obstacles:
    """Marked boxes of an image, to ask quickly whether anything lies in another box."""

    def __init__(self, shape: tuple[int, ...], boxes: Iterable[Sequence[int]]) -> None:
        cells = np.zeros((shape[0] // _CELL + 2, shape[1] // _CELL + 2), np.uint8)
        for left, top, right, bottom in boxes:
            cells[top // _CELL : -(-bottom // _CELL), left // _CELL : -(-right // _CELL)] = 1
        self._sums = cv2.integral(cells)

    def count(self, box: Box) -> int:
        """Return how many cells inside a box are marked."""
        left, top, right, bottom = (
            -(-box.left // _CELL),
            -(-box.top // _CELL),
            box.right // _CELL,
            box.bottom // _CELL,
        )
        if left >= right or top >= bottom:
            return 0
        sums = self._sums
        return int(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])


def find_fragments(side: Side, least_sum: int) -> list[Box]:
    """Return boxes around what is left and adds up to at least `least_sum`."""
    return [
        box
        for box in groups_of(side.left, 2 * _AROUND, _MOST_FRAGMENTS)
        if int(side.left[box.slices].sum(dtype=np.int64)) >= least_sum and not _is_blank(side, box)
    ]


def _is_blank(side: Side, box: Box) -> bool:
    """Return whether only the ground is left: it has the color of its surroundings, which are the same."""
    wide = grow(box, _AROUND).clip(*side.left.shape[:2])
    left, tokens = side.left[wide.slices], side.owners[wide.slices]
    found = to_mask(left)
    if cv2.countNonZero(cv2.bitwise_and(found, tokens)):
        return False
    around = cv2.subtract(cv2.dilate(found, _FRAGMENT), cv2.max(found, to_mask(tokens)))
    if not cv2.countNonZero(around):
        return False
    both = cv2.max(found, around)
    for channel in range(side.image.shape[2]):
        darkest, brightest, _, _ = cv2.minMaxLoc(cv2.extractChannel(side.image[wide.slices], channel), both)
        if brightest - darkest > SAME_GROUND:
            return False
    return True


def join(boxes: Sequence[Box], obstacles: Obstacles, beside: int = _BESIDE, below: int = _BELOW) -> list[Box]:
    """Join boxes near each other if no obstacle lies between them that isn't in one of them."""
    joined = sorted(boxes, key=lambda box: (box.top, box.left))
    while True:
        before = len(joined)
        joined = _join_once(joined, obstacles, beside, below)
        if len(joined) == before:
            return joined


def _join_once(boxes: list[Box], obstacles: Obstacles, beside: int, below: int) -> list[Box]:
    joined: list[Box] = []
    for box in boxes:
        for index in range(len(joined) - 1, -1, -1):
            other = joined[index]
            if not is_near(other, box, beside, below):
                continue
            both = enclose_both(other, box)
            if obstacles.count(both) <= obstacles.count(other) + obstacles.count(box):
                joined[index] = both
                break
        else:
            joined.append(box)
    return joined


def is_near(one: Box, other: Box, beside: int, below: int) -> bool:
    across = max(one.left, other.left) - min(one.right, other.right)
    down = max(one.top, other.top) - min(one.bottom, other.bottom)
    lower = min(one.bottom - one.top, other.bottom - other.top)
    narrower = min(one.right - one.left, other.right - other.left)
    if -down >= _SAME_LINE * lower:
        return across <= beside
    return down <= below and -across >= min(narrower, 8) * _SAME_LINE


class FoundPiece(NamedTuple):
    """A piece, and where it is in both images. In the image that doesn't have it, it has no rows."""

    piece: Piece
    before: Box
    after: Box


def find_pieces(
    sides: tuple[Side, Side], alignment: Alignment, recolored: Strength | None, least_sum: int
) -> list[FoundPiece]:
    """Return the regions from the top, then what is gone."""
    before, after = sides
    kept = [Obstacles(side.left.shape, (box for box in side.boxes if side.is_same(box))) for side in sides]
    changed, came, gone = _sort_fragments(sides, alignment, least_sum)
    changed, came = _join_words(join(changed, kept[1]), join(came, kept[1]), kept[1])
    found = []
    for box in _limit(changed):
        start = _follow(after, box, alignment, -1)
        found.append(FoundPiece(Piece(box.region, "changed", _shapes(after, box)), start, box))
    for box in _limit(came):
        piece = Piece(box.region, "came", _shapes(after, box))
        found.append(FoundPiece(piece, _find_seam(after, box, alignment, -1), box))
    if recolored is not None:
        found += _find_recolored(after, recolored, least_sum)
    found.sort(key=lambda each: (each.after.top, each.after.left))
    for box in _limit(join(gone, kept[0])):
        piece = Piece(box.region, "gone", _shapes(before, box))
        found.append(FoundPiece(piece, box, _find_seam(before, box, alignment, 1)))
    return found


def _sort_fragments(
    sides: tuple[Side, Side], alignment: Alignment, least_sum: int
) -> tuple[list[Box], list[Box], list[Box]]:
    """Return what changed, what came in, and what is gone.

    What both images have at the same place changed, but where content went, the ground is no change.
    """
    before, after = sides
    gone, came = (find_fragments(side, least_sum) for side in sides)
    at = [_follow(before, box, alignment, 1) for box in gone]
    over = {box: [each for each in came if place.overlaps(each)] for box, place in zip(gone, at, strict=True)}
    ground = {
        each
        for box, others in over.items()
        for each in others
        if _has_tokens(before, box) and not _has_tokens(after, each) and _is_plain(after, each)
    }
    changed = {each for others in over.values() for each in others} - ground
    return (
        [each for each in came if each in changed],
        [each for each in came if each not in changed and each not in ground],
        [box for box, others in over.items() if not changed.intersection(others)],
    )


def _has_tokens(side: Side, box: Box) -> bool:
    return bool(side.owners[box.slices].any())


def _is_plain(side: Side, box: Box) -> bool:
    """Return whether nearly all that is left in a box has one color."""
    colors = side.image[box.slices][side.left[box.slices] > 0]
    middle = np.broadcast_to(median_color(colors), colors.shape).copy()
    is_near = cv2.absdiff(colors, middle).max(axis=1) <= SAME_GROUND
    return bool(is_near.mean() >= _PLAIN_SHARE)


def _find_recolored(side: Side, recolored: Strength, least_sum: int) -> list[FoundPiece]:
    fragments = [
        box
        for box in groups_of(recolored, 2 * _AROUND)
        if recolored[box.slices].sum(dtype=np.int64) >= least_sum
    ]
    same = Obstacles(recolored.shape, (box for box in side.boxes if not recolored[box.slices].any()))
    return [
        FoundPiece(Piece(box.region, "recolored", _shapes(side, box, recolored)), box, box)
        for box in _limit(join(fragments, same, _BESIDE_COLOR, _BESIDE_COLOR))
    ]


def is_redrawn(before: Side, after: Side) -> bool:
    """Return whether most words of a page differ: it has another font, size or language."""
    for side in (before, after):
        differing = sum(not side.is_same(box) for box in side.boxes)
        if side.within.area < _LEAST_OF_PAGE * side.left.size or differing < max(
            _LEAST_WORDS, _MOST_WORDS * len(side.boxes)
        ):
            return False
    return True


def _follow(side: Side, box: Box, alignment: Alignment, way: int) -> Box:
    """Return where a box of one image is in the other: `way` is 1 to the after image, and -1 back."""
    dx, dy = offset_at(side, box, alignment)
    return shift(box, way * dx, way * dy)


def _find_seam(side: Side, box: Box, alignment: Alignment, way: int) -> Box:
    """Return a line between what is above and below a box, in the image that doesn't have it.

    If it pushed down what is below, or let it move up, that begins at its bottom.
    """
    place = _follow(side, box, alignment, way)
    row = place.bottom if place.top < box.top else place.top
    return place._replace(top=row, bottom=row)


def offset_at(side: Side, box: Box, alignment: Alignment) -> Offset:
    """Return the offset of the content in a box or, if it has none, of that around it."""
    boxes, own = side.tokens.boxes, side.own
    across = np.minimum(boxes[:, 2], box.right) - np.maximum(boxes[:, 0], box.left)
    down = np.minimum(boxes[:, 3], box.bottom) - np.maximum(boxes[:, 1], box.top)
    areas = across.clip(0) * down.clip(0) * (own >= 0)
    if areas.any():
        return alignment.offsets[own[areas.argmax()]]
    rows, columns = alignment.support[0].shape
    row = min(max((box.top + box.bottom) // (2 * CELL), 0), rows - 1)
    column = min(max((box.left + box.right) // (2 * CELL), 0), columns - 1)
    supports = [float(support[row, column]) for support in alignment.support]
    return alignment.offsets[supports.index(max(supports))]


def _join_words(changed: list[Box], came: list[Box], kept: Obstacles) -> tuple[list[Box], list[Box]]:
    """Join words that came in with the changed word beside them. A banner above it is another piece."""
    left = []
    for box in came:
        for index, other in enumerate(changed):
            both = enclose_both(box, other)
            if is_near(box, other, _NEXT_WORD, -1) and kept.count(both) <= kept.count(box) + kept.count(
                other
            ):
                changed[index] = both
                break
        else:
            left.append(box)
    return changed, left


def _limit(boxes: list[Box]) -> list[Box]:
    """Join what is near each other until there are few enough."""
    reach = _CELL
    while len(boxes) > MAX_REGIONS:
        boxes, reach = _join_near(boxes, reach), 2 * reach
    return boxes


def _join_near(boxes: list[Box], reach: int) -> list[Box]:
    joined: list[Box] = []
    for box in boxes:
        near = [other for other in joined if grow(box, reach).overlaps(other)]
        joined = [other for other in joined if other not in near]
        joined.append(functools.reduce(enclose_both, near, box))
    return joined


def _shapes(side: Side, box: Box, marks: Strength | None = None) -> list[Shape]:
    """Return the shapes of the tokens in a box that aren't the same."""
    marks = side.left if marks is None else marks
    left, top, right, bottom = side.tokens.boxes.T
    near = (left < box.right) & (right > box.left) & (top < box.bottom) & (bottom > box.top)
    tokens = [side.boxes[index] for index in np.flatnonzero(near).tolist()]
    inside = sorted((token.top, token.left, token) for token in tokens if marks[token.slices].any())
    return [describe_shape(side.image, token) for _, _, token in inside[:MAX_SHAPES]]


def describe_shape(image: Pixels, box: Box) -> Shape:
    gray = cv2.cvtColor(np.ascontiguousarray(image[box.slices][..., :3]), cv2.COLOR_RGB2GRAY)
    edge = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
    ink = cv2.absdiff(gray, np.full_like(gray, np.uint8(np.median(edge))))
    small = cv2.resize(ink.astype(np.float32), (8, 8), interpolation=cv2.INTER_AREA)
    bits = 0
    for bit in (small > small.mean()).ravel().tolist():
        bits = bits << 1 | bit
    return Shape(box.right - box.left, box.bottom - box.top, bits)
