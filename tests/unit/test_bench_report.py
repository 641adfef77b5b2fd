"""The table in docs/understand/bench.md is generated from bench/results.json, never edited manually."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _imported("bench.table", monkeypatch)


def _imported(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)  # bench is a package in the repository, but not installed
    return importlib.import_module(name)


def test_the_table_on_the_page_matches_the_results(table: ModuleType) -> None:
    page = table.PAGE.read_text()
    assert table.with_table(page, table.read_json(table.RESULTS)) == page, "run python -m bench.table"


def test_every_measurement_has_results_and_a_module(
    table: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measurements = _imported("bench.__main__", monkeypatch).MEASUREMENTS
    modules = {path.stem for path in (ROOT / "bench" / "measurements").glob("[a-z]*.py")}
    assert set(measurements) == modules
    assert set(table.read_json(table.RESULTS)) == modules
