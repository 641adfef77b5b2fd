"""How far the groups of every pull request in the corpus are from the ones that a person makes."""

import functools
import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from comparison.groups.pull_requests import PULL_REQUESTS
from prshots.contract.replies import Verdict
from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.domain.comparison.groups import group_shots
from prshots.server.domain.comparison.models import PlannedShot, ShotResult
from prshots.server.domain.images.models import ShotKey

HERE = Path(__file__).parent
CORPUS = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))

WRONG_PAIRS = {"same_pixels": 8, "recolored": 16}
"""How many pairs of shots the person put together and prshots apart, or vice versa, by the person's kind.
Lower a number when the groups get better; never raise it."""

WRONG_KINDS = {"same_pixels": 6}
"""How many shots are in a group whose kind differs from the person's. `taller-button` inserts rows."""


@functools.cache
def compare_pictures(before: str, after: str) -> ShotResult:
    found = compare(*((HERE / "pictures" / name).read_bytes() for name in (before, after)))
    return ShotResult(Verdict(found.verdict), found.pixels, found.regions, found.shift, traits=found.traits)


def plan_shot(kind: str, shot: dict[str, str]) -> PlannedShot:
    key = ShotKey(shot["name"], shot["viewport"], shot["theme"])
    is_pair = bool(shot["before"])
    result = compare_pictures(shot["before"], shot["after"]) if is_pair else ShotResult(Verdict(kind))
    return PlannedShot(key, None, None, result)


@pytest.mark.slow
def test_groups_match_a_persons_no_worse_than_before() -> None:
    wrong_pairs, wrong_kinds = Counter[str](), Counter[str]()
    for request in CORPUS:
        shots, persons = list[PlannedShot](), dict[ShotKey, tuple[int, str]]()
        for number, group in enumerate(request["groups"]):
            members = [plan_shot(group["kind"], shot) for shot in group["shots"]]
            shots += members
            persons |= dict.fromkeys((shot.shot for shot in members), (number, group["kind"]))
        ours = group_shots(shots)
        kinds = {group.id: group.kind for group in ours.groups}
        for shot, (_, kind) in persons.items():
            wrong_kinds[kind] += kinds.get(ours.id_of.get(shot, "")) != kind
        for one, other in combinations(persons, 2):
            is_together = ours.id_of.get(one) == ours.id_of.get(other)
            wrong_pairs[persons[one][1]] += is_together != (persons[one] == persons[other])
    assert wrong_pairs <= Counter(WRONG_PAIRS), wrong_pairs
    assert wrong_kinds <= Counter(WRONG_KINDS), wrong_kinds


def test_corpus_has_every_pull_request_and_picture() -> None:
    assert [*PULL_REQUESTS] == [request["name"] for request in CORPUS]
    groups = [group for request in CORPUS for group in request["groups"]]
    assert len(groups) >= 60
    used = {shot[side] for group in groups for shot in group["shots"] for side in ("before", "after")} - {""}
    assert used == {path.name for path in (HERE / "pictures").iterdir()}
