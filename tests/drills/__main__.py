"""Run a drill, such as `make drill DRILL='kill --kills 1000'`, or all of them with `make drill DRILL=all`.

Each drill prints its seed, its progress and one line of figures. It exits with 1 after a violation. With the same
--seed it makes the same choices again.
"""

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from drills import table
from drills.report import Result, say, write_result
from support.leftover_processes import adopt_orphans, end_leftovers

LAST_RESULTS = Path(__file__).with_name(".work") / "results.json"


def main() -> int:
    options = _options()
    os.environ.pop("PYTHONPATH", None)  # only for this process, not for the service
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)
    signal.alarm(60 * options.minutes)
    adopt_orphans()
    seed = options.seed or random.randrange(1, 10**9)
    say(f"seed {seed}")
    violations = 0
    try:
        for result in options.run(options, seed):
            say(str(result))
            write_result(result, options.json)
            violations += result.violations
    except KeyboardInterrupt:
        say(f"given up: interrupted, or not done after {options.minutes} minutes (--minutes)")
        return 1
    finally:
        end_leftovers()
    if options.json == table.RESULTS:
        table.update()
    return int(violations > 0)


def _kill(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.kill import KillDrill
    from drills.sites import running_site

    with _folder() as folder, running_site(options.engines, folder) as site:
        yield KillDrill(site, options.kills, seed).run(options.engines)


def _compare(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.compare import CompareDrill
    from drills.sites import running_site

    with _folder() as folder, running_site(options.engines, folder) as site:
        yield CompareDrill(site, options.comparisons, seed).run(options.engines)


def _requests(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.requests import SETTINGS, RequestsDrill
    from support.raw_requests import running_service

    with _folder() as folder, running_service(folder, **SETTINGS) as service:
        yield RequestsDrill(service, options.count, seed).run()


def _urls(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.urls import prepared_drill

    with _folder() as folder, prepared_drill(folder, options.count, seed) as drill:
        yield drill.run()


def _move(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.move import MoveDrill, running_movable_site

    with _folder() as folder, running_movable_site(folder) as (site, postgresql, seaweedfs):
        yield MoveDrill(site, postgresql, seaweedfs, options.images, options.kills, seed).run()


def _outbox(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.outbox import SETTINGS, OutboxDrill, SlowForge
    from drills.sites import running_site

    with _folder() as folder, running_site(options.engines, folder, SETTINGS) as site, SlowForge() as forge:
        yield OutboxDrill(site, forge, options.kills, seed).run(options.engines)


def _quota(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.quota import SETTINGS, QuotaDrill
    from drills.sites import running_site

    with _folder() as folder, running_site(options.engines, folder, SETTINGS) as site:
        yield QuotaDrill(site, options.kills, seed).run(options.engines)


def _webhooks(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    from drills.outbox import SlowForge
    from drills.sites import running_site
    from drills.webhooks import SETTINGS, WebhooksDrill, hesitant_receiver

    with (
        _folder() as folder,
        running_site(options.engines, folder, SETTINGS) as site,
        SlowForge() as forge,
        hesitant_receiver() as receiver,
    ):
        yield WebhooksDrill(site, forge, options.kills, seed, receiver=receiver).run(options.engines)


def _all(options: argparse.Namespace, seed: int) -> Iterator[Result]:
    """Run the full series, or a share of it."""
    kills, count = max(1, int(1_000 * options.share)), max(1, int(1_000_000 * options.share))
    for engines in ("embedded", "shared"):
        yield from _kill(argparse.Namespace(engines=engines, kills=kills), seed)
        yield from _compare(argparse.Namespace(engines=engines, comparisons=max(1, kills // 5)), seed)
        yield from _outbox(argparse.Namespace(engines=engines, kills=max(1, kills // 2)), seed)
        yield from _quota(argparse.Namespace(engines=engines, kills=max(1, kills // 5)), seed)
        yield from _webhooks(argparse.Namespace(engines=engines, kills=max(1, kills // 2)), seed)
    yield from _move(argparse.Namespace(images=max(100, kills * 100), kills=max(2, kills // 25)), seed)
    yield from _requests(argparse.Namespace(count=count), seed)
    yield from _urls(argparse.Namespace(count=count), seed)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="prshots-drill-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make drill", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    drills = parser.add_subparsers(required=True, metavar="DRILL")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--seed", type=int, default=0, help="repeat a run with its seed; default: a new one")
    shared.add_argument("--minutes", type=int, default=120, help="give up after this time; default: 120")
    shared.add_argument(
        "--json", type=lambda text: Path(text).resolve(), default=LAST_RESULTS, metavar="FILE",
        help="where the result goes; the file keeps other drills' results; default: tests/drills/.work/results.json",
    )  # fmt: skip

    def add(name: str, about: str, run: object) -> argparse.ArgumentParser:
        made = drills.add_parser(name, parents=[shared], help=about, description=about)
        made.set_defaults(run=run)
        return made

    kill = add("kill", "kill -9 of random processes under load", _kill)
    kill.add_argument("--kills", type=int, default=1_000, help="default: 1000")
    compare = add("compare", "kill -9 while pull requests are compared", _compare)
    compare.add_argument("--comparisons", type=int, default=200, help="default: 200")
    outbox = add("outbox", "kill -9 while people decide, with a forge that gets every status", _outbox)
    outbox.add_argument("--kills", type=int, default=500, help="default: 500")
    quota = add("quota", "kill -9 while clients fill a small quota", _quota)
    quota.add_argument("--kills", type=int, default=200, help="default: 200")
    webhooks = add("webhooks", "kill -9 while people decide, with a webhook that gets every event", _webhooks)
    webhooks.add_argument("--kills", type=int, default=100, help="default: 100")
    for on_engines in (kill, compare, outbox, quota, webhooks):
        on_engines.add_argument(
            "--engines", choices=("embedded", "shared"), default="embedded",
            help="SQLite and a folder (default), or two replicas on PostgreSQL, S3 and Valkey",
        )  # fmt: skip
    moves = add("move", "kill -9 of `prshots move` under load, there and back", _move)
    moves.add_argument("--images", type=int, default=100_000, help="default: 100000")
    moves.add_argument("--kills", type=int, default=40, help="in both directions together; default: 40")
    requests = add("requests", "mutated requests to the API, web and delivery", _requests)
    requests.add_argument("--count", type=int, default=1_000_000, help="default: 1000000")
    urls = add("urls", "altered image URLs to delivery", _urls)
    urls.add_argument("--count", type=int, default=1_000_000, help="default: 1000000")
    every = add("all", "all of them; kill, compare, outbox, quota and webhooks on both sets of engines", _all)
    every.add_argument(
        "--share", type=float, default=1.0, help="a share of the full series, such as 0.01; default: 1"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
