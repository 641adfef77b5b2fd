"""Run a drill: `make drill DRILL='kill --kills 1000'`.

Each prints its progress, then one line of figures, and exits with 1 after a violation. With the same --seed it makes
the same choices again.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
from pathlib import Path

from drills.report import Result, write_result
from support.leftover_processes import adopt_orphans, end_leftovers

RESULTS = Path(__file__).with_name("results.json")


def main() -> int:
    options = _options()
    os.environ.pop("PYTHONPATH", None)  # only for this process, not for the service
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    adopt_orphans()
    seed = options.seed or random.randrange(1, 10**9)
    print(f"seed {seed}", flush=True)
    try:
        with tempfile.TemporaryDirectory(prefix="prshots-drill-", ignore_cleanup_errors=True) as folder:
            result = options.run(options, seed, Path(folder))
    finally:
        end_leftovers()
    print(result)
    if options.json is not None:
        write_result(result, options.json)
    return int(result.violations > 0)


def _kill(options: argparse.Namespace, seed: int, folder: Path) -> Result:
    from drills.kill import KillDrill
    from drills.sites import running_site

    with running_site(options.engines, folder) as site:
        return KillDrill(site, options.kills, seed, _say).run(options.engines)


def _say(text: str) -> None:
    print(text, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make drill", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    drills = parser.add_subparsers(required=True, metavar="DRILL")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--seed", type=int, default=0, help="repeat a run with its seed; default: a new one")
    shared.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the result as JSON; keeps other drills' results"
    )
    kill = drills.add_parser("kill", parents=[shared], help="kill -9 of random processes under load")
    kill.add_argument("--kills", type=int, default=1000)
    kill.add_argument(
        "--engines", choices=("embedded", "shared"), default="embedded",
        help="SQLite and a folder, or PostgreSQL, S3 and Valkey",
    )  # fmt: skip
    kill.set_defaults(run=_kill)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
