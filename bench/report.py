"""The rows, their verdicts, the table on the terminal and the JSON file."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

HEADINGS = ("measure", "prshots", "compared with", "ratio", "target", "verdict")
RIGHT_ALIGNED = {"prshots", "ratio", "target"}
MISSED = "missed"
PIPE_WIDTH = 140


@dataclass(frozen=True, slots=True)
class Target:
    """The goal of a row: for its ratio if it is compared with something, otherwise for its own figure."""

    at_least: float | None = None
    at_most: float | None = None

    def met_by(self, figure: float) -> bool:
        if self.at_least is not None and figure < self.at_least:
            return False
        return self.at_most is None or figure <= self.at_most

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:,g} to {self.at_most:,g}"
        if self.at_least is not None:
            return f"≥ {self.at_least:,g}"
        return f"≤ {self.at_most:,g}"


@dataclass(frozen=True, slots=True)
class Row:
    measure: str
    unit: str
    ours: float
    peer_name: str = ""
    peer: float | None = None
    target: Target | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.peer else None

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "met" if self.target.met_by(self.ours if self.ratio is None else self.ratio) else MISSED

    @property
    def cells(self) -> list[str]:
        """Return the row as text, in the order of `HEADINGS`."""
        peer = self.note if self.peer is None else f"{self.peer_name} {_figure(self.peer)}"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        target = "" if self.target is None else str(self.target)
        return [self.measure, f"{_figure(self.ours)} {self.unit}", peer, ratio, target, self.verdict]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of one measurement, with its date and machine. `load_average` is from before the run."""

    measured_on: str
    machine: str
    load_average: float | None
    rows: Sequence[Row]

    @classmethod
    def of_this_machine(cls, load_average: float, rows: Sequence[Row]) -> "Result":
        machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
        return cls(time.strftime("%Y-%m-%d", time.gmtime()), machine, round(load_average, 1), rows)


Results = Mapping[str, Result]
"""Results by measurement name."""


def print_table(results: Results) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in RIGHT_ALIGNED else "left")
    for row in (row for result in results.values() for row in result.rows):
        table.add_row(*row.cells, style="bold red" if row.verdict == MISSED else "")
    # A file or pipe has no terminal width to fold the table to.
    console = Console()
    console.print(table) if console.is_terminal else Console(width=PIPE_WIDTH).print(table)


def read_json(file: Path) -> dict[str, Result]:
    return {name: _result(told) for name, told in json.loads(file.read_text()).items()}


def write_json(results: Results, file: Path) -> None:
    """Write the results. An existing file keeps its other measurements, so a table can grow in steps."""
    kept = read_json(file) if file.exists() else {}
    content = {name: _told(result) for name, result in (kept | dict(results)).items()}
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _told(result: Result) -> dict[str, Any]:
    return asdict(result) | {"rows": [_told_row(row) for row in result.rows]}


def _told_row(row: Row) -> dict[str, Any]:
    """Return the row for JSON. `ratio` and `verdict` follow from the other fields, but help readers."""
    ratio = None if row.ratio is None else round(row.ratio, 3)
    return asdict(row) | {"ratio": ratio, "verdict": row.verdict}


def _result(told: dict[str, Any]) -> Result:
    rows = [
        Row(
            measure=row["measure"],
            unit=row["unit"],
            ours=row["ours"],
            peer_name=row["peer_name"],
            peer=row["peer"],
            target=Target(**row["target"]) if row["target"] else None,
            note=row["note"],
        )
        for row in told["rows"]
    ]
    return Result(told["measured_on"], told["machine"], told["load_average"], rows)
