"""The metrics, in Prometheus format.

All processes of one `prshots serve` write to one folder, each to its own files. The process that answers
`/metrics` adds them up. Files are named after the worker's slot (`api-0`), not its process id, so a restarted
worker continues its predecessor's counts.
"""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from prometheus_client import values

from prshots import __version__
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.sizes import readable_size
from prshots.server.observability.metrics_folder import FOLDER_VARIABLE, SLOT_VARIABLE

FOLDER = Path(os.environ[FOLDER_VARIABLE]) if os.environ.get(FOLDER_VARIABLE) else None
SLOT = os.environ.get(SLOT_VARIABLE, str(os.getpid()))

# This must happen before the first metric is created. A missing folder must not prevent startup.
if FOLDER and FOLDER.is_dir():
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(FOLDER)  # the library reads this
    values.ValueClass = values.MultiProcessValue(lambda: SLOT)  # type: ignore[no-untyped-call]
else:
    values.ValueClass = values.MutexValue

from prometheus_client import (  # noqa: E402
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric  # noqa: E402
from prometheus_client.multiprocess import MultiProcessCollector  # noqa: E402
from prometheus_client.registry import Collector  # noqa: E402

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UPLOAD_RESULTS = (
    "stored",
    "repeated",
    "unauthorized",
    "invalid",
    "too_large",
    "unsupported",
    "rate_limited",
    "over_quota",
    "busy",
    "timed_out",
    "failed",
)
DELIVERY_RESULTS = (
    "sent",
    "not_modified",
    "checked",
    "invalid",
    "expired",
    "unsatisfiable",
    "unavailable",
    "failed",
)
EXCHANGE_RESULTS = ("granted", "refused", "unavailable")
EXPIRED_BY = ("request", "sweep")
SWEEP_RESULTS = ("ok", "failed")
SWEEP_REFUSALS = ("clock", "retention", "orphans")
WEBHOOK_EVENTS = ("compared", "decided", "gate", "expired", "quota", "test")

MetricT = TypeVar("MetricT", Counter, Histogram)

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_own = CollectorRegistry()
disable_created_metrics()  # type: ignore[no-untyped-call]  # these would double the number of series


def _counter(name: str, about: str, labels: str = "", *known: Iterable[str]) -> Counter:
    """Create a counter. Known values start at zero, because rate() misses a new series' first increment."""
    counter = Counter(name, about, labels.split(), registry=_own)
    for label_values in itertools.product(*known) if known else ():
        counter.labels(*label_values)
    return counter


def _histogram(name: str, about: str, *labels: str) -> Histogram:
    return Histogram(name, about, labels, buckets=BUCKETS, registry=_own)


def _gauge(
    name: str, about: str, *labels: str, mode: Literal["max", "mostrecent", "sum"] = "mostrecent"
) -> Gauge:
    return Gauge(name, about, labels, registry=_own, multiprocess_mode=mode)


BUILD_INFO = _gauge(
    "prshots_build_info", "Always 1; the label has the running version.", "version", mode="max"
)
BUILD_INFO.labels(__version__).set(1)
READY = _gauge("prshots_ready", "1 if the process was ready at its last check, else 0.", "process")
WORKER_RESTARTS = _counter(
    "prshots_worker_restarts", "Worker processes restarted after they died.", "component"
)

UPLOADS = _counter("prshots_uploads", "Uploads by result.", "result", UPLOAD_RESULTS)
UPLOAD_BYTES = _counter("prshots_upload_bytes", "Bytes of stored images.")
UNLIMITED_UPLOADS = _counter(
    "prshots_uploads_not_limited",
    "Uploads accepted without a rate limit because the counter did not respond.",
)
EXCHANGES = _counter(
    "prshots_token_exchanges", "ID token exchanges of CI jobs, by result.", "result", EXCHANGE_RESULTS
)
COUNTER_OUTAGES = _counter("prshots_counter_outages", "Outages of the counter.")

DELIVERIES = _counter("prshots_deliveries", "Requests for images by result.", "result", DELIVERY_RESULTS)
DELIVERY_BYTES = _counter("prshots_delivery_bytes", "Bytes of images sent.")
CACHED_READS = _counter(
    "prshots_delivery_cache_reads", "Reads from a remote store by result.", "result", ("hit", "miss")
)
DELIVERY_SECONDS = _histogram(
    "prshots_delivery_seconds", "Time from a request for an image to the start of the reply."
)

REQUESTS = Counter(
    "prshots_requests",
    "Requests to the API and the dashboard.",
    ["component", "route", "status"],
    registry=_own,
)
REQUEST_SECONDS = _histogram(
    "prshots_request_seconds", "Duration of requests to the API and the dashboard.", "component", "route"
)
IN_PROGRESS = _gauge(
    "prshots_requests_in_progress",
    "Requests that the API and the dashboard are working on.",
    "component",
    mode="sum",
)
DATABASE_SECONDS = _histogram(
    "prshots_database_seconds",
    "Duration of database operations, including the wait for a connection.",
    "operation",
)
DATABASE_IN_PROGRESS = _gauge(
    "prshots_database_operations_in_progress",
    "Database operations that run or wait for a connection.",
    mode="sum",
)
DATABASE_CONNECTIONS = _gauge(
    "prshots_database_pool_size", "Database operations that can run at the same time.", mode="sum"
)
STORE_SECONDS = _histogram("prshots_store_seconds", "Duration of origin store operations.", "operation")
ENGINE_FAILURES = _counter("prshots_engine_failures", "Failed operations by engine.", "engine")
COMPARED_PAIRS = _counter(
    "prshots_compared_pairs", "Pairs of images that were compared, by verdict.", "verdict"
)
_BY_FORGE = ("kind forge", ("status", "comment"), ForgeKind)
OUTBOX_SENT = _counter("prshots_outbox_sent", "Deliveries to forges, by kind and forge.", *_BY_FORGE)
OUTBOX_FAILED = _counter("prshots_outbox_failed", "Failed deliveries, by kind and forge.", *_BY_FORGE)
OUTBOX_WAITING = _gauge("prshots_outbox_waiting", "Deliveries to forges that are due, counted every 30 s.")
WEBHOOKS_SENT = _counter(
    "prshots_webhooks_sent", "Webhook messages that arrived, by event.", "event", WEBHOOK_EVENTS
)
WEBHOOKS_FAILED = _counter(
    "prshots_webhooks_failed",
    "Failed attempts to send webhook messages, by event.",
    "event",
    WEBHOOK_EVENTS,
)
WEBHOOKS_WAITING = _gauge(
    "prshots_webhooks_waiting", "Webhook messages that wait to be sent, counted every 30 s."
)

EXPIRED = _counter("prshots_expired_images", "Expired images, by request or by sweep.", "by", EXPIRED_BY)
SWEEPS = _counter("prshots_sweeps", "Sweeps by result.", "result", SWEEP_RESULTS)
SWEEP_FAILED = _counter("prshots_sweep_failed_images", "Images that a sweep could not delete.")
SWEEP_ORPHANS = _counter("prshots_sweep_orphans", "Files without a record that sweeps deleted.")
SWEEP_FREED_BYTES = _counter("prshots_sweep_freed_bytes", "Bytes freed by sweeps.")
SWEEP_REFUSED = _gauge(
    "prshots_sweep_refused",
    "1 if the last sweep refused to delete something because it looked like a mistake.",
    "reason",
)
SWEEP_SECONDS = _gauge("prshots_last_sweep_seconds", "Duration of the last sweep.")
SWEPT_AT = _gauge("prshots_last_sweep_timestamp_seconds", "Unix time at which a sweep last completed.")
STORED_BYTES = _gauge("prshots_stored_bytes", "Bytes of all stored images, as of the last sweep.")
FREE_BYTES = _gauge(
    "prshots_free_bytes", "Free bytes on the local disks that hold the database and the images.", "volume"
)


@functools.cache
def with_labels(metric: MetricT, *labels: str) -> MetricT:
    """Return the metric's series for these labels. The library's own `labels` is slower than counting."""
    return metric.labels(*labels)


class EngineTimer:
    """Times an engine's operation, and counts it if it fails."""

    __slots__ = ("_engine", "_seconds", "_started")

    def __init__(self, histogram: Histogram, operation: str, engine: str) -> None:
        self._seconds, self._engine = with_labels(histogram, operation), engine

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            ENGINE_FAILURES.labels(self._engine).inc()
        self._seconds.observe(time.perf_counter() - self._started)


def add_observations(histogram: Histogram, in_buckets: Sequence[int], seconds: float) -> None:
    """Add observations that were counted elsewhere: the count per bucket, and the sum in seconds.

    The library has no function for this. Calling `observe` each time would cost as much as delivering an
    image.
    """
    for bucket, count in zip(histogram._buckets, in_buckets, strict=True):  # noqa: SLF001 - see above
        if count:
            bucket.inc(count)
    histogram._sum.inc(seconds)  # noqa: SLF001 - see above


def watch_disks(volumes: Mapping[str, Path | None]) -> None:
    """Measure the free space at these paths on every scrape. None means a disk on another machine."""
    _volumes.update({volume: path for volume, path in volumes.items() if path})


_volumes: dict[str, Path] = {}


def announce_process() -> None:
    """Let the process that answers `/metrics` measure this one."""
    if FOLDER:
        with contextlib.suppress(OSError):  # a full disk: the other metrics still work
            (FOLDER / f"{SLOT}{_PID}").write_text(str(os.getpid()))


_PID = ".pid"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Processes(Collector):
    """Reads the memory, processor time and open files of the announced processes at every scrape.

    The library's own collector needs /proc/stat, which our systemd unit hides.
    """

    def collect(self) -> Iterable[Metric]:
        memory = GaugeMetricFamily(
            "prshots_process_resident_bytes", "Memory of each process.", labels=["process"]
        )
        cpu = CounterMetricFamily(
            "prshots_process_cpu_seconds", "Processor time of each process.", labels=["process"]
        )
        files = GaugeMetricFamily(
            "prshots_process_open_files", "Open files and connections of each process.", labels=["process"]
        )
        for announced in FOLDER.glob(f"*{_PID}") if FOLDER else ():
            with contextlib.suppress(OSError, ValueError):  # it has just ended
                process = Path("/proc", announced.read_text())
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                open_files = len(list((process / "fd").iterdir()))
                memory.add_metric([announced.stem], int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
                cpu.add_metric([announced.stem], (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND)
                files.add_metric([announced.stem], open_files)
        return memory, cpu, files


_own.register(Processes())


def render() -> bytes:
    """Return the metrics of all processes in the folder. Without a folder, return this process's metrics."""
    for volume, path in _volumes.items():
        with contextlib.suppress(OSError):  # nothing is stored yet
            FREE_BYTES.labels(volume).set(free_bytes(path))
    if FOLDER is None or not FOLDER.is_dir():
        return generate_latest(_own)
    combined = CollectorRegistry()
    combined.register(Processes())
    MultiProcessCollector(combined, path=str(FOLDER))  # type: ignore[no-untyped-call]
    return generate_latest(combined)


LOW_BYTES = 100 * 1024**2
"""Below this, uploads are about to fail."""


def free_bytes(path: Path) -> int:
    """Return the space that this user can still fill on the disk of a path, or of its parent folder.

    Raises OSError.
    """
    disk = os.statvfs(path if path.exists() else path.parent)
    return disk.f_bavail * disk.f_frsize


def shortage(path: Path) -> str:
    """Return a message if the disk that holds the path is nearly full, else ""."""
    try:
        free = free_bytes(path)
    except FileNotFoundError:  # nothing is stored yet
        return ""
    return f"only {readable_size(free)} free at {path}: free up space" if free < LOW_BYTES else ""
