"""The table in docs/understand/reliability.md is generated from tests/drills/results.json, never edited manually."""

from pathlib import Path

import pytest

from drills import table
from drills.report import Result, read_results, write_result

RESULT = Result(
    "urls", 1_000_000, "altered URLs", 7, 300.0, {"replies 403": 900_000}, 0, "2026-11-16", "2 cores"
)


def test_the_table_on_the_page_matches_the_results() -> None:
    page = table.PAGE.read_text()
    assert table.with_table(page, read_results(table.RESULTS)) == page, "run make drill with --json"


def test_every_drill_has_a_result_without_violations() -> None:
    results = read_results(table.RESULTS)
    drills = {f"{drill} {engines}" for drill in ("kill", "compare") for engines in ("embedded", "shared")}
    assert set(results) == {*drills, "move", "requests", "urls"}
    assert {result.violations for result in results.values()} == {0}


def test_results_are_rendered_as_a_markdown_table() -> None:
    page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    assert table.with_table(page, {"urls": RESULT}) == (
        f"before\n{table.BEGIN}\n"
        "| drill | count | violations | meanwhile | run |\n"
        "| --- | --: | --: | --- | --- |\n"
        "| urls | 1,000,000 altered URLs | 0 | 900,000 replies 403 | 2026-11-16, 5.0 min, 2 cores, seed 7 |\n"
        f"{table.END}\nafter\n"
    )


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page needs the lines"):
        table.with_table("no table here", {})


def test_the_file_keeps_the_results_of_other_drills(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    other = Result("requests", 5, "requests", 1, 1.0, {}, 0, "2026-11-16", "2 cores")
    for result in (RESULT, other, RESULT):
        write_result(result, file)
    assert read_results(file) == {"urls": RESULT, "requests": other}
