"""The table in docs/understand/reliability.md is generated from tests/drills/results.json, never edited manually."""

from drills import table
from drills.report import read_results


def test_the_table_on_the_page_matches_the_results() -> None:
    page = table.PAGE.read_text()
    assert table.with_table(page, read_results(table.RESULTS)) == page, "run make drill with --json"


def test_every_drill_has_a_result_without_violations() -> None:
    results = read_results(table.RESULTS)
    drills = {f"{drill} {engines}" for drill in ("kill", "compare") for engines in ("embedded", "shared")}
    assert set(results) == {*drills, "move", "requests", "urls"}
    assert {result.violations for result in results.values()} == {0}
