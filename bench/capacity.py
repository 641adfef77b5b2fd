"""Calculate how many processes of each component a load needs, and which limit breaks first.

The cost of each request is in bench/results.json. docs/scale.md explains how to measure the costs, and the
results.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.report import Result, read_json
from bench.run import BenchError
from prshots.server.domain.upkeep.sweep import LISTED_AT_MOST

RESULTS = Path(__file__).with_name("results.json")
UPLOAD, DELIVERY, COMMENT, EXPIRY = "upload", "delivery", "comment", "expiry"
OPERATIONS = {
    UPLOAD: "upload of 300 KB",
    DELIVERY: "delivery of 100 KB",
    COMMENT: "comment with 20 images",
    EXPIRY: "expiry of an image",
}
PRSHOTS, POSTGRESQL, STORE, COUNTER = "prshots", "PostgreSQL", "S3 server", "Valkey"
SERVERS = (PRSHOTS, POSTGRESQL, STORE, COUNTER)
LISTING, COMMITS, LOG = "objects listed by a sweep", "commits in one project", "write-ahead log of an upload"
RECORD = "one image's record in PostgreSQL"

CONNECTIONS_PER_API = 8
OBJECTS_PER_IMAGE = 2
"""The image and its thumbnail."""
KEYS_PER_PAGE = 1000
PREFIXES = 256
"""Keys start with two hexadecimal digits of a random id."""
PUTS_PER_PREFIX, GETS_PER_PREFIX = 3500, 5500
"""Amazon S3's limits per prefix and second."""
SECONDS_PER_DAY, SECONDS_PER_HOUR = 86_400, 3600

USD = {
    "PUT per 1,000": 0.005,
    "GET per 1,000": 0.0004,
    "LIST per 1,000": 0.005,
    "storage per GB and month": 0.023,
    "traffic per GB": 0.09,
    "core per hour": 0.05,
}
"""AWS list prices in us-east-1, 2025, first tier. Deletes are free."""


@dataclass(frozen=True, slots=True)
class Load:
    """The peak load per second, and how much is stored for how long.

    `hot` is the largest project's share of the uploads.
    """

    uploads: float
    deliveries: float
    comments: float
    kilobytes: float = 300
    delivered_kilobytes: float = 100
    retention_days: float = 30
    images: float | None = None
    hot: float = 0.02

    @property
    def stored(self) -> float:
        """The number of stored images. The default is the number that a constant peak would leave."""
        return self.uploads * SECONDS_PER_DAY * self.retention_days if self.images is None else self.images

    @property
    def average(self) -> float:
        """The uploads per second that keep this many images stored. The same number expire."""
        return self.stored / (self.retention_days * SECONDS_PER_DAY)

    def per_second(self, operation: str) -> float:
        return {
            UPLOAD: self.uploads,
            DELIVERY: self.deliveries,
            COMMENT: self.comments,
            EXPIRY: self.average,
        }[operation]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that more processes can't raise, and the maximum utilization of a core."""

    utilization: float = 0.6
    postgresql_cores: int = 64
    postgresql_connections: int = 1000
    list_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU milliseconds of an operation by server, and the other figures that the model needs."""

    cpu_ms: Mapping[tuple[str, str], float]
    listed_per_second: float
    commits_of_project: float
    log_bytes: float
    record_bytes: float

    def cores(self, load: Load, server: str, *operations: str) -> float:
        """Return the number of busy cores."""
        return sum(
            load.per_second(operation) * self.cpu_ms[operation, server] / 1000 for operation in operations
        )


@dataclass(frozen=True, slots=True)
class Need:
    part: str
    amount: float
    unit: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wall:
    """A limit that more processes don't raise. `share` is the part in use: above 1, the limit breaks."""

    name: str
    share: float
    then: str


def cost_row(operation: str, server: str) -> str:
    return f"{OPERATIONS[operation]}: CPU time of {server}"


def read_costs(results: Mapping[str, Result]) -> Costs:
    """Read the costs from the results. Raises BenchError if a row is missing."""
    rows = {row.measure: row.ours for result in results.values() for row in result.rows}

    def figure(name: str) -> float:
        if name not in rows:
            raise BenchError(
                f"the results have no row {name!r}: run "
                "make bench BENCH='--only capacity,growth --json bench/results.json'"
            )
        return rows[name]

    cpu_ms = {(name, server): figure(cost_row(name, server)) for name in OPERATIONS for server in SERVERS}
    return Costs(cpu_ms, figure(LISTING), figure(COMMITS), figure(LOG), figure(RECORD))


def reachable(cpu_ms: Mapping[str, float], cores: float, single: Sequence[str]) -> tuple[float, str]:
    """Return how many operations per second a machine reaches, and the part that limits it.

    `cpu_ms` has the cost of an average operation by part. Each part in `single` can only use one core.
    """
    walls = [(cores * 1000 / sum(cpu_ms.values()), "machine")]
    walls += [(1000 / cpu_ms[part], part) for part in single if cpu_ms[part] > 0]
    return min(walls)


def needs(load: Load, costs: Costs, limits: Limits) -> Iterator[Need]:
    def processes(server: str, *operations: str) -> tuple[float, str]:
        busy = costs.cores(load, server, *operations)
        return math.ceil(busy / limits.utilization), f"{busy:,.1f} cores busy"

    api, why = processes(PRSHOTS, UPLOAD, COMMENT)
    yield Need("API", api, "processes", why)
    amount, why = processes(PRSHOTS, DELIVERY)
    yield Need("delivery", amount, "processes", why)
    amount, why = processes(PRSHOTS, EXPIRY)
    yield Need("sweep", amount, "processes", why)
    amount, why = processes(POSTGRESQL, *OPERATIONS)
    yield Need("PostgreSQL", amount, "cores", why)
    yield Need(
        "PostgreSQL", api * CONNECTIONS_PER_API, "connections", f"{CONNECTIONS_PER_API} per API process"
    )
    yield Need("PostgreSQL", load.uploads * costs.log_bytes / 1e6, "MB/s", "write-ahead log")
    yield Need("PostgreSQL", load.stored * costs.record_bytes / 1e9, "GB", f"{load.stored:,.0f} images")
    amount, why = processes(COUNTER, UPLOAD)
    yield Need("Valkey", amount, "cores", why)
    puts, gets = load.uploads * OBJECTS_PER_IMAGE, load.deliveries
    yield Need("S3", puts, "PUT/s", "each image and its thumbnail")
    yield Need("S3", gets, "GET/s")
    yield Need("S3", load.stored * load.kilobytes / 1e9, "TB")
    amount, why = processes(STORE, *OPERATIONS)
    yield Need("S3, if you run SeaweedFS", amount, "cores", why)
    uploaded, delivered = load.uploads * load.kilobytes, load.deliveries * load.delivered_kilobytes
    yield Need("network", 2 * uploaded * 8 / 1e6, "Gbit/s", "uploads, in and on to S3")
    yield Need("network", 2 * delivered * 8 / 1e6, "Gbit/s", "deliveries, from S3 and out")


def listed(load: Load) -> float:
    """Return the number of objects that a sweep lists."""
    return min(load.stored * OBJECTS_PER_IMAGE, LISTED_AT_MOST)


def walls(load: Load, costs: Costs, limits: Limits) -> list[Wall]:
    """Return the limits in the order in which they break."""
    api = math.ceil(costs.cores(load, PRSHOTS, UPLOAD, COMMENT) / limits.utilization)
    page = KEYS_PER_PAGE / costs.listed_per_second if limits.list_seconds is None else limits.list_seconds
    found = [
        Wall(
            "a sweep lists its part of the bucket in an hour",
            listed(load) / KEYS_PER_PAGE * page / SECONDS_PER_HOUR,
            "the next sweep starts late, so images expire late",
        ),
        Wall(
            "commits in the largest project",
            load.uploads * load.hot / costs.commits_of_project,
            "its uploads wait for each other, and share commits",
        ),
        Wall(
            f"PostgreSQL on {limits.postgresql_cores} cores",
            costs.cores(load, POSTGRESQL, *OPERATIONS) / limits.utilization / limits.postgresql_cores,
            "uploads, comments and the sweep get slower together",
        ),
        Wall(
            f"{limits.postgresql_connections:,} connections to PostgreSQL",
            api * CONNECTIONS_PER_API / limits.postgresql_connections,
            "use fewer, larger API processes, or PgBouncer",
        ),
        Wall(
            "Valkey on one core",
            costs.cores(load, COUNTER, UPLOAD) / limits.utilization,
            "uploads pass without a rate limit",
        ),
        Wall(
            "S3 requests per prefix",
            max(load.uploads * OBJECTS_PER_IMAGE / PUTS_PER_PREFIX, load.deliveries / GETS_PER_PREFIX)
            / PREFIXES,
            "S3 answers 503 and prshots retries",
        ),
    ]
    return sorted(found, key=lambda wall: wall.share, reverse=True)


def usd_per_million(load: Load, costs: Costs, limits: Limits) -> dict[str, float]:
    """Return the cost of a million images by item. The price of the cores covers the peak, all day."""
    million, views = 1_000_000, load.deliveries / load.uploads
    gigabytes = million * load.kilobytes / 1e6
    thousands = million / 1000
    pages = listed(load) / KEYS_PER_PAGE
    hours = million / load.average / SECONDS_PER_HOUR
    cores = sum(costs.cores(load, server, *OPERATIONS) for server in (PRSHOTS, POSTGRESQL, COUNTER))
    return {
        "storage": gigabytes * load.retention_days / 30 * USD["storage per GB and month"],
        "PUT": thousands * OBJECTS_PER_IMAGE * USD["PUT per 1,000"],
        "GET": thousands * views * USD["GET per 1,000"],
        "LIST, once an hour": pages * hours / 1000 * USD["LIST per 1,000"],
        "traffic to viewers": thousands * views * load.delivered_kilobytes / 1000 * USD["traffic per GB"],
        "cores": cores / limits.utilization * hours * USD["core per hour"],
    }


def main() -> int:
    options = _options()
    load = Load(
        options.uploads,
        options.deliveries,
        options.comments,
        options.kilobytes,
        options.delivered_kilobytes,
        options.retention_days,
        options.images,
        options.hot / 100,
    )
    list_seconds = None if options.list_ms is None else options.list_ms / 1000
    limits = Limits(
        options.utilization / 100, options.postgresql_cores, options.postgresql_connections, list_seconds
    )
    try:
        costs = read_costs(read_json(options.results))
    except (BenchError, OSError) as error:
        print(f"capacity: {error}", file=sys.stderr)
        return 1
    _print("what it needs", ("part", "amount", "", "why"), _need_cells(needs(load, costs, limits)))
    found = walls(load, costs, limits)
    _print(
        "what breaks first", ("limit", "used", "then"), [(w.name, f"{w.share:.0%}", w.then) for w in found]
    )
    usd = usd_per_million(load, costs, limits)
    lines = [(name, f"{amount:,.2f} USD") for name, amount in usd.items()]
    _print("a million images", ("item", "cost"), [*lines, ("together", f"{sum(usd.values()):,.2f} USD")])
    return 0


def _need_cells(found: Iterator[Need]) -> list[tuple[str, ...]]:
    return [(need.part, _figure(need.amount), need.unit, need.why) for need in found]


def _figure(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 10 else f"{amount:.2g}"


def _print(title: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number == 1 else "left")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table) if console.is_terminal else Console(width=140).print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.capacity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--uploads", type=_positive, default=5000, help="uploads per second; default: 5000")
    add("--deliveries", type=_positive, default=50_000, help="deliveries per second; default: 50000")
    add("--comments", type=_positive, default=100, help="comments per second; default: 100")
    add("--kilobytes", type=_positive, default=300, help="size of an image in KB; default: 300")
    add("--delivered-kilobytes", type=_positive, default=100, help="size of a delivered one; default: 100")
    add("--retention-days", type=_positive, default=30, help="how long an image stays; default: 30")
    add("--images", type=_positive, help="images stored; default: uploads times retention")
    add("--hot", type=_positive, default=2, metavar="PERCENT", help="the largest project's share; default: 2")
    add(
        "--utilization",
        type=_positive,
        default=60,
        metavar="PERCENT",
        help="how busy a core may be; default: 60",
    )
    add(
        "--postgresql-cores",
        type=int,
        default=64,
        help="cores of the largest server you can get; default: 64",
    )
    add("--postgresql-connections", type=int, default=1000, help="its max_connections; default: 1000")
    add("--list-ms", type=_positive, help="time of a list request for 1,000 keys; default: as measured")
    add("--results", type=Path, default=RESULTS, help="default: bench/results.json")
    return parser.parse_args()


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0 or math.isinf(number):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


if __name__ == "__main__":
    sys.exit(main())
