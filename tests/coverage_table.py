"""Prints coverage/report.json as a table: lines and branches that the tests ran, per package."""

import json
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "coverage" / "report.json"
FIRST = Path("src") / "prshots"


def main() -> None:
    packages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path, measured in json.loads(REPORT.read_text())["files"].items():
        package = str(Path(path).parent.relative_to(FIRST))
        for name in (package, "all"):
            packages[name].update(measured["summary"])
    width = max(map(len, packages))
    print(f"{'package':{width}}   lines  covered  branches  covered")
    for name in sorted(packages, key=lambda name: (name == "all", name)):
        sums = packages[name]
        lines = f"{sums['num_statements']:7,}  {_percent(sums['covered_lines'], sums['num_statements'])}"
        branches = f"{sums['num_branches']:8,}  {_percent(sums['covered_branches'], sums['num_branches'])}"
        print(f"{name:{width}} {lines}  {branches}")


def _percent(covered: int, total: int) -> str:
    return f"{covered / total:7.1%}" if total else "      -"


if __name__ == "__main__":
    main()
