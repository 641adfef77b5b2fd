"""The rows, the verdicts and the one table."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Target:
    """What a row has to reach: its ratio where there is a peer, else its own figure."""

    at_least: float | None = None
    at_most: float | None = None

    def met_by(self, figure: float) -> bool:
        if self.at_least is not None and figure < self.at_least:
            return False
        return self.at_most is None or figure <= self.at_most

    def __str__(self) -> str:
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
        return "ok" if self.target.met_by(self.ours if self.ratio is None else self.ratio) else "short"


def print_table(rows: Sequence[Row], load: float) -> None:
    caption = f"load average before the run: {load:.1f}"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    for heading in ("measure", "ours", "peer", "ratio", "target", "verdict"):
        table.add_column(heading, justify="right" if heading in {"ours", "ratio", "target"} else "left")
    for row in rows:
        table.add_row(*_cells(row), style="bold red" if row.verdict == "short" else "")
    # In a file or a pipe the table keeps its width instead of being folded to that of an absent terminal.
    console = Console()
    console.print(table) if console.is_terminal else Console(width=140).print(table)


def _cells(row: Row) -> list[str]:
    peer = row.note if row.peer is None else f"{row.peer_name} {_figure(row.peer)}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    target = "" if row.target is None else str(row.target)
    return [row.measure, f"{_figure(row.ours)} {row.unit}", peer, ratio, target, row.verdict]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def write_json(rows: Sequence[Row], load: float, file: Path) -> None:
    told = [asdict(row) | {"ratio": row.ratio, "verdict": row.verdict} for row in rows]
    content = {"load_average": load, "rows": told}
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
