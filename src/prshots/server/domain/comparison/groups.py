"""Groups the shots of a comparison by their change, to show the same change once."""

import hashlib
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import GroupKind, ShotGroup, Verdict
from prshots.server.domain.comparison.models import PlannedShot
from prshots.server.domain.images.models import ShotKey

_BY_NAME = {Verdict.NEW: GroupKind.NEW, Verdict.REMOVED: GroupKind.REMOVED}
_BY_LOOK = {Verdict.CHANGED, Verdict.MOVED}

_ORDER = {kind: place for place, kind in enumerate(GroupKind)}
_SHARED = {GroupKind.SAME_PIXELS, GroupKind.INSERTED}
"""The smallest group of either kind comes first: a change in one place is more often a surprise."""

_SIMILAR = 1.5
"""The largest ratio of the areas that a change has in two themes or viewports."""
_THEME_SHARE = 0.5
"""If a table of colors explains this share of an image, the theme changed."""
_MAIN_SHARE = 0.2
"""A main entry of a table has at least this share of the pixels that follow it."""
_LISTED = 3
"""How many names or colors a title lists."""

_Shots = list[PlannedShot]
_Entry = tuple[str, str]
"""An old color and the new one."""


@dataclass(frozen=True, slots=True)
class GroupedShots:
    """The groups in the order to review them, and the id of each shot's group.

    `in_several` are hashes of what close-ups of several groups show.
    """

    groups: Sequence[ShotGroup]
    id_of: Mapping[ShotKey, str]
    in_several: Collection[str]


def group_shots(shots: Collection[PlannedShot]) -> GroupedShots:
    ordered = sorted(
        (shot for shot in shots if shot.result.verdict in {*_BY_NAME, *_BY_LOOK}),
        key=lambda shot: shot_key(*shot.shot),
    )
    found = [
        (kind, members)
        for verdict, kind in _BY_NAME.items()
        for members in _collect((shot.shot.name, shot) for shot in ordered if shot.result.verdict is verdict)
    ]
    compared = [shot for shot in ordered if shot.result.verdict in _BY_LOOK]
    recolored = _find_recolored(compared)
    found += [(GroupKind.RECOLORED, members) for members in recolored]
    taken = {shot.shot for members in recolored for shot in members}
    changes = _find_changes([shot for shot in compared if shot.shot not in taken])
    found += [(_kind_of(members), members) for members in changes]
    groups, id_of = list[ShotGroup](), dict[ShotKey, str]()
    for kind, members in sorted(found, key=_priority):
        group_id = hashlib.sha256(f"{kind} {_key_of(kind, members)}".encode()).hexdigest()[:12]
        title = _title_of(kind, members)
        groups.append(ShotGroup(group_id, kind, len(members), _names(members), title))
        id_of |= dict.fromkeys((shot.shot for shot in members), group_id)
    return GroupedShots(groups, id_of, _find_in_several(ordered, id_of))


def _find_in_several(shots: _Shots, id_of: Mapping[ShotKey, str]) -> Collection[str]:
    seen = {(shown, id_of[shot.shot]) for shot in shots for shown in shot.result.traits.closeups}
    return {shown for shown, groups in Counter(shown for shown, _ in seen).items() if groups > 1}


def _priority(group: tuple[GroupKind, _Shots]) -> tuple[object, ...]:
    kind, shots = group
    place, size = (_ORDER[GroupKind.SAME_PIXELS], len(shots)) if kind in _SHARED else (_ORDER[kind], 0)
    return place, size, _ORDER[kind], shot_key(*shots[0].shot)


def _key_of(kind: GroupKind, shots: _Shots) -> object:
    """Return what no other group of this kind has, and what stays the same if more shots join the group."""
    if kind in _SHARED:
        return min((shot.result.traits.regions, shot.result.traits.rows) for shot in shots)
    if kind is GroupKind.RECOLORED:
        main = {entry for shot in shots for entry in _main_entries(shot)}
        return next(entry for entry in _sum_entries(shots) if entry in main)
    return shots[0].shot.name


def _collect(keyed: Iterable[tuple[Hashable, PlannedShot]]) -> list[_Shots]:
    """Return the shots of each key, in order."""
    collected: dict[Hashable, _Shots] = {}
    for key, shot in keyed:
        collected.setdefault(key, []).append(shot)
    return [*collected.values()]


def _names(shots: _Shots) -> list[str]:
    return list(dict.fromkeys(shot.shot.name for shot in shots))


# The same pixels and the same rows


def _find_changes(shots: _Shots) -> list[_Shots]:
    """Return the shots of each change.

    A change looks different in another theme or viewport. So two looks with the same names are one change
    if they are about the same size. All looks of a single name are one change.
    """
    found: dict[frozenset[str], list[_Shots]] = {}
    for look in _collect((_look_of(shot), shot) for shot in shots):
        names = frozenset(_names(look))
        changes = found.setdefault(names, [])
        same = [change for change in changes if len(names) == 1 or _is_variant(change[0], look[0])]
        if same:
            same[0].extend(look)
        else:
            changes.append(look)
    return [change for changes in found.values() for change in changes]


def _look_of(shot: PlannedShot) -> Hashable:
    """Return an equal value for shots with the same pixels and rows. A shot without traits has its own."""
    traits = shot.result.traits
    return (traits.regions, traits.rows) if traits.regions or traits.rows else shot.shot


def _is_variant(one: PlannedShot, other: PlannedShot) -> bool:
    if _only_moved(one) and _only_moved(other):  # text wraps differently, so the number of rows differs
        return True
    smaller, larger = sorted(sum(w * h for _, _, w, h in shot.result.regions) for shot in (one, other))
    return larger <= _SIMILAR * smaller


def _only_moved(shot: PlannedShot) -> bool:
    return bool(shot.result.traits.rows) and not shot.result.traits.regions


def _kind_of(change: _Shots) -> GroupKind:
    if len(change) == 1:
        return GroupKind.SINGLE
    if all(map(_only_moved, change)):
        return GroupKind.INSERTED
    is_same = len({_look_of(shot) for shot in change}) == 1 or len(_names(change)) > 1
    return GroupKind.SAME_PIXELS if is_same else GroupKind.SINGLE


# Colors


def _find_recolored(shots: _Shots) -> list[_Shots]:
    """Return the shots of each table of colors that is a theme, or that changes several names differently.

    A button with a new color is the same change on every page, not a theme.
    """
    number_of = {shot.shot: number for number, same in enumerate(_find_changes(shots)) for shot in same}
    return [
        table
        for table in _join_by_main_entries([shot for shot in shots if _is_recolored(shot)])
        if any(shot.result.traits.share >= _THEME_SHARE for shot in table)
        or (len(_names(table)) > 1 and len({number_of[shot.shot] for shot in table}) > 1)
    ]


def _is_recolored(shot: PlannedShot) -> bool:
    return bool(shot.result.traits.colors) and not shot.result.traits.more_than_colors


def _main_entries(shot: PlannedShot) -> list[_Entry]:
    """Return the largest entries of the shot's table, at least one."""
    colors = shot.result.traits.colors
    least = min(colors[0].pixels, _MAIN_SHARE * sum(change.pixels for change in colors))
    return [(change.old, change.new) for change in colors if change.pixels >= least]


def _join_by_main_entries(shots: _Shots) -> list[_Shots]:
    """Return the shots that share a main entry, directly or through other shots."""
    parents: dict[_Entry, _Entry] = {}

    def root(entry: _Entry) -> _Entry:
        while (parent := parents.setdefault(entry, entry)) != entry:
            entry = parent
        return entry

    for shot in shots:
        first, *others = _main_entries(shot)
        for other in others:
            parents[root(other)] = root(first)
    return _collect((root(_main_entries(shot)[0]), shot) for shot in shots)


def _sum_entries(shots: _Shots) -> list[_Entry]:
    """Return the entries of all shots, most pixels first."""
    pixels = Counter[_Entry]()
    for shot in shots:
        pixels.update({(old, new): count for old, new, count in shot.result.traits.colors})
    return [entry for entry, _ in pixels.most_common()]


# Titles


def _title_of(kind: GroupKind, shots: _Shots) -> str:
    where, screenshots = _list(_names(shots)), _count([len(shots)], "screenshot")
    if kind is GroupKind.REMOVED:
        return f"{where}: {screenshots} removed"
    if kind is GroupKind.NEW:
        return f"{where}: {_count([len(shots)], 'new screenshot')}"
    if kind is GroupKind.RECOLORED:
        themes = {shot.shot.theme for shot in shots}
        noun = f"{themes.pop() if len(themes) == 1 else ''} screenshot".lstrip()
        colors = _list([f"{old} → {new}" for old, new in _sum_entries(shots)])
        return f"{_count([len(shots)], noun)} recolored: {colors}"
    if all(map(_only_moved, shots)):
        shifts = [shot.result.shift for shot in shots]
        verb = "inserted" if max(shifts) > 0 else "removed"
        return f"{where}: {_range([abs(shift) for shift in shifts])} px {verb} in {screenshots}"
    besides = " besides the new colors" if any(shot.result.traits.more_than_colors for shot in shots) else ""
    regions = _count([len(shot.result.regions) for shot in shots], "region")
    return f"{where}: {regions} in {screenshots}{besides}"


def _list(items: Sequence[str]) -> str:
    if len(items) <= _LISTED:
        return ", ".join(items)
    return f"{', '.join(items[: _LISTED - 1])} and {len(items) - _LISTED + 1} more"


def _range(numbers: Collection[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{most}" if least == most else f"{least} to {most}"


def _count(numbers: Collection[int], noun: str) -> str:
    return f"{_range(numbers)} {noun}{'' if max(numbers) == 1 else 's'}"
