"""Writes the table in docs/understand/reliability.md from tests/drills/results.json."""

from collections.abc import Mapping
from pathlib import Path

from drills.report import Result, read_results

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "tests" / "drills" / "results.json"
PAGE = ROOT / "docs" / "understand" / "reliability.md"
BEGIN = "<!-- made by `make drill`: do not edit -->"
END = "<!-- end of the table -->"
HEADINGS = ("drill", "count", "violations", "meanwhile", "run")


def update() -> None:
    PAGE.write_text(with_table(PAGE.read_text(), read_results(RESULTS)))


def with_table(page: str, results: Mapping[str, Result]) -> str:
    """Return the page with everything between the two markers replaced. Raises ValueError without them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines {BEGIN} and {END}")
    rows = [HEADINGS, ("---", "--:", "--:", "---", "---"), *map(_cells, results.values())]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"])


def _cells(result: Result) -> tuple[str, ...]:
    figures = ", ".join(f"{value:,} {name}" for name, value in result.figures.items())
    run = f"{result.measured_on}, {result.seconds / 60:.1f} min, {result.machine}, seed {result.seed}"
    return result.drill, f"{result.count:,} {result.unit}", f"{result.violations:,}", figures, run
