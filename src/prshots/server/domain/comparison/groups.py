"""Groups the shots of a comparison by their change, to show the same change once."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import GroupKind, ShotGroup, Verdict
from prshots.server.domain.comparison.models import PlannedShot
from prshots.server.domain.images.models import ShotKey

_KINDS = {
    Verdict.CHANGED: GroupKind.SINGLE,
    Verdict.MOVED: GroupKind.SINGLE,
    Verdict.NEW: GroupKind.NEW,
    Verdict.REMOVED: GroupKind.REMOVED,
}
_ORDER = {kind: place for place, kind in enumerate(GroupKind)}


@dataclass(frozen=True, slots=True)
class GroupedShots:
    """The groups in the order in which to look at them, and the group of each shot by its id."""

    groups: Sequence[ShotGroup]
    id_of: Mapping[ShotKey, str]


def group_shots(shots: Collection[PlannedShot]) -> GroupedShots:
    by_name: dict[tuple[GroupKind, str], list[ShotKey]] = {}
    for planned in sorted(shots, key=lambda planned: shot_key(*planned.shot)):
        verdict = planned.result.verdict
        if verdict and verdict in _KINDS:
            by_name.setdefault((_KINDS[verdict], planned.shot.name), []).append(planned.shot)
    groups, id_of = list[ShotGroup](), dict[ShotKey, str]()
    for kind, name in sorted(by_name, key=lambda key: _ORDER[key[0]]):
        members = by_name[kind, name]
        group_id = hashlib.sha256(f"{kind} {name}".encode()).hexdigest()[:12]
        id_of |= dict.fromkeys(members, group_id)
        groups.append(ShotGroup(group_id, kind, len(members), [name], f"{name}: {kind}"))
    return GroupedShots(groups, id_of)
