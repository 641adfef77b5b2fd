"""Groups the shots of a comparison by their change, to show the same change once.

The traits of the shots decide, never a comparison of two shots: thousands of shots take milliseconds.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import GroupKind, ShotGroup, Verdict
from prshots.server.domain.comparison.models import ColorChange, PlannedShot
from prshots.server.domain.images.models import ShotKey

_BY_NAME = {Verdict.NEW: GroupKind.NEW, Verdict.REMOVED: GroupKind.REMOVED}
_COMPARED = {Verdict.CHANGED, Verdict.MOVED}

_ORDER = {
    GroupKind.REMOVED: 0,
    GroupKind.SINGLE: 1,
    GroupKind.SAME_PIXELS: 2,
    GroupKind.INSERTED: 2,
    GroupKind.NEW: 3,
    GroupKind.RECOLORED: 4,
}

_THEME_SHARE = 0.5
"""A shot has another theme if at least this share of its pixels follows a table of colors."""
_MAIN_SHARE = 0.2
"""A main entry of a table has at least this share of the pixels that follow it."""

_MOST_NAMES, _MOST_COLORS = 2, 2
"""How many names and colors a title lists."""

_Shots = list[PlannedShot]


@dataclass(frozen=True, slots=True)
class GroupedShots:
    """The groups in the order in which to look at them, and the group of each shot by its id."""

    groups: Sequence[ShotGroup]
    id_of: Mapping[ShotKey, str]


def group_shots(shots: Collection[PlannedShot]) -> GroupedShots:
    ordered = sorted(shots, key=lambda shot: shot_key(*shot.shot))
    found = [
        (kind, members)
        for verdict, kind in _BY_NAME.items()
        for members in _collect((shot.shot.name, shot) for shot in ordered if shot.result.verdict == verdict)
    ]
    compared = [shot for shot in ordered if shot.result.verdict in _COMPARED]
    recolored = _find_recolored(compared)
    found += [(GroupKind.RECOLORED, members) for members in recolored]
    taken = {shot.shot for members in recolored for shot in members}
    rest = _find_same([shot for shot in compared if shot.shot not in taken])
    found += [(_kind_of(members), members) for members in rest]
    groups, id_of = list[ShotGroup](), dict[ShotKey, str]()
    for kind, members in sorted(found, key=_urgency):
        group = _describe(kind, members)
        groups.append(group)
        id_of |= dict.fromkeys((shot.shot for shot in members), group.id)
    return GroupedShots(groups, id_of)


def _collect(keyed: Iterable[tuple[Hashable, PlannedShot]]) -> list[_Shots]:
    """Return the shots of each key, in the order of their first ones."""
    collected: dict[Hashable, _Shots] = {}
    for key, shot in keyed:
        collected.setdefault(key, []).append(shot)
    return [*collected.values()]


def _names(shots: Iterable[PlannedShot]) -> list[str]:
    return list(dict.fromkeys(shot.shot.name for shot in shots))


def _look_of(shot: PlannedShot) -> Hashable:
    """Return a key that is equal for shots with the same change. A shot without traits is like no other."""
    traits = shot.result.traits
    return (traits.regions, traits.rows) if traits.regions or traits.rows else shot.shot


def _find_same(shots: _Shots) -> list[_Shots]:
    """Return the shots that show the same change.

    A change looks different in another theme or viewport. So several looks on the same names are one change,
    and everything that only one name has is one group.
    """
    looks = _collect((_look_of(shot), shot) for shot in shots)
    by_names: dict[frozenset[str], _Shots] = {}
    for look in looks:
        by_names.setdefault(frozenset(_names(look)), []).extend(look)
    return [*by_names.values()]


def _kind_of(shots: _Shots) -> GroupKind:
    if len(shots) > 1 and all(_only_moved(shot) for shot in shots):
        return GroupKind.INSERTED
    is_one_look = len({_look_of(shot) for shot in shots}) == 1
    if len(shots) > 1 and (is_one_look or len(_names(shots)) > 1):
        return GroupKind.SAME_PIXELS
    return GroupKind.SINGLE


def _only_moved(shot: PlannedShot) -> bool:
    return bool(shot.result.traits.rows) and not shot.result.traits.regions


# Recolored shots


def _find_recolored(shots: _Shots) -> list[_Shots]:
    """Return the shots of each table of colors.

    A table is a recoloring if it covers most of a shot, or if several names have it at different places. A
    single button that has another color isn't.
    """
    change_of = {shot.shot: index for index, same in enumerate(_find_same(shots)) for shot in same}
    tables = _join_by_main_colors([shot for shot in shots if shot.result.traits.colors])
    return [
        table
        for table in tables
        if any(shot.result.traits.share >= _THEME_SHARE for shot in table)
        or (len(_names(table)) > 1 and len({change_of[shot.shot] for shot in table}) > 1)
    ]


def _main_colors(shot: PlannedShot) -> list[tuple[str, str]]:
    colors = shot.result.traits.colors
    least = _MAIN_SHARE * sum(each.pixels for each in colors)
    return [(each.old, each.new) for each in colors if each.pixels >= least] or [colors[0][:2]]


def _join_by_main_colors(shots: _Shots) -> list[_Shots]:
    """Return the shots that share a main entry, directly or through others."""
    parents: dict[tuple[str, str], tuple[str, str]] = {}

    def root(entry: tuple[str, str]) -> tuple[str, str]:
        while (parent := parents.setdefault(entry, entry)) != entry:
            entry = parent
        return entry

    for shot in shots:
        first, *others = _main_colors(shot)
        for other in others:
            parents[root(other)] = root(first)
    return _collect((root(_main_colors(shot)[0]), shot) for shot in shots)


# What a reviewer reads


def _urgency(group: tuple[GroupKind, _Shots]) -> tuple[object, ...]:
    """Sort by kind. A change in few places comes first: it's more often a surprise than one in many."""
    kind, shots = group
    is_shared = kind in {GroupKind.SAME_PIXELS, GroupKind.INSERTED}
    return _ORDER[kind], len(shots) if is_shared else 0, shot_key(*shots[0].shot)


def _describe(kind: GroupKind, shots: _Shots) -> ShotGroup:
    names = _names(shots)
    key = _key_of(kind, shots)
    group_id = hashlib.sha256(f"{kind} {key}".encode()).hexdigest()[:12]
    return ShotGroup(group_id, kind, len(shots), names, _title_of(kind, shots, names))


def _key_of(kind: GroupKind, shots: _Shots) -> str:
    """Return what stays the same about a group when more shots join it."""
    match kind:
        case GroupKind.SAME_PIXELS | GroupKind.INSERTED:
            return min(f"{shot.result.traits.regions} {shot.result.traits.rows}" for shot in shots)
        case GroupKind.RECOLORED:
            return str(_sum_colors(shots)[0][:2])
        case _:
            return shots[0].shot.name


def _title_of(kind: GroupKind, shots: _Shots, names: list[str]) -> str:
    where, screenshots = _list(names, _MOST_NAMES), _count(len(shots), "screenshot")
    match kind:
        case GroupKind.NEW:
            return f"{where}: {_count(len(shots), 'new screenshot')}"
        case GroupKind.REMOVED:
            return f"{where}: {screenshots} removed"
        case GroupKind.INSERTED:
            return f"{where}: {_moved_rows(shots)} in {screenshots}"
        case GroupKind.RECOLORED:
            themes = {shot.shot.theme for shot in shots}
            theme = f"{themes.pop()} " if len(themes) == 1 else ""
            colors = [f"{old} → {new}" for old, new, _ in _sum_colors(shots)]
            return f"{_count(len(shots), f'{theme}screenshot')} recolored: {_list(colors, _MOST_COLORS)}"
        case _:
            regions = [len(shot.result.regions) for shot in shots]
            return f"{where}: {_count_range(regions, 'region')} in {screenshots}"


def _sum_colors(shots: _Shots) -> list[ColorChange]:
    """Return the entries of the group's table, most pixels first."""
    pixels = Counter[tuple[str, str]]()
    for shot in shots:
        pixels.update({(old, new): count for old, new, count in shot.result.traits.colors})
    return [ColorChange(old, new, count) for (old, new), count in pixels.most_common()]


def _moved_rows(shots: _Shots) -> str:
    shifts = [shot.result.shift for shot in shots]
    verb = "inserted" if max(shifts) > 0 else "removed"
    return f"{_range([abs(shift) for shift in shifts])} px {verb}"


def _list(items: Sequence[str], most: int) -> str:
    left = len(items) - most
    shown = ", ".join(items[:most])
    return f"{shown} and {left} more" if left > 0 else shown


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{most}" if least == most else f"{least} to {most}"


def _count_range(numbers: Sequence[int], noun: str) -> str:
    return f"{_range(numbers)} {noun}{'s' * (max(numbers) != 1)}"


def _count(number: int, noun: str) -> str:
    return _count_range([number], noun)
