"""Write the table in docs/understand/bench.md from a JSON file that `python -m bench --json` wrote."""

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from bench.report import HEADINGS, RIGHT_ALIGNED, Result, Results, read_json

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "understand" / "bench.md"
BEGIN = "<!-- made by `python -m bench.table`: do not edit -->"
END = "<!-- end of the table -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.table", description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS, help="default: bench/results.json")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is old")
    options = parser.parse_args()
    page = PAGE.read_text()
    updated = with_table(page, read_json(options.results))
    if options.check:
        if updated != page:
            print(f"{PAGE.relative_to(ROOT)} is out of date: run python -m bench.table")
        return int(updated != page)
    PAGE.write_text(updated)
    return 0


def with_table(page: str, results: Results) -> str:
    """Return the page with everything between the two markers replaced. Raises ValueError without them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


def table(results: Results) -> str:
    alignment = ("--:" if heading in RIGHT_ALIGNED else "---" for heading in HEADINGS)
    rows = (row.cells for result in results.values() for row in result.rows)
    lines = [f"| {' | '.join(cells)} |" for cells in (HEADINGS, alignment, *rows)]
    return "\n".join([*_when_and_where(results), "", *lines])


def _when_and_where(results: Results) -> Iterator[str]:
    """Say once for each run which measurements it took."""

    def run(name: str) -> str:
        return _run(results[name])

    for told, names in groupby(sorted(results, key=run), run):
        yield f"- {told}: {', '.join(name for name in names)}."


def _run(result: Result) -> str:
    load = "" if result.load_average is None else f", load average {result.load_average:g} before the run"
    return f"{result.measured_on}, {result.machine}{load}"


if __name__ == "__main__":
    sys.exit(main())
