"""Checked-in files that a program writes are up to date: tables and pictures."""

import importlib
import re
from pathlib import Path

import pytest

from drills import table as drill_table
from drills.report import read_results

ROOT = Path(__file__).parents[2]
UNDERSTAND = ROOT / "docs" / "understand"
PICTURES = {f"{name}-{theme}.svg" for name in ("architecture", "folders") for theme in ("light", "dark")}

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT)  # bench is in the repository, but not installed
    from bench import table as bench_table
    from bench.__main__ import MEASUREMENTS
    from bench.report import read_json


def test_the_bench_table_matches_the_results() -> None:
    page = bench_table.PAGE.read_text()
    results = read_json(bench_table.RESULTS)
    assert bench_table.with_table(page, results) == page, "run python -m bench.table"


def test_every_measurement_has_results_and_a_module() -> None:
    modules = {path.stem for path in (ROOT / "bench" / "measurements").glob("[a-z]*.py")}
    assert set(MEASUREMENTS) == set(read_json(bench_table.RESULTS)) == modules


def test_the_drill_table_matches_the_results() -> None:
    page = drill_table.PAGE.read_text()
    assert drill_table.with_table(page, read_results(drill_table.RESULTS)) == page, (
        "run make drill with --json"
    )


def test_every_drill_has_a_result_without_violations() -> None:
    results = read_results(drill_table.RESULTS)
    drills = {
        f"{drill} {engines}"
        for drill in ("kill", "compare", "outbox", "quota", "webhooks")
        for engines in ("embedded", "shared")
    }
    assert set(results) == {*drills, "move", "requests", "urls"}
    assert {result.violations for result in results.values()} == {0}


def test_the_pictures_match_the_script_and_the_page_shows_each_in_both_themes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = UNDERSTAND / "images"
    monkeypatch.syspath_prepend(images)
    importlib.import_module("make_pictures").main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == PICTURES
    old = {name for name in PICTURES if (tmp_path / name).read_text() != (images / name).read_text()}
    assert old == set(), "run python docs/understand/images/make_pictures.py"
    page = (UNDERSTAND / "architecture.md").read_text()
    assert set(re.findall(r'images/([\w-]+\.svg)"', page)) == PICTURES
