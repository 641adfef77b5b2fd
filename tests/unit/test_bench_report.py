"""The table in docs/understand/bench.md is generated from bench/results.json, never edited manually."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _imported("bench.report", monkeypatch)


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


def test_results_are_rendered_as_a_markdown_table(report: ModuleType, table: ModuleType) -> None:
    target = report.Target(at_least=2)
    rows = [
        report.Row("upload", "uploads/s", 1234.5, "SeaweedFS", 1000.0, target),
        report.Row("upload", "uploads/s", 1234.5, "nginx", 900.0),
        report.Row("memory", "MB", 17.34, note="2 processes"),
        report.Row("start", "s", 1.5),
    ]
    results = {"upload": report.Result("2026-11-15", "2 cores", 0.8, rows)}
    page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    assert table.with_table(page, results, ["upload", "memory"]) == (
        f"before\n{table.BEGIN}\n"
        "- 2026-11-15, 2 cores, load average 0.8 before the run: upload.\n"
        "\n"
        "| measure | prshots | compared with | ratio | target | verdict |\n"
        "| --- | --: | --- | --: | --: | --- |\n"
        "| upload | 1,234 uploads/s | SeaweedFS 1,000 | 1.23 | ≥ 2 | missed |\n"
        "| memory | 17.3 MB | 2 processes |  |  |  |\n"
        f"{table.END}\nafter\n"
    )


def test_a_page_without_markers_is_refused(table: ModuleType) -> None:
    with pytest.raises(ValueError, match="the page needs the lines"):
        table.with_table("no table here", {}, [])


def test_json_keeps_measurements_that_did_not_run(report: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    target = report.Target(at_most=3)
    before = report.Result("2026-11-15", "2 cores", None, [report.Row("start", "s", 1.5, target=target)])
    after = report.Result(
        "2026-11-16", "4 cores", 0.1, [report.Row("memory", "MB", 170.0, note="PSS 120 MB")]
    )
    report.write_json({"start": before, "memory": before}, file)
    report.write_json({"memory": after}, file)
    assert report.read_json(file) == {"start": before, "memory": after}
