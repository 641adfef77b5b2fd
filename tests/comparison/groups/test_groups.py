"""How far the groups of every pull request in the corpus are from the ones that a person makes."""

import functools
import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from PIL import Image

from comparison.groups.pull_requests import PULL_REQUESTS
from prshots.contract.replies import Verdict
from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.domain.comparison.groups import group_shots
from prshots.server.domain.comparison.models import PlannedShot, ShotResult, ShownPart
from prshots.server.domain.images.models import ShotKey

HERE = Path(__file__).parent
CORPUS = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))

WRONG_PAIRS = {"same_pixels": 4, "recolored": 13}
"""How many pairs of shots the person put together and no group of ours, or apart and all groups of ours
together, by the person's kind. Lower a number when the groups get better; never raise it."""

WRONG_KINDS = {"same_pixels": 10, "single": 2, "recolored": 10}
"""How many shots are in no group of the person's kind."""

MOST_GROUPS = 98
"""How many groups there are in all pull requests. A person makes 90."""


@functools.cache
def compare_pictures(before: str, after: str) -> ShotResult:
    found = compare(*((HERE / "pictures" / name).read_bytes() for name in (before, after)))
    closeups = [ShownPart(closeup.region, closeup.pieces) for closeup in found.closeups]
    shown = (found.pieces, found.moves, found.colors, found.is_redrawn)
    return ShotResult(Verdict(found.verdict), found.pixels, *shown, closeups=closeups)


@functools.cache
def viewport_of(picture: str) -> str:
    with Image.open(HERE / "pictures" / picture) as image:
        return f"{image.width}x{image.height}"


def plan_shot(kind: str, shot: dict[str, str]) -> PlannedShot:
    is_pair = bool(shot["before"] and shot["after"])
    viewport = viewport_of(shot["after"]) if is_pair else shot["viewport"]
    result = compare_pictures(shot["before"], shot["after"]) if is_pair else ShotResult(Verdict(kind))
    return PlannedShot(ShotKey(shot["name"], viewport, shot["theme"]), None, None, result)


@pytest.mark.slow
def test_groups_match_a_persons_no_worse_than_before() -> None:
    """A shot can be in several groups, but the person put each one in the group of its main change."""
    wrong_pairs, wrong_kinds = Counter[str](), Counter[str]()
    groups = 0
    for request in CORPUS:
        shots, persons = list[PlannedShot](), dict[ShotKey, tuple[int, str]]()
        for number, group in enumerate(request["groups"]):
            members = [plan_shot(group["kind"], shot) for shot in group["shots"]]
            shots += members
            persons |= dict.fromkeys((shot.shot for shot in members), (number, group["kind"]))
        ours = group_shots(shots)
        groups += len(ours.groups)
        kinds = {group.id: group.kind for group in ours.groups}
        for shot, (_, kind) in persons.items():
            wrong_kinds[kind] += kind not in {kinds[group] for group in ours.ids_of(shot)}
        for one, other in combinations(persons, 2):
            if persons[one] == persons[other]:  # with several parts, two shots may share another group
                wrong_pairs[persons[one][1]] += not {*ours.ids_of(one)} & {*ours.ids_of(other)}
            else:
                wrong_pairs[persons[one][1]] += {*ours.ids_of(one)} == {*ours.ids_of(other)}
    assert groups <= MOST_GROUPS
    assert wrong_pairs <= Counter(WRONG_PAIRS), wrong_pairs
    assert wrong_kinds <= Counter(WRONG_KINDS), wrong_kinds


def test_corpus_has_every_pull_request_and_picture() -> None:
    assert [*PULL_REQUESTS] == [request["name"] for request in CORPUS]
    groups = [group for request in CORPUS for group in request["groups"]]
    assert len(groups) >= 60
    used = {shot[side] for group in groups for shot in group["shots"] for side in ("before", "after")} - {""}
    assert used == {path.name for path in (HERE / "pictures").iterdir()}
