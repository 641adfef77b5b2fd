"""The figures that an operator watches, in Prometheus' format.

Every process of one `prshots serve` keeps its figures in one folder, each in files of its own, and whichever
of them is asked adds them up. A file is named for a place (`api-0`), not for a process: who starts anew after
a crash goes on counting where the one before stopped.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client import values

from prshots import __version__
from prshots.server.observability.metrics_folder import FOLDER_VARIABLE, SLOT_VARIABLE

FOLDER = Path(os.environ[FOLDER_VARIABLE]) if os.environ.get(FOLDER_VARIABLE) else None
_SLOT = os.environ.get(SLOT_VARIABLE, str(os.getpid()))

# Before the first metric is made. A folder that somebody has taken away must not keep a part from starting.
if FOLDER and FOLDER.is_dir():
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(FOLDER)  # by which the library knows it
    values.ValueClass = values.MultiProcessValue(lambda: _SLOT)  # type: ignore[no-untyped-call]
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
from prometheus_client.multiprocess import MultiProcessCollector  # noqa: E402

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UPLOAD_RESULTS = (
    "stored",
    "unauthorized",
    "invalid",
    "too_large",
    "unsupported",
    "rate_limited",
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

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_own = CollectorRegistry()
disable_created_metrics()  # type: ignore[no-untyped-call]  # a second figure for each, which nobody asks for

BUILD_INFO = Gauge(
    "prshots_build_info", "Always 1: which version runs.", ["version"], registry=_own, multiprocess_mode="max"
)
WORKER_RESTARTS = Counter(
    "prshots_worker_restarts", "Processes that died and were started again.", ["part"], registry=_own
)
UPLOADS = Counter("prshots_uploads", "Uploads, by what became of them.", ["result"], registry=_own)
UPLOAD_BYTES = Counter("prshots_upload_bytes", "Bytes of the images stored.", registry=_own)
UNLIMITED_UPLOADS = Counter(
    "prshots_uploads_not_limited", "Uploads let through because the counter did not answer.", registry=_own
)
EXCHANGES = Counter(
    "prshots_token_exchanges", "ID tokens of CI jobs, by what became of them.", ["result"], registry=_own
)
COUNTER_OUTAGES = Counter("prshots_counter_outages", "Times that the counter went away.", registry=_own)
DELIVERIES = Counter("prshots_deliveries", "Requests for images, by their result.", ["result"], registry=_own)
DELIVERY_BYTES = Counter("prshots_delivery_bytes", "Bytes of images sent.", registry=_own)
DELIVERY_SECONDS = Histogram(
    "prshots_delivery_seconds",
    "From a request for an image to its decision; sending is not counted.",
    buckets=BUCKETS,
    registry=_own,
)
REQUESTS = Counter(
    "prshots_requests", "Requests to the API and the dashboard.", ["part", "route", "status"], registry=_own
)
REQUEST_SECONDS = Histogram(
    "prshots_request_seconds",
    "How long requests took, from head to reply.",
    ["part", "route"],
    buckets=BUCKETS,
    registry=_own,
)
DATABASE_SECONDS = Histogram(
    "prshots_database_seconds",
    "How long the database took, waiting for a connection included.",
    ["operation"],
    buckets=BUCKETS,
    registry=_own,
)
STORE_SECONDS = Histogram(
    "prshots_store_seconds", "How long the image store took.", ["operation"], buckets=BUCKETS, registry=_own
)
ENGINE_FAILURES = Counter(
    "prshots_engine_failures", "Operations that an engine failed.", ["engine"], registry=_own
)
EXPIRED = Counter("prshots_expired_images", "Images deleted, by what asked for it.", ["by"], registry=_own)
SWEEPS = Counter("prshots_sweeps", "Sweeps, by how they ended.", ["result"], registry=_own)
SWEEP_FAILED = Counter("prshots_sweep_failed_images", "Images that a sweep could not delete.", registry=_own)
SWEEP_ORPHANS = Counter("prshots_sweep_orphans", "Stored files without a record, removed.", registry=_own)
SWEEP_FREED_BYTES = Counter("prshots_sweep_freed_bytes", "Bytes that sweeps freed.", registry=_own)
SWEEP_SECONDS = Gauge(
    "prshots_last_sweep_seconds",
    "How long the last sweep took.",
    registry=_own,
    multiprocess_mode="mostrecent",
)
SWEPT_AT = Gauge(
    "prshots_last_sweep_timestamp_seconds",
    "When a sweep last came to its end.",
    registry=_own,
    multiprocess_mode="mostrecent",
)

BUILD_INFO.labels(__version__).set(1)
# From zero on: what is there only after the first failure looks, to a rate, as if it had never begun.
for _counter, _values in (
    (UPLOADS, UPLOAD_RESULTS),
    (EXCHANGES, EXCHANGE_RESULTS),
    (DELIVERIES, DELIVERY_RESULTS),
    (EXPIRED, EXPIRED_BY),
    (SWEEPS, SWEEP_RESULTS),
):
    for _value in _values:
        _counter.labels(_value)


@contextlib.contextmanager
def timed(histogram: Histogram, operation: str, engine: str) -> Iterator[None]:
    """Time an operation of an engine, and count it if it fails."""
    started = time.perf_counter()
    try:
        yield
    except Exception:
        ENGINE_FAILURES.labels(engine).inc()
        raise
    finally:
        histogram.labels(operation).observe(time.perf_counter() - started)


def add_observations(histogram: Histogram, in_buckets: Sequence[int], seconds: float) -> None:
    """Add what was observed elsewhere: how many in each bucket of DELIVERY_SECONDS, and their sum.

    The library has no call for it; on the way of every image, its own would cost as much as the image.
    """
    for bucket, count in zip(histogram._buckets, in_buckets, strict=True):  # noqa: SLF001 - see above
        if count:
            bucket.inc(count)
    histogram._sum.inc(seconds)  # noqa: SLF001 - see above


def render() -> bytes:
    """Return all figures: of every process in the folder, or of this one alone if there is no folder."""
    if FOLDER is None or not FOLDER.is_dir():
        return generate_latest(_own)
    everybodys = CollectorRegistry()
    MultiProcessCollector(everybodys, path=str(FOLDER))  # type: ignore[no-untyped-call]
    return generate_latest(everybodys)
