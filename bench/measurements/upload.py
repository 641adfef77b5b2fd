"""Uploads of 300 KB, 16 concurrent, compared with SeaweedFS and with the bare disk."""

import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers import SeaweedFS, seaweedfs
from bench.pictures import CONTENT_TYPE, png, upload_body
from bench.processes import CpuTime, cpu_time, wait_until_idle
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Service
from bench.wrk import Load, in_turn, wrk

CONCURRENT = 16
SIZE = 300 * 1024
WARM_UP_SECONDS = 1
SEAWEEDFS, DISK = "SeaweedFS presigned PUT", "write + fsync"
TARGET = Target(at_least=2)
CPU_TARGET = Target(at_most=1.3)
WORKERS = {"one API worker": "1", "two API workers": "2"}
"""The numbers of API workers to try. The rows show the number that is faster on this machine, and name it."""


def measure(run: Run) -> Iterator[Row]:
    run.say("upload: starting both servers")
    image = run.directory / "image.png"
    image.write_bytes(png(SIZE))
    body = run.directory / "upload.multipart"
    body.write_bytes(upload_body(image.read_bytes(), pr_number=1))
    with ExitStack() as stack:
        ours = {name: _running(stack, run, body, count) for name, count in WORKERS.items()}
        puts = SeaweedPuts(run, stack.enter_context(seaweedfs(run.directory / "seaweedfs")), image)
        disk = _Disk(run, run.directory / "disk", image.read_bytes())
        for warm_up in (*(uploads.measure for uploads in ours.values()), puts.measure):
            warm_up(WARM_UP_SECONDS)
        measures = {name: uploads.measure for name, uploads in ours.items()}
        rates = in_turn(
            {**measures, SEAWEEDFS: puts.measure, DISK: disk.measure}, run.say, "upload of 300 KB"
        )
        for uploads in ours.values():
            uploads.check_records()
        puts.check_objects()
    best = max(ours, key=lambda name: rates[name])
    measure = f"upload, 300 KB, {best}"
    yield Row(measure, "uploads/s", rates[best], SEAWEEDFS, rates[SEAWEEDFS], TARGET)
    yield Row(measure, "uploads/s", rates[best], DISK, rates[DISK])
    yield from (uploads.cpu_row(f"upload, 300 KB, {name}: CPU time") for name, uploads in ours.items())


def _running(stack: ExitStack, run: Run, body: Path, workers: str) -> "Uploads":
    settings = {"PRSHOTS_API_WORKERS": workers}
    service = Service.create(run.directory / f"ours-{workers}", settings=settings)
    return Uploads(run, service, stack.enter_context(service.idle()), body)


def _settle(pid: int | None = None) -> None:
    """Flush earlier writes to the disk, to keep a server from waiting for another server's writes."""
    os.sync()
    if pid is not None:
        wait_until_idle(pid)


@dataclass
class Uploads:
    run: Run
    service: Service
    pid: int
    body: Path
    done: int = 0
    cpu: CpuTime = field(default_factory=lambda: CpuTime(0, 0))

    def measure(self, seconds: int | None = None) -> float:
        _settle(self.pid)
        before = cpu_time(self.pid)
        headers = {"Authorization": f"Bearer {self.service.token}", "Content-Type": CONTENT_TYPE}
        load = Load(self.service.api_address, ["/v1/upload"], "POST", self.body, headers)
        result = wrk(load, connections=CONCURRENT, seconds=seconds or self.run.seconds)
        after = cpu_time(self.pid)
        self.cpu = CpuTime(
            self.cpu.user + after.user - before.user, self.cpu.system + after.system - before.system
        )
        self.done += result.requests
        return result.per_second

    def cpu_row(self, measure: str) -> Row:
        """Return the CPU time per upload of all processes of the service. Other load distorts it least."""
        user, system = (1000 * seconds / self.done for seconds in self.cpu)
        note = f"{user:.2f} ms in user mode, {system:.2f} ms in the kernel"
        return Row(measure, "ms/upload", user + system, target=CPU_TARGET, note=note)

    def check_records(self) -> None:
        with closing(sqlite3.connect(self.service.database)) as database:
            (records,) = database.execute("SELECT count(*) FROM images WHERE size = ?", [SIZE]).fetchone()
        files = sum(file.stat().st_size == SIZE for file in self.service.images.glob("??/*.png"))
        if min(records, files) < self.done:
            raise BenchError(
                f"{self.done} uploads were accepted, but {records} records and {files} files exist"
            )


@dataclass
class SeaweedPuts:
    run: Run
    server: SeaweedFS
    image: Path
    done: int = 0
    per_second: float = 2000
    prefixes: list[str] = field(default_factory=list)

    def measure(self, seconds: int | None = None) -> float:
        """PUT to new keys only. Signs twice as many as wrk is likely to need."""
        seconds = seconds or self.run.seconds
        prefix = uuid.uuid4().hex
        keys = (f"{prefix}/{number}.png" for number in range(int(2 * self.per_second * seconds)))
        paths = [self.server.presigned("put_object", key) for key in keys]
        _settle(self.server.pid)
        load = Load(self.server.address, paths, "PUT", self.image, {"Content-Type": "image/png"})
        result = wrk(load, connections=CONCURRENT, seconds=seconds)
        if result.requests > len(paths):
            raise BenchError("SeaweedFS was faster than expected: it ran out of new keys")
        self.prefixes.append(prefix)
        self.done += result.requests
        self.per_second = max(self.per_second, result.per_second)
        return result.per_second

    def check_objects(self) -> None:
        objects = sum(self.server.count_objects(f"{prefix}/", SIZE) for prefix in self.prefixes)
        if objects < self.done:
            raise BenchError(f"SeaweedFS accepted {self.done} objects but has {objects}")


@dataclass
class _Disk:
    """The speed of the disk alone: temporary file, fsync, rename, fsync of the folder, in 16 threads."""

    run: Run
    folder: Path
    content: bytes

    def measure(self) -> float:
        _settle()
        self.folder.mkdir(exist_ok=True)
        started = time.monotonic()
        with ThreadPoolExecutor(CONCURRENT) as threads:
            written = sum(threads.map(self._write_until, [started + self.run.seconds] * CONCURRENT))
        return written / (time.monotonic() - started)

    def _write_until(self, deadline: float) -> int:
        written = 0
        while time.monotonic() < deadline:
            self._write(uuid.uuid4().hex)
            written += 1
        return written

    def _write(self, name: str) -> None:
        folder = self.folder / name[:2]
        folder.mkdir(exist_ok=True)
        unfinished = self.folder / f"{name}.tmp"
        with unfinished.open("wb", buffering=0) as file:
            file.write(self.content)
            os.fsync(file.fileno())
        unfinished.rename(folder / f"{name}.png")
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
