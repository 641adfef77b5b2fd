"""Find pieces that look alike, in any screenshot and wherever they stand."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from prshots.server.domain.comparison.models import Piece, PieceKind, Shape

FAMILIES: dict[PieceKind, str] = {
    "changed": "in",
    "came": "in",
    "gone": "gone",
    "recolored": "recolored",
}
"""Pieces of one family can be the same change. What came in at one viewport can have replaced something at
another."""

_NEAR_PIXELS, _NEAR_SHARE = 2, 0.06
"""How much the sides of the same shape can differ. Browsers place text at fractions of a pixel."""
_NEAR_BITS = 8
"""How many bits of the same shape can differ."""
_MOST_SHAPES = 6000
"""With more different shapes than this, only equal ones are the same: comparing them would take too long."""

_EVEN = 66
"""Up to this side, `_NEAR_SHARE` is less than the 4 pixels that a bucket has."""


class Joined:
    """Numbers from 0 to `count`, of which some are the same."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def root(self, number: int) -> int:
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        self._parents[second] = first

    def join_all(self, numbers: Iterable[int]) -> None:
        first, *others = numbers
        for other in others:
            self.join(first, other)

    def sets(self) -> list[list[int]]:
        """Return the numbers that are the same, together and in order."""
        found = defaultdict[int, list[int]](list)
        for number in range(len(self._parents)):
            found[self.root(number)].append(number)
        return [*found.values()]


def look_of(piece: Piece) -> tuple[object, ...]:
    """Return an equal value for pieces with the same shapes. Pieces without shapes have their size."""
    return FAMILIES[piece.kind], *(piece.shapes or piece.box[2:])


def join_alike(pieces: Sequence[Piece]) -> Joined:
    """Join pieces of which at least half of the shapes are the same."""
    joined = Joined(len(pieces))
    firsts: dict[tuple[object, ...], int] = {}
    for number, piece in enumerate(pieces):
        first = firsts.setdefault(look_of(piece), number)
        joined.join(first, number)
    different = [number for number in firsts.values() if pieces[number].shapes]
    classes = classify({shape for number in different for shape in pieces[number].shapes})
    sets = [
        (number, FAMILIES[pieces[number].kind], frozenset(classes[shape] for shape in pieces[number].shapes))
        for number in different
    ]
    for one, other in _overlapping(sets):
        joined.join(one, other)
    return joined


def _is_same_shape(one: Shape, other: Shape) -> bool:
    return (
        _is_near(one.width, other.width)
        and _is_near(one.height, other.height)
        and (one.bits ^ other.bits).bit_count() <= _NEAR_BITS
    )


def _is_near(one: int, other: int) -> bool:
    return abs(one - other) <= max(_NEAR_PIXELS, _NEAR_SHARE * max(one, other))


def classify(shapes: Collection[Shape]) -> dict[Shape, int]:
    """Return a number for each shape. The same shapes have the same number."""
    ordered = sorted(shapes)
    if len(ordered) > _MOST_SHAPES:
        return {shape: number for number, shape in enumerate(ordered)}
    joined = Joined(len(ordered))
    by_size = defaultdict[tuple[int, int], list[int]](list)
    for number, shape in enumerate(ordered):
        across, down = _bucket(shape.width), _bucket(shape.height)
        for x in (across - 1, across, across + 1):
            for y in (down - 1, down, down + 1):
                for other in by_size.get((x, y), ()):
                    bits = (shape.bits ^ ordered[other].bits).bit_count()
                    if bits <= _NEAR_BITS and _is_same_shape(shape, ordered[other]):
                        joined.join(other, number)
        by_size[across, down].append(number)
    return {shape: joined.root(number) for number, shape in enumerate(ordered)}


def _bucket(side: int) -> int:
    """Return the number of a range of sides. Near sides have the same or the next number."""
    if side <= _EVEN:
        return side // 4
    return _EVEN // 4 + 1 + int(math.log(side / _EVEN) / math.log(1 + 1.2 * _NEAR_SHARE))


def _overlapping(sets: Sequence[tuple[int, str, frozenset[int]]]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of sets of a family of which the larger shares at least half with the smaller.

    Such sets share one of the rarer half of their members, so only those are looked up.
    """
    counts = defaultdict[int, int](int)
    for _, _, members in sets:
        for member in members:
            counts[member] += 1
    index = defaultdict[tuple[str, int], list[tuple[int, frozenset[int]]]](list)
    seen: dict[tuple[str, frozenset[int]], int] = {}
    for number, family, members in sets:
        first = seen.setdefault((family, members), number)
        if first != number:
            yield first, number
            continue
        rarest = sorted(members, key=lambda member: (counts[member], member))
        looked_at = set[int]()
        for member in rarest[: len(members) // 2 + 1]:
            for other, others in index[family, member]:
                if other not in looked_at:
                    looked_at.add(other)
                    if 2 * len(members & others) >= max(len(members), len(others)):
                        yield other, number
            index[family, member].append((number, members))
