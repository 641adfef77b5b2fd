"""`prshots sweep` with 100,000 expired images: half are scheduled, half are older than `retain_days`."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.fill_sqlite import add_bytes, add_records, count_files, count_records
from bench.pictures import png
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Service

DUE = 100_000
SIZE = 1024
UNLINKS, UNLINK_THREADS = 10_000, 16
RETAIN_DAYS = 7
DAY = 24 * 3600
TARGET = Target(at_least=5000)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"sweep: preparing {DUE:,} expired images")
    service = Service.create(
        run.directory / "ours", "--policy", "retain_days", "--retain-days", str(RETAIN_DAYS)
    )
    empty = _seconds_of_sweep(service)
    now = int(time.time())
    add_records(service, DUE // 2, size=SIZE, uploaded_at=now, scheduled_at=now)
    add_records(service, DUE // 2, size=SIZE, uploaded_at=now - 2 * RETAIN_DAYS * DAY)
    add_bytes(service, SIZE)
    bare_disk = _unlinks_per_second(run)
    run.say("sweep: sweeping")
    full = _seconds_of_sweep(service)
    records, files = count_records(service), count_files(service)
    if records or files:
        raise BenchError(f"the sweep left {records} records and {files} files")
    note = f"{full:.1f} s in total, {empty:.1f} s of it start-up"
    yield Row("sweep of 100,000, whole command", "images/s", DUE / full, target=TARGET, note=note)
    yield Row(
        "sweep of 100,000, without start-up", "images/s", DUE / (full - empty), "unlink alone", bare_disk
    )


def _seconds_of_sweep(service: Service) -> float:
    started = time.monotonic()
    service.run("sweep", "--force")  # deletes everything
    return time.monotonic() - started


def _unlinks_per_second(run: Run) -> float:
    """Return how many such files the disk can unlink per second, with 16 threads and no other work."""
    files = [run.directory / "unlink" / f"{number:05x}" for number in range(UNLINKS)]
    files[0].parent.mkdir()
    content = png(SIZE)
    for file in files:
        file.write_bytes(content)
    # Unlinking a file that isn't on disk yet costs nothing, but real images are on disk.
    os.sync()
    started = time.monotonic()
    with ThreadPoolExecutor(UNLINK_THREADS) as threads:
        list(threads.map(Path.unlink, files))
    return UNLINKS / (time.monotonic() - started)
