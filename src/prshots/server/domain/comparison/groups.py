"""Group the changes of a comparison, to show each of them once. A shot can be in several groups."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prshots.contract.limits import VIEWPORT
from prshots.contract.natural_order import shot_key
from prshots.contract.replies import GroupKind, ShotGroup, ShotPart, Verdict
from prshots.server.domain.comparison.causes import find_wrapped, has_wrapped_lines, is_sliver
from prshots.server.domain.comparison.changes import Change, Spot, find_changes
from prshots.server.domain.comparison.group_titles import NEARLY_ALL, find_main_pieces, size_of, write_title
from prshots.server.domain.comparison.likeness import Joined, look_of
from prshots.server.domain.comparison.models import ColorChange, PlannedShot
from prshots.server.domain.images.models import ShotKey

_BY_NAME = {Verdict.NEW: GroupKind.NEW, Verdict.REMOVED: GroupKind.REMOVED}
_BY_LOOK = {Verdict.CHANGED, Verdict.MOVED}

_ORDER = {kind: place for place, kind in enumerate(GroupKind)}
_SHARED = {GroupKind.SAME_PIXELS, GroupKind.INSERTED}
"""The smallest group of either kind comes first: a change in one place is more often a surprise."""

_THEME_SHARE = 0.5
"""If the table of colors explains this share of an image, the theme changed."""
_MAIN_SHARE = 0.2
"""A main entry of a table has at least this share of the pixels that follow it."""
_SAME_BUTTON = 0.9
"""The least share of the recolored pieces that look alike, if one button was recolored and not a theme."""
_NEARLY_REDRAWN, _MOST_OF_PAGE = 4, 0.6
"""How many pieces changed, or which share of the page, if other pages are redrawn."""
_CAUSES = 6
"""How many of a shot's largest moves say why its content moved."""
_MOVING = 0.5
"""The least share of the shots in which content moved, if it moved because of what came in or went."""

_Entry = tuple[str, str]
"""An old color and the new one."""


@dataclass(frozen=True, slots=True)
class GroupedShots:
    """The groups in the order to review them, and the parts of each shot in the same order."""

    groups: Sequence[ShotGroup]
    parts: Mapping[ShotKey, Sequence[ShotPart]]

    def ids_of(self, shot: ShotKey) -> list[str]:
        return [part.group for part in self.parts.get(shot, ())]


@dataclass(frozen=True, slots=True)
class _Group:
    """`pieces` are the numbers of a shot's pieces, for the number of each shot."""

    kind: GroupKind
    key: Hashable
    pieces: Mapping[int, Sequence[int]]
    colors: Sequence[_Entry] = field(default=())


def group_shots(shots: Collection[PlannedShot]) -> GroupedShots:
    ordered = sorted(
        (shot for shot in shots if shot.result.verdict in {*_BY_NAME, *_BY_LOOK}),
        key=lambda shot: shot_key(*shot.shot),
    )
    redrawn = _find_redrawn(ordered)
    found = [*_group_by_name(ordered), *_group_changes(ordered, redrawn)]
    if redrawn:
        found.append(_Group(GroupKind.REDRAWN, "", redrawn))
    found += _group_moved(ordered, {number for group in found for number in group.pieces})
    places = [_number_pieces(shot) for shot in ordered]
    groups, parts = list[ShotGroup](), defaultdict[ShotKey, list[ShotPart]](list)
    for group in sorted(found, key=lambda each: _priority(ordered, each)):
        group_id = hashlib.sha256(f"{group.kind} {group.key}".encode()).hexdigest()[:12]
        members = [(ordered[number], pieces) for number, pieces in group.pieces.items()]
        names = list(dict.fromkeys(shot.shot.name for shot, _ in members))
        title = write_title(group.kind, members, [f"{old} → {new}" for old, new in group.colors])
        groups.append(ShotGroup(group_id, group.kind, len(members), names, title))
        for number, pieces in group.pieces.items():
            shot = ordered[number]
            parts[shot.shot].append(_make_part(group_id, shot, pieces, places[number]))
    return GroupedShots(groups, parts)


def _priority(shots: Sequence[PlannedShot], group: _Group) -> tuple[object, ...]:
    kind, size = group.kind, len(group.pieces)
    place, size = (_ORDER[GroupKind.SAME_PIXELS], size) if kind in _SHARED else (_ORDER[kind], 0)
    first = min(group.pieces)
    return place, size, _ORDER[kind], shot_key(*shots[first].shot), min(group.pieces[first], default=0)


def _number_pieces(shot: PlannedShot) -> list[int]:
    """Return the index of each piece among the shot's regions, or among what is gone."""
    counts, places = Counter[bool](), []
    for piece in shot.result.pieces:
        is_gone = piece.kind == "gone"
        places.append(counts[is_gone])
        counts[is_gone] += 1
    return places


def _make_part(group: str, shot: PlannedShot, pieces: Sequence[int], places: Sequence[int]) -> ShotPart:
    gone = [places[number] for number in pieces if shot.result.pieces[number].kind == "gone"]
    regions = [places[number] for number in pieces if shot.result.pieces[number].kind != "gone"]
    return ShotPart(group, regions, gone, _choose_closeup(shot, {*pieces}))


def _choose_closeup(shot: PlannedShot, pieces: Collection[int]) -> int | None:
    """Return the close-up that shows the most of these pieces and the fewest others."""

    def rank(number: int) -> tuple[int, int]:
        shown = shot.result.closeups[number].pieces
        return sum(piece in pieces for piece in shown), -len(shown)

    best = max(range(len(shot.result.closeups)), key=rank, default=None)
    return best if best is not None and rank(best)[0] else None


# New and removed shots, and those in which nearly everything is drawn in another way


def _group_by_name(shots: Sequence[PlannedShot]) -> Iterable[_Group]:
    """Yield a group for each name that is new or removed, or is only known to have changed."""
    members = defaultdict[tuple[GroupKind, str], dict[int, Sequence[int]]](dict)
    for number, shot in enumerate(shots):
        verdict, result = shot.result.verdict, shot.result
        if verdict in _BY_NAME:
            members[_BY_NAME[verdict], shot.shot.name][number] = ()
        elif not result.pieces and not result.moves:
            members[GroupKind.SINGLE, shot.shot.name][number] = ()
    for (kind, name), pieces in members.items():
        yield _Group(kind, name, pieces)


def _find_redrawn(shots: Sequence[PlannedShot]) -> dict[int, Sequence[int]]:
    """Return the pieces of the shots that are redrawn, or in which text wraps at other places.

    With those of the same pages in which less text has no equal.
    """
    names = {shot.shot.name for shot in shots if shot.result.is_redrawn}
    if names:
        names |= {shot.shot.name for shot in shots if _is_nearly_redrawn(shot)}
    found: dict[int, Sequence[int]] = {}
    for number, shot in enumerate(shots):
        if shot.shot.name in names and any(piece.kind != "recolored" for piece in shot.result.pieces):
            found[number] = range(len(shot.result.pieces))
        elif wrapped := find_wrapped(shot):
            slivers = [place for place, piece in enumerate(shot.result.pieces) if is_sliver(piece)]
            found[number] = sorted({*wrapped, *slivers})
    for number, shot in enumerate(shots):
        if found and number not in found and not shot.result.pieces and has_wrapped_lines(shot):
            found[number] = ()
    return found


def _is_nearly_redrawn(shot: PlannedShot) -> bool:
    """Return whether text changed all over the page, or most of it did: beside redrawn pages, it is one."""
    width, height = size_of(shot)
    changed = [piece for piece in shot.result.pieces if piece.kind == "changed" and piece.shapes]
    tops = [piece.box[1] for piece in changed]
    if len(changed) >= _NEARLY_REDRAWN and max(tops) - min(tops) >= height / 2:
        return True
    return any(piece.box[2] * piece.box[3] >= _MOST_OF_PAGE * width * height for piece in changed)


# Changes


def _group_changes(shots: Sequence[PlannedShot], redrawn: Mapping[int, Sequence[int]]) -> Iterable[_Group]:
    only_moved = _find_moved(shots)
    spots = [
        (number, index)
        for number, shot in enumerate(shots)
        if number not in only_moved
        for index in range(len(shot.result.pieces))
        if index not in redrawn.get(number, ())
    ]
    tables = _find_tables(shots, spots)
    themes = [table for table in tables if _is_theme(shots, table)]
    of_themes = {spot for theme in themes for spot in theme}
    one_page = [table for table in tables if table not in themes and len(_names(shots, table)) == 1]
    others = [spot for spot in spots if spot not in of_themes]
    changes = find_changes(shots, others, one_page)
    shared = [table for table in tables if table not in themes and table not in one_page]
    for table in shared:
        if not _is_button(table, changes):
            themes.append(table)
            of_themes.update(table)
    for theme in themes:
        yield _make_recolored(shots, theme)
    left = [[spot for spot in change.spots if spot not in of_themes] for change in changes]
    groups = [_make_change(Change(shots, spots)) for spots in left if spots]
    left_moved = [number for number in only_moved if number not in redrawn]
    pushed = _find_pushed(shots, groups, left_moved)
    for group in groups:
        yield replace(group, pieces={**group.pieces, **dict.fromkeys(pushed[id(group)], ())})


def _names(shots: Sequence[PlannedShot], spots: Iterable[Spot]) -> set[str]:
    return {shots[shot].shot.name for shot, _ in spots}


def _make_change(change: Change) -> _Group:
    first_look = min(map(repr, {look_of(change.piece(spot)) for spot in change.spots}))
    if len(change.names) == 1:
        return _Group(GroupKind.SINGLE, (*change.names, first_look), change.by_shot)
    moving = sum(bool(change.shots[shot].result.moves) for shot in change.by_shot)
    main = [
        piece
        for shot, numbers in change.by_shot.items()
        for piece in find_main_pieces(change.shots[shot], numbers)
    ]
    came_or_went = sum(piece.kind in {"came", "gone"} for piece in main)
    is_inserted = came_or_went >= NEARLY_ALL * len(main) and moving >= _MOVING * len(change.by_shot)
    kind = GroupKind.INSERTED if is_inserted else GroupKind.SAME_PIXELS
    return _Group(kind, first_look, change.by_shot)


# Colors


def _find_tables(shots: Sequence[PlannedShot], spots: Sequence[Spot]) -> list[list[Spot]]:
    """Return the recolored pieces of each table of colors. Shots that share a main entry have the same."""
    recolored = defaultdict[int, list[Spot]](list)
    for shot, index in spots:
        if shots[shot].result.colors and shots[shot].result.pieces[index].kind == "recolored":
            recolored[shot].append((shot, index))
    numbers = [*recolored]
    joined, firsts = Joined(len(numbers)), dict[_Entry, int]()
    for place, number in enumerate(numbers):
        for entry in _main_entries(shots[number].result.colors):
            joined.join(firsts.setdefault(entry, place), place)
    return [[spot for place in same for spot in recolored[numbers[place]]] for same in joined.sets()]


def _main_entries(colors: Sequence[ColorChange]) -> list[_Entry]:
    """Return the largest entries of a table, at least one."""
    most = max(change.pixels for change in colors)
    least = min(most, _MAIN_SHARE * sum(change.pixels for change in colors))
    return [(change.old, change.new) for change in colors if change.pixels >= least]


def _is_theme(shots: Sequence[PlannedShot], table: Iterable[Spot]) -> bool:
    """Return whether one of the shots has new colors nearly everywhere."""
    return any(_share_recolored(shots[number]) >= _THEME_SHARE for number in {shot for shot, _ in table})


def _share_recolored(shot: PlannedShot) -> float:
    """Return the share of the image that follows the table of colors.

    The size of a full page isn't known. It's at least that of the viewport, and reaches to the last piece.
    """
    width = height = 1
    if VIEWPORT.fullmatch(shot.shot.viewport):
        width, height = map(int, shot.shot.viewport.split("x"))
    for x, y, wide, high in (piece.box for piece in shot.result.pieces):
        width, height = max(width, x + wide), max(height, y + high)
    return sum(change.pixels for change in shot.result.colors) / (width * height)


def _is_button(table: Collection[Spot], changes: Sequence[Change]) -> bool:
    """Return whether the table only recolors the same piece of several pages."""
    of_table = {*table}
    most = max(sum(spot in of_table for spot in change.spots) for change in changes)
    return most >= _SAME_BUTTON * len(of_table)


def _make_recolored(shots: Sequence[PlannedShot], table: Sequence[Spot]) -> _Group:
    pieces, pixels, main = defaultdict[int, list[int]](list), Counter[_Entry](), set[_Entry]()
    for shot, index in table:
        pieces[shot].append(index)
    for shot in pieces:
        colors = shots[shot].result.colors
        pixels.update({(old, new): count for old, new, count in colors})
        main.update(_main_entries(colors))
    entries = [entry for entry, _ in pixels.most_common()]
    return _Group(GroupKind.RECOLORED, next(entry for entry in entries if entry in main), pieces, entries)


# Moves


def _group_moved(shots: Sequence[PlannedShot], grouped: Collection[int]) -> Iterable[_Group]:
    """Yield groups of the shots in which content only stands elsewhere.

    Shots with the same offset are together. A page's viewports are as well: where text wraps differently, an
    empty row has another height. And so are shots in which content moved as far to the side.
    """
    moved = [number for number in _find_moved(shots) if number not in grouped]
    joined, firsts = Joined(len(moved)), dict[Hashable, int]()
    for place, number in enumerate(moved):
        dx, dy = shots[number].result.moves[0][4:]
        causes: list[Hashable] = [(dx, dy), (shots[number].shot.name, _sign(dx), _sign(dy))]
        causes += [("aside", move[4]) for move in shots[number].result.moves[:_CAUSES] if move[4]]
        for cause in causes:
            joined.join(firsts.setdefault(cause, place), place)
    for same in joined.sets():
        numbers = [moved[place] for place in same]
        offset = min(tuple(shots[number].result.moves[0][4:]) for number in numbers)
        pieces = {number: range(len(shots[number].result.pieces)) for number in numbers}
        yield _Group(GroupKind.MOVED, offset, pieces)


def _find_moved(shots: Sequence[PlannedShot]) -> list[int]:
    """Return the shots in which content only stands elsewhere, and may have left slivers at its edges."""
    return [
        number
        for number, shot in enumerate(shots)
        if shot.result.moves and all(is_sliver(piece) for piece in shot.result.pieces)
    ]


def _find_pushed(
    shots: Sequence[PlannedShot], groups: Sequence[_Group], moved: Iterable[int]
) -> Mapping[int, list[int]]:
    """Return the shots in which content moved because of what came in or went, by the `id()` of that group.

    Those pieces are out of view here, but not where content moved as far or the same page is shown.
    """
    found = defaultdict[int, list[int]](list)
    pushing = [(group, _find_offsets(shots, group)) for group in groups]
    pushing = [(group, offsets) for group, offsets in pushing if offsets]
    for number in moved:
        dx, dy = shots[number].result.moves[0][4:]
        causes = [
            group
            for group, _ in pushing
            if shots[number].shot.name in {shots[other].shot.name for other in group.pieces}
        ] or [
            group
            for group, offsets in pushing
            if group.kind in _SHARED and abs(dy) > 1 and any(dx == x and abs(dy - y) <= 1 for x, y in offsets)
        ]
        if len(causes) == 1:
            found[id(causes[0])].append(number)
    return found


def _find_offsets(shots: Sequence[PlannedShot], group: _Group) -> set[tuple[int, int]]:
    """Return how far content moved up or down where something came in or went."""
    pieces = [piece for number, of in group.pieces.items() for piece in find_main_pieces(shots[number], of)]
    if not {piece.kind for piece in pieces} <= {"came", "gone"}:
        return set()
    return {
        (dx, dy) for number in group.pieces for *_, dx, dy in shots[number].result.moves[:1] if abs(dy) > 1
    }


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
