"""Write the table in docs/understand/bench.md from a JSON file of `python -m bench --json`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from bench.report import HEADINGS, RIGHT_ALIGNED, Result, Results, read_json

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "understand" / "bench.md"
BEGIN = "<!-- made by `python -m bench.table`: do not edit -->"
END = "<!-- end of the table -->"
HIGHLIGHTS = (
    "delivery, 20 KB",
    "delivery, 100 KB",
    "delivery, 1 MB",
    "nginx in front, 100 KB",
    "upload, 300 KB",
    "comment, 500 images, one at a time, p50",
    "client, 100 images of 300 KB, upload and comment",
    "sweep of 100,000, whole command",
    "upload, 10,000,000 in PostgreSQL, p50",
    "memory, idle, RSS of all processes",
    "push, 300 screenshots of 200 KB, 3 changed, to the comment",
    "compare, 100 shots, 10 changed",
    "compare, 100 shots, all re-encoded",
    "gallery, first view of 60 screenshots",
)
"""The prefixes of the measures on the page, each with its first row. The file has all rows."""


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


def with_table(page: str, results: Results, measures: Sequence[str] = HIGHLIGHTS) -> str:
    """Return the page with everything between the two markers replaced. Raises ValueError without them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table(results, measures)}\n{END}{after}"


def table(results: Results, measures: Sequence[str]) -> str:
    """Return the first row of each measure. Raises StopIteration for a measure without a row."""
    alignment = ("--:" if heading in RIGHT_ALIGNED else "---" for heading in HEADINGS)
    cells = [row.cells for result in results.values() for row in result.rows]
    rows = [next(row for row in cells if row[0].startswith(measure)) for measure in measures]
    lines = [f"| {' | '.join(cells)} |" for cells in (HEADINGS, alignment, *rows)]
    return "\n".join([*_when_and_where(results), "", *lines])


def _when_and_where(results: Results) -> Iterator[str]:
    """Yield a line for each run, with the measurements that it took."""

    def run(name: str) -> str:
        return _run(results[name])

    for told, names in groupby(sorted(results, key=run), run):
        yield f"- {told}: {', '.join(name for name in names)}."


def _run(result: Result) -> str:
    load = "" if result.load_average is None else f", load average {result.load_average:g} before the run"
    return f"{result.measured_on}, {result.machine}{load}"


if __name__ == "__main__":
    sys.exit(main())
