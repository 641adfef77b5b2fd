"""`prshots sweep` with 100,000 images due: half of them scheduled, half past their `retain_days`."""

import os
import time
from collections.abc import Iterator

from bench.filler import add_bytes, add_records, count_files, count_records
from bench.load import BenchError
from bench.report import Row, Target
from bench.service import Service
from bench.settings import Run

DUE = 100_000
SIZE = 1024
RETAIN_DAYS = 7
DAY = 24 * 3600
TARGET = Target(at_least=5000)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"sweep: preparing {DUE:,} images that are due")
    service = Service.create(
        run.directory / "ours", "--policy", "retain_days", "--retain-days", str(RETAIN_DAYS)
    )
    empty = _seconds_of_sweep(service)
    now = int(time.time())
    add_records(service, DUE // 2, size=SIZE, uploaded_at=now, scheduled_at=now)
    add_records(service, DUE // 2, size=SIZE, uploaded_at=now - 2 * RETAIN_DAYS * DAY)
    add_bytes(service, SIZE)
    os.sync()
    run.say("sweep: sweeping")
    full = _seconds_of_sweep(service)
    records, files = count_records(service), count_files(service)
    if records or files:
        raise BenchError(f"the sweep left {records} records and {files} files")
    note = f"{DUE / (full - empty):,.0f} without the {empty:.1f} s that an empty sweep takes"
    yield Row("sweep of 100,000, whole command", "images/s", DUE / full, target=TARGET, note=note)


def _seconds_of_sweep(service: Service) -> float:
    started = time.monotonic()
    service.run("sweep")
    return time.monotonic() - started
