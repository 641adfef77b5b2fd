"""Run the measurements, one after another, and print one table."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from bench import (
    client,
    comment,
    dashboard,
    delivery,
    engines,
    front,
    growth,
    memory,
    records,
    start,
    sweep,
    upload,
)
from bench.load import BenchError, require_wrk
from bench.report import Row, print_table, write_json
from bench.settings import Run

MEASUREMENTS: dict[str, Callable[[Run], Iterator[Row]]] = {
    module.__name__.removeprefix("bench."): module.measure
    for module in (
        delivery,
        front,
        upload,
        engines,
        comment,
        client,
        sweep,
        records,
        growth,
        dashboard,
        memory,
        start,
    )
}
# Inside the repository, so on a real disk: /tmp is memory on many machines, and fsync costs nothing there.
WORK = Path(__file__).parent / ".work"
BUSY_LOAD = 0.5


def main() -> int:
    options = _options()
    console = Console(stderr=True, highlight=False)
    started = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - started:4.0f} s[/dim]  {escape(text)}", soft_wrap=True)

    load = os.getloadavg()[0]
    if load > BUSY_LOAD:
        say(f"the load average is {load:.1f}: other work on this machine will distort the figures")
    rows, failures = _measure_all(options, say)
    print_table(rows, load)
    if options.json is not None:
        write_json(rows, load, options.json)
    for failure in failures:
        console.print(f"[bold red]failed[/bold red]  {escape(failure)}", soft_wrap=True)
    return 1 if failures else 0


def _measure_all(
    options: argparse.Namespace, say: Callable[[str], None]
) -> tuple[Sequence[Row], Sequence[str]]:
    """Run each chosen measurement in a folder of its own; one that fails does not keep the others back."""
    rows: list[Row] = []
    failures: list[str] = []
    work = options.dir.resolve()
    work.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        with tempfile.TemporaryDirectory(dir=work, prefix=f"{name}-") as directory:
            try:
                if name in {"delivery", "front", "upload", "engines", "comment"}:
                    require_wrk()
                rows.extend(MEASUREMENTS[name](Run(Path(directory), options.seconds, say)))
            except (BenchError, OSError) as error:
                failures.append(f"{name}: {error}")
                say(f"{name} failed: {error}")
        # The next one shall not pay for what this one still has to write or to free.
        os.sync()
    return rows, failures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--only",
        type=_names,
        default=list(MEASUREMENTS),
        metavar="NAME,...",
        help=f"some measurements instead of all: {', '.join(MEASUREMENTS)}",
    )
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help="how long each wrk run takes (2)")
    parser.add_argument("--dir", type=Path, default=WORK, help="where to work; its disk is what is measured")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to a file as well")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in MEASUREMENTS]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
