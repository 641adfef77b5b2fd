"""Start prshots and other servers, load them in turn, and print one table.

Run this with `make bench`. Options go into BENCH: make bench BENCH='--only start,memory --json results.json'.
Close other programs first, because they distort the figures.
"""

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from bench.report import Result, Row, print_table, write_json
from bench.run import BenchError, Run
from bench.wrk import require_wrk

MEASUREMENTS = {
    "delivery": "signed images, compared with nginx, SeaweedFS and Starlette",
    "nginx_front": "signed images from nginx in front of prshots, compared with nginx alone",
    "upload": "uploads of 300 KB, compared with SeaweedFS and the bare disk",
    "workers": "uploads and deliveries with two workers of each, compared with one",
    "engines": "uploads, deliveries and a sweep on PostgreSQL, S3 and Valkey",
    "capacity": "what a request costs each engine, and whether that predicts the rate of a mix",
    "comment": "the comment of a pull request with 500 images",
    "client": "from a folder of 100 screenshots to the posted comment",
    "action": "from the start of the GitHub Action to its first request",
    "sweep": "a sweep that deletes 100,000 images",
    "records": "everyday requests with 1,000,000 images in SQLite",
    "growth": "everyday work with 10,000,000 images in PostgreSQL (10 minutes, up to 15 GB of disk)",
    "dashboard": "the dashboard's lists with 100,000 images",
    "mixed": "uploads, deliveries, comments and the dashboard at once, compared with each alone",
    "gallery": "the first view of a pull request with 60 new screenshots, in Chromium",
    "compare": "100 screenshots and their baselines, compared with odiff, reg-cli, pixelmatch, Playwright",
    "compare_memory": "memory of the process that compares pictures of 10 and 40 megapixels",
    "compare_load": "uploads and deliveries while screenshots are compared",
    "push": "300 screenshots of which 3 changed: from the upload to the posted comment",
    "baselines": "300 baselines of which 3 changed: what is stored and sent",
    "memory": "memory when idle, and during 32 uploads of 5 MB",
    "start": "from `prshots serve` to the first accepted upload",
}
"""Each key is a module in bench/measurements, in the order of the table."""
NEED_WRK = {"delivery", "nginx_front", "upload", "workers", "engines", "capacity", "comment"}
# In the repository, which is usually on a real disk. /tmp is often in memory, where fsync costs nothing.
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
        say(f"the load average is {load:.1f}: other work on this machine distorts the figures")
    rows, failures = _measure_all(options, say)
    results = {name: Result.of_this_machine(load, measured) for name, measured in rows.items()}
    if results:
        print_table(results)
    if options.json is not None:
        write_json(results, options.json)
    for failure in failures:
        console.print(f"[bold red]failed[/bold red]  {escape(failure)}", soft_wrap=True)
    return 1 if failures else 0


def _measure_all(
    options: argparse.Namespace, say: Callable[[str], None]
) -> tuple[dict[str, list[Row]], list[str]]:
    """Run each chosen measurement in its own folder. A failure doesn't stop the others."""
    rows: dict[str, list[Row]] = {}
    failures: list[str] = []
    work = options.dir.resolve()
    work.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        with tempfile.TemporaryDirectory(dir=work, prefix=f"{name}-") as directory:
            try:
                if name in NEED_WRK:
                    require_wrk()
                rows[name] = list(_measure(name, Run(Path(directory), options.seconds, say)))
            except (BenchError, OSError) as error:
                failures.append(f"{name}: {error}")
                say(f"{name} failed: {error}")
        os.sync()  # to keep the next measurement from waiting for these writes
    return rows, failures


def _measure(name: str, run: Run) -> Iterator[Row]:
    # Imported late: most measurements don't need a peer or the peers' packages.
    rows: Iterator[Row] = importlib.import_module(f"bench.measurements.{name}").measure(run)
    return rows


def _options() -> argparse.Namespace:
    listed = "\n".join(f"  {name:<15}{about}" for name, about in MEASUREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=f"measurements:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        type=_names,
        default=list(MEASUREMENTS),
        metavar="NAME,...",
        help="comma-separated measurements to run; default: all",
    )
    parser.add_argument(
        "--seconds", type=int, default=2, metavar="N", help="length of each wrk run in seconds; default: 2"
    )
    parser.add_argument(
        "--dir", type=Path, default=WORK, help="folder to work in; its disk is measured; default: bench/.work"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="also write the results as JSON; an existing file keeps the measurements that you don't run",
    )
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in MEASUREMENTS]:
        raise argparse.ArgumentTypeError(
            f"unknown measurement {', '.join(unknown)}: choose from {', '.join(MEASUREMENTS)}"
        )
    return names


if __name__ == "__main__":
    sys.exit(main())
