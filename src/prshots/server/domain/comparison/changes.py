"""Find which pieces of compared shots are the same change.

1. Pieces that look alike are one change (likeness.py).
2. So are pieces of two themes in the same place.
3. So are pieces near each other that always come together, such as the bars of a chart.
4. So is what a page shows in one viewport instead of another: there, text wraps or has another size.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from prshots.contract.replies import Region
from prshots.server.domain.comparison.causes import find_pushed, is_beside_moved_words, is_sliver, place_of
from prshots.server.domain.comparison.likeness import FAMILIES, Joined, classify, join_alike
from prshots.server.domain.comparison.models import Piece, PieceKind, PlannedShot, Shape

_BESIDE, _BELOW = 96, 64
"""How far apart pieces of a kind can be one change: the cells of a table, the bars of a chart."""
_BELOW_IN_COLUMN, _SAME_SIDE = 80, 2
"""How far apart pieces of one column or one size can be one change, and how much such sides differ."""
_LEFTOVER, _LEFTOVER_WORD = 40, 480
"""How far a sliver can be from the change that it belongs to. A word that wraps can be further aside."""
_SPECK = 48
"""The longest side of a speck. A longer one can be a line."""
_MEANINGLESS = 6
"""Up to this width, shapes look alike."""
_REPLACED = 24
"""How far what came in can be from what went in its place."""
_SAME_LINE = 0.5
"""The least share of the lower of two boxes that is on the same line."""
_MOST_PLACES = 4
"""A page with more places that changed is another page. Nobody looks at them one by one."""

_MOST_VARIANTS = 12
"""A page with more differences between two viewports isn't looked at one by one."""
_SAME_BOX = 0.5
"""The least share that boxes in two themes have in common, if they are the same."""
_TOGETHER = 0.8
"""How often pieces have to come together, and be near each other."""
_SAMPLES = 3
"""In how many shots of each viewport and theme to look how near they are."""

_FAMILIES = [*dict.fromkeys(FAMILIES.values())]

Spot = tuple[int, int]
"""A piece: the numbers of its shot and of the piece in that shot."""


@dataclass(frozen=True, eq=False)
class Change:
    """Pieces of one or more shots that are the same change."""

    shots: Sequence[PlannedShot]
    spots: Sequence[Spot]

    @cached_property
    def by_shot(self) -> Mapping[int, list[int]]:
        """The numbers of the pieces in each shot."""
        found = defaultdict[int, list[int]](list)
        for shot, index in self.spots:
            found[shot].append(index)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.shots[shot].shot.name for shot in self.by_shot)

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(self.piece(spot).kind for spot in self.spots)

    @cached_property
    def families(self) -> frozenset[str]:
        return frozenset(FAMILIES[self.piece(spot).kind] for spot in self.spots)

    @property
    def only_came_or_went(self) -> bool:
        return self.kinds <= {"came", "gone"}

    @cached_property
    def shapes(self) -> frozenset[Shape]:
        return frozenset(shape for spot in self.spots for shape in self.piece(spot).shapes)

    def piece(self, spot: Spot) -> Piece:
        return self.shots[spot[0]].result.pieces[spot[1]]

    def pieces_of(self, shot: int) -> list[Piece]:
        return [self.shots[shot].result.pieces[index] for index in self.by_shot.get(shot, ())]


def find_changes(
    shots: Sequence[PlannedShot], spots: Sequence[Spot], same: Iterable[Sequence[Spot]]
) -> list[Change]:
    """Return the changes that these pieces are. `same` are pieces that are one change anyway."""
    numbers = {spot: number for number, spot in enumerate(spots)}
    joined = join_alike([shots[shot].result.pieces[index] for shot, index in spots])
    for known in same:
        joined.join_all([numbers[spot] for spot in known])
    _join_themes(shots, spots, joined)
    changes = [Change(shots, [spots[number] for number in numbers]) for numbers in joined.sets()]
    for find in (
        _find_contained,
        _find_leftovers,
        _find_caused,
        _find_neighbors,
        _find_in_other_viewports,
        _find_neighbors,
        _find_leftovers,
        _find_caused,
        _find_scattered,
    ):
        changes = _join(changes, find(changes))
    return changes


def _join(changes: Sequence[Change], pairs: Iterable[tuple[Change, Change]]) -> list[Change]:
    numbers = {id(change): number for number, change in enumerate(changes)}
    joined = Joined(len(changes))
    for one, other in pairs:
        joined.join(numbers[id(one)], numbers[id(other)])
    return [_unite([changes[number] for number in same]) for same in joined.sets()]


def _unite(changes: Sequence[Change]) -> Change:
    if len(changes) == 1:
        return changes[0]
    return Change(changes[0].shots, sorted(spot for change in changes for spot in change.spots))


def _join_themes(shots: Sequence[PlannedShot], spots: Sequence[Spot], joined: Joined) -> None:
    """Join pieces of a page's themes that have the same place and are nowhere else in the other theme."""
    pages = defaultdict[tuple[str, str], dict[int, list[int]]](dict)
    for number, (shot, _) in enumerate(spots):
        key = shots[shot].shot
        pages[key.name, key.viewport].setdefault(shot, []).append(number)
    for themes in pages.values():
        for some, others in combinations(themes.values(), 2):
            here, there = ({joined.root(number) for number in side} for side in (some, others))
            left, right = (
                [
                    (number, _piece(shots, spots[number]))
                    for number in side
                    if joined.root(number) not in known
                ]
                for side, known in ((some, there), (others, here))
            )
            for one, piece in left:
                for other, other_piece in right:
                    if _is_same_place(piece, other_piece):
                        joined.join(one, other)
                        break


def _piece(shots: Sequence[PlannedShot], spot: Spot) -> Piece:
    return shots[spot[0]].result.pieces[spot[1]]


def _is_same_place(one: Piece, other: Piece) -> bool:
    (x, y, width, height), (left, top, wide, high) = one.box, other.box
    down = min(y + height, top + high) - max(y, top)
    across = min(x + width, left + wide) - max(x, left)
    if across <= 0 or down <= 0 or FAMILIES[one.kind] != FAMILIES[other.kind]:
        return False
    both = across * down
    return both >= _SAME_BOX * (width * height + wide * high - both)


# Pieces near each other


def _find_neighbors(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Yield changes of the same names that come together, near each other."""
    by_names = defaultdict[frozenset[str], list[Change]](list)
    for change in changes:
        by_names[change.names].append(change)
    for some in by_names.values():
        if len(some) > 1:
            yield from _find_neighbors_among(some)


def _find_neighbors_among(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    sample = _choose_sample(changes)
    near = Counter[tuple[int, int]]()
    for shot in sample:
        placed = [
            (place_of(change.shots[shot], piece), piece.kind, number)
            for number, change in enumerate(changes)
            for piece in change.pieces_of(shot)
        ]
        near.update(_find_near_pairs(placed))
    for (one, other), count in near.items():
        ours, theirs = changes[one], changes[other]
        both = ours.by_shot.keys() & theirs.by_shot.keys()
        fewer = min(len(ours.by_shot), len(theirs.by_shot))
        sampled = sum(shot in both for shot in sample)
        if len(both) >= _TOGETHER * fewer and count >= _TOGETHER * sampled:
            yield ours, theirs


def _choose_sample(changes: Sequence[Change]) -> list[int]:
    """Return a few shots of each viewport and theme, those with the most changes."""
    counts = Counter(shot for change in changes for shot in change.by_shot)
    found = defaultdict[tuple[str, str], list[int]](list)
    for shot, _ in counts.most_common():
        key = changes[0].shots[shot].shot
        if len(found[key.viewport, key.theme]) < _SAMPLES:
            found[key.viewport, key.theme].append(shot)
    return [shot for some in found.values() for shot in some]


_Placed = tuple[Region, PieceKind, int]
"""A piece's box in the after image, its kind and the number of its change."""


def _find_near_pairs(placed: list[_Placed]) -> set[tuple[int, int]]:
    placed.sort(key=lambda each: each[0][1])
    found = set[tuple[int, int]]()
    for number, (box, kind, change) in enumerate(placed):
        for other_box, other_kind, other in placed[number + 1 :]:
            if other_box[1] > box[1] + box[3] + _BELOW_IN_COLUMN:
                break
            if other != change and _is_near(box, kind, other_box, other_kind):
                found.add((min(change, other), max(change, other)))
    return found


def _is_near(one: Region, kind: PieceKind, other: Region, other_kind: PieceKind) -> bool:
    across = max(one[0], other[0]) - min(one[0] + one[2], other[0] + other[2])
    down = max(one[1], other[1]) - min(one[1] + one[3], other[1] + other[3])
    if FAMILIES[kind] == FAMILIES[other_kind] and all(
        abs(one[side] - other[side]) <= _SAME_SIDE for side in (2, 3)
    ):
        return across <= _BESIDE and down <= _BELOW_IN_COLUMN
    if kind == other_kind:
        is_column = abs(one[0] - other[0]) <= _SAME_SIDE
        return across <= _BESIDE and down <= (_BELOW_IN_COLUMN if is_column else _BELOW)
    if "recolored" in {kind, other_kind}:
        return False
    if "gone" in {kind, other_kind}:
        return across <= _REPLACED and down <= _REPLACED
    return across <= _BESIDE and -down >= _SAME_LINE * min(one[3], other[3])


# Pieces that another one caused


def _find_leftovers(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Yield slivers and words that wrap, with the change beside them."""
    owners = defaultdict[int, list[tuple[Spot, int]]](list)
    for number, change in enumerate(changes):
        for spot in change.spots:
            owners[spot[0]].append((spot, number))
    for number, change in enumerate(changes):
        if not all(_is_leftover(change, spot) for spot in change.spots):
            continue
        hosts = Counter[int]()
        for spot in change.spots:
            others = [(other, owner) for other, owner in owners[spot[0]] if owner != number]
            beside = _find_beside(change, spot, others)
            if not beside and others and _is_speck(change, spot):
                beside = [max({owner for _, owner in others}, key=lambda owner: len(changes[owner].spots))]
            hosts.update(beside)
        if hosts:
            [(host, count)] = hosts.most_common(1)
            if 2 * count >= len(change.spots):
                yield changes[host], change


def _is_speck(change: Change, spot: Spot) -> bool:
    """Return whether a piece is a short sliver where content moved: the end of a bar, a pixel of a corner."""
    piece, shot = change.piece(spot), change.shots[spot[0]]
    return is_sliver(piece) and max(piece.box[2:]) <= _SPECK and bool(shot.result.moves)


def _is_leftover(change: Change, spot: Spot) -> bool:
    piece = change.piece(spot)
    return is_sliver(piece) or is_beside_moved_words(change.shots[spot[0]], piece)


def _find_beside(change: Change, spot: Spot, others: Iterable[tuple[Spot, int]]) -> list[int]:
    """Return the number of the change that is the nearest, if one is near enough."""
    shot, piece = change.shots[spot[0]], change.piece(spot)
    x, y, width, height = place_of(shot, piece)
    reach = _LEFTOVER if is_sliver(piece) else _LEFTOVER_WORD
    near = []
    for other, number in others:
        left, top, wide, high = place_of(shot, change.piece(other))
        across = max(x, left) - min(x + width, left + wide)
        down = max(y, top) - min(y + height, top + high)
        if across <= reach and down <= _LEFTOVER:
            near.append((max(down, 0), max(across, 0), number))
    return [min(near)[2]] if near else []


def _find_contained(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Yield changes of which one has all the shapes of the other, and is in all its shots."""
    classes = classify({shape for change in changes for shape in change.shapes})
    sets = [{classes[shape] for shape in change.shapes} for change in changes]
    index = defaultdict[int, list[int]](list)
    for number, members in enumerate(sets):
        for member in members:
            index[member].append(number)
    for number, members in enumerate(sets):
        change = changes[number]
        if not members or min(shape.width for shape in change.shapes) <= _MEANINGLESS:
            continue
        for other in index[min(members, key=lambda member: len(index[member]))]:
            larger = changes[other]
            if (
                members < sets[other]
                and change.families <= larger.families
                and change.by_shot.keys() <= larger.by_shot.keys()
            ):
                yield larger, change


def _find_caused(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Yield changes with what they push out of view or reveal in most of its shots."""
    owners = {spot: number for number, change in enumerate(changes) for spot in change.spots}
    votes = Counter[tuple[int, int]]()
    for number in {shot for shot, _ in owners}:
        pushed = find_pushed(changes[0].shots[number])
        spots = [((number, cause), (number, effect)) for cause, effect in pushed]
        votes.update({(owners[one], owners[other]) for one, other in spots if {one, other} <= owners.keys()})
    for (cause, effect), count in votes.items():
        if cause != effect and 2 * count >= len(changes[effect].by_shot):
            yield changes[cause], changes[effect]


# Viewports


_OfPage = dict[str, dict[int, Spot]]
"""For each viewport of a page, the first piece of each change, by the change's number."""


def _find_in_other_viewports(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Yield changes that most of their pages have instead of each other in two viewports."""
    pages = defaultdict[str, _OfPage](lambda: defaultdict(dict))
    for number, change in enumerate(changes):
        for spot in change.spots:
            shot = change.shots[spot[0]].shot
            pages[shot.name][shot.viewport].setdefault(number, spot)
    votes = defaultdict[tuple[int, int], set[str]](set)
    for name, page in pages.items():
        for here, there in combinations(sorted(page), 2):
            ours, theirs = _without(page[here], page[there]), _without(page[there], page[here])
            if max(len(ours), len(theirs)) <= _MOST_VARIANTS:
                for pair in _find_variants(changes, ours, theirs):
                    votes[pair].add(name)
    for (one, other), names in votes.items():
        if 2 * len(names) >= max(len(changes[one].names), len(changes[other].names)):
            yield changes[one], changes[other]


def _without(changes: Mapping[int, Spot], others: Mapping[int, Spot]) -> dict[int, Spot]:
    return {number: spot for number, spot in changes.items() if number not in others}


def _find_variants(
    changes: Sequence[Change], ours: dict[int, Spot], theirs: dict[int, Spot]
) -> Iterator[tuple[int, int]]:
    """Yield changes that a page has instead of each other in two viewports.

    They come in the same order, but only a change of this page alone, or content that came or went, is sure
    to be in both viewports.
    """
    for family in _FAMILIES:
        left, right = (
            [
                number
                for number in _from_the_top(changes, side)
                if family in changes[number].families
                and (len(changes[number].names) == 1 or changes[number].only_came_or_went)
            ]
            for side in (ours, theirs)
        )
        yield from zip(left, right, strict=False)


def _from_the_top(changes: Sequence[Change], spots: Mapping[int, Spot]) -> list[int]:
    boxes = {number: changes[number].piece(spot).box for number, spot in spots.items()}
    return sorted(boxes, key=lambda number: (boxes[number][1], boxes[number][0]))


# Pages that changed everywhere


def _find_scattered(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    by_name = defaultdict[str, list[Change]](list)
    for change in changes:
        if len(change.names) == 1 and change.kinds != {"recolored"}:
            by_name[next(iter(change.names))].append(change)
    for some in by_name.values():
        if len(some) > _MOST_PLACES:
            yield from pairwise(some)
