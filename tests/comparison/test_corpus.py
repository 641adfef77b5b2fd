"""The engine's verdict on every pair of the corpus, compared with a person's."""

import json
from pathlib import Path
from typing import Any

import pytest

from comparison.cases import PAIRS
from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.adapters.pictures.engine.regions import Box, grow

HERE = Path(__file__).parent
CORPUS: list[dict[str, Any]] = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
MARKED = [pair for pair in CORPUS if "region" in pair]
"""A person marked what came in, and the words in it."""


@pytest.mark.parametrize("pair", CORPUS, ids=[pair["name"] for pair in CORPUS])
def test_verdict_matches_a_persons(pair: dict[str, Any]) -> None:
    before, after = ((HERE / "pictures" / pair[side]).read_bytes() for side in ("before", "after"))
    result = compare(before, after)
    assert result.verdict == pair.get("wrong", pair["person"]), pair["why"]
    assert bool(result.marked) == (result.verdict != "unchanged")


@pytest.mark.parametrize("pair", MARKED, ids=[pair["name"] for pair in MARKED])
def test_the_one_region_is_around_the_new_words_and_within_a_persons(pair: dict[str, Any]) -> None:
    before, after = ((HERE / "pictures" / pair[side]).read_bytes() for side in ("before", "after"))
    [region] = compare(before, after).regions
    found, outer, words = (Box.of(box) for box in (region, pair["region"], pair["words"]))
    assert grow(outer, 3).contains(found)
    assert grow(found, 3).contains(words)


def test_docs_name_every_pair_that_the_engine_gets_wrong() -> None:
    wrong = {pair["name"] for pair in CORPUS if "wrong" in pair}
    page = (HERE / "../../docs/understand/comparison.md").resolve().read_text(encoding="utf-8")
    told = page.partition("## What it gets wrong")[2]
    assert [name for name in wrong if f"`{name}`" not in told] == []
    assert all(pair["wrong"] != pair["person"] for pair in CORPUS if "wrong" in pair)


def test_every_picture_is_rendered_used_and_shown() -> None:
    assert [*PAIRS] == [pair["name"] for pair in CORPUS]
    used = {pair[side] for pair in CORPUS for side in ("before", "after")}
    assert used == {path.name for path in (HERE / "pictures").iterdir()}
    page = (HERE / "README.md").read_text(encoding="utf-8")
    assert all(f"pictures/{name}" in page for name in used)
