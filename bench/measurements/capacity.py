"""The cost of one request on each server, and whether these costs predict this machine's capacity.

`python -m bench.capacity` uses these rows. docs/scale.md explains them.
"""

import asyncio
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench import contention
from bench.capacity import (
    COMMENT,
    COMMITS,
    COUNTER,
    DELIVERY,
    EXPIRY,
    LISTING,
    LOG,
    POSTGRESQL,
    PRSHOTS,
    SERVERS,
    STORE,
    UPLOAD,
    cost_row,
    reachable,
)
from bench.measurements.engines import valkey
from bench.peers import seaweedfs
from bench.pictures import CONTENT_TYPE, png, upload_body
from bench.postgresql import execute, query, running_postgresql
from bench.processes import cpu_of_machine, cpu_with_ended, tree, wait_until_idle
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service
from bench.wrk import Load, Result, wrk
from prshots.contract.object_names import image_id_of
from prshots.server.adapters.objects.cloud import CloudStore
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.images.images import SqlImages
from prshots.server.domain.upkeep.sweep import sweep
from prshots.server.links import KeyRing
from prshots.server.wiring import upkeep_engines

UPLOADED, DELIVERED, IN_COMMENT = 300 * 1024, 100 * 1024, 20
CONNECTIONS = {UPLOAD: 16, DELIVERY: 8, COMMENT: 2}
CLIENTS, BATCH = 16, 8
A_YEAR = 366 * 86_400
CLIENT = "client"
PROGRAMS = {"postgres": POSTGRESQL, "weed": STORE, "valkey-server": COUNTER}
TARGET = Target(at_least=0.75, at_most=1.33)

T = TypeVar("T")

Costs = dict[str, Counter[str]]
"""CPU milliseconds by operation and server."""


def measure(run: Run) -> Iterator[Row]:
    run.say("capacity: starting PostgreSQL, SeaweedFS and Valkey")
    with ExitStack() as stack:
        database = stack.enter_context(running_postgresql(run.directory / "postgresql"))("prshots")
        server = stack.enter_context(seaweedfs(run.directory / "seaweedfs"))
        settings = server.settings | {
            "PRSHOTS_DATABASE_URL": database,
            "PRSHOTS_COUNTER_URL": stack.enter_context(valkey(run.directory / "valkey")),
        }
        service = Service.create(run.directory / "ours", "--retain-days", "1", settings=settings)
        pid = stack.enter_context(service.idle())
        measured = _Measured(run, service, pid, database)
        yield from measured.requests()
        yield measured.mix()
        yield from measured.upkeep()
        yield from _commits(run, database)


@dataclass
class _Measured:
    run: Run
    service: Service
    pid: int
    database: str

    def __post_init__(self) -> None:
        self.loads = _loads(self.run, self.service)
        self.costs: Costs = {}

    def requests(self) -> Iterator[Row]:
        """Measure each request alone."""
        for operation in self.loads:
            self._load(operation, 1)
            wait_until_idle(self.pid)
            log = query(self.database, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
            cpu, result = self._cpu_of(partial(self._load, operation, 2 * self.run.seconds))
            log = query(self.database, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn") - log
            self.costs[operation] = _divided(cpu, result.requests)
            yield from self._rows(operation)
            if operation == UPLOAD:
                yield Row(LOG, "bytes", log / result.requests)

    def mix(self) -> Row:
        """Run all requests together, and compare the rate with the rate that their costs predict."""
        self.run.say("capacity: uploads, deliveries and comments together")
        wait_until_idle(self.pid)
        busy, started = cpu_of_machine(), time.monotonic()
        ours, done = self._cpu_of(self._load_all)
        others = (cpu_of_machine() - busy - ours.total()) / (time.monotonic() - started)
        rate = sum(result.per_second for result in done.values())
        average = Counter[str]()
        for operation, result in done.items():
            for server, ms in self.costs[operation].items():
                average[_part(operation, server)] += ms * result.per_second / rate
        single = [_part(operation, server) for operation in done for server in (PRSHOTS, CLIENT)]
        predicted, busiest = reachable(average, len(os.sched_getaffinity(0)) - others, single)
        rates = ", ".join(f"{operation} {result.per_second:,.0f}/s" for operation, result in done.items())
        self.run.say(f"capacity: {rates}; predicted {predicted:,.0f}/s together, until the {busiest} is busy")
        measure = "mixed requests, predicted from their costs"
        return Row(measure, "requests/s", predicted, "measured", rate, TARGET)

    def upkeep(self) -> Iterator[Row]:
        """Measure the sweep: how fast it lists the store, and the cost of an expiry."""
        self.run.say("capacity: the sweep")
        wait_until_idle(self.pid)
        yield Row(LISTING, "objects/s", asyncio.run(_listed(self.service, self.database)))
        execute(self.database, f"UPDATE images SET uploaded_at = uploaded_at - {A_YEAR}")
        wait_until_idle(self.pid)
        cpu, (expired, seconds) = self._cpu_of(lambda: asyncio.run(_swept(self.service, self.database)))
        cpu[PRSHOTS] = seconds
        self.costs[EXPIRY] = _divided(cpu, expired)
        yield from self._rows(EXPIRY)

    def _rows(self, operation: str) -> Iterator[Row]:
        for server in SERVERS:
            yield Row(cost_row(operation, server), "ms", max(0.0, self.costs[operation][server]))

    def _load(self, operation: str, seconds: int) -> Result:
        return wrk(self.loads[operation], connections=CONNECTIONS[operation], seconds=seconds)

    def _load_all(self) -> dict[str, Result]:
        with ThreadPoolExecutor(len(self.loads)) as threads:
            results = threads.map(lambda name: self._load(name, 3 * self.run.seconds), self.loads)
            return dict(zip(self.loads, results, strict=True))

    def _cpu_of(self, work: Callable[[], T]) -> tuple[Counter[str], T]:
        """Return the CPU seconds of each server during the work, and the work's result."""
        before = _cpu(self.pid)
        outcome = work()
        cpu = _cpu(self.pid)
        cpu.subtract(before)
        return cpu, outcome


def _part(operation: str, server: str) -> str:
    """Return the name of the component or client that uses a server for an operation."""
    if server == PRSHOTS:
        return "delivery" if operation == DELIVERY else "API"
    return f"client of the {operation}s" if server == CLIENT else server


def _cpu(service: int) -> Counter[str]:
    """Return the CPU seconds so far of the service, the engines, and clients that have ended."""
    ours = tree(service)
    cpu = Counter[str]()
    for process in tree(os.getpid()):
        with suppress(OSError):
            program = Path(f"/proc/{process}/comm").read_text().strip()
            server = PRSHOTS if process in ours else PROGRAMS.get(program)
            if server is not None:
                cpu[server] += cpu_with_ended(process)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu[CLIENT] = ended.ru_utime + ended.ru_stime
    return cpu


def _divided(cpu_seconds: Counter[str], requests: float) -> Counter[str]:
    return Counter({server: seconds * 1000 / requests for server, seconds in cpu_seconds.items()})


def _loads(run: Run, service: Service) -> dict[str, Load]:
    body = run.directory / "upload.multipart"
    body.write_bytes(upload_body(png(UPLOADED), pr_number=1))
    with closing(Api(service)) as api:
        links = [api.upload(png(DELIVERED), pr_number=2) for _ in range(100)]
        for _ in range(IN_COMMENT):
            api.upload(png(1024), pr_number=3)
    token = {"Authorization": f"Bearer {service.token}"}
    uploading = token | {"Content-Type": CONTENT_TYPE}
    return {
        UPLOAD: Load(service.api_address, ["/v1/upload"], "POST", body, uploading),
        DELIVERY: Load(service.img_address, links),
        COMMENT: Load(service.api_address, ["/v1/comment?pr_number=3"], headers=token),
    }


async def _listed(service: Service, database: str) -> float:
    """List the store and look up every object's record, as a sweep does. Return the objects per second."""
    store, records = _store(service), SqlImages(open_postgresql(database))
    listed, started = 0, time.monotonic()
    async for keys in store.stored_before(time.time() + 60):
        await records.known_ids({image_id_of(key) for key in keys})
        listed += len(keys)
    seconds = time.monotonic() - started
    await records.close()
    store.close()
    return listed / seconds


async def _swept(service: Service, database: str) -> tuple[int, float]:
    """Sweep in this process. Return the number of expired images, and the CPU seconds spent here."""
    opened, store = open_postgresql(database), _store(service)
    engines = upkeep_engines(opened, store, lambda: KeyRing.parse(f"k1:{'0' * 64}"), audit_days=400)
    started = time.process_time()
    report = await sweep(engines, force=True)
    seconds = time.process_time() - started
    if report.failed or not report.expired:
        raise BenchError(f"the sweep ended with {report}")
    await opened.close()
    store.close()
    return report.expired, seconds


def _store(service: Service) -> CloudStore:
    os.environ.update({name: value for name, value in service.settings.items() if name.startswith("AWS_")})
    return CloudStore(service.settings["PRSHOTS_STORE_URL"])


def _commits(run: Run, database: str) -> Iterator[Row]:
    """Measure the commits of uploads without an API: to one project, and to many."""
    contention.prepare(database)

    def rate(projects: int, batch: int) -> float:
        run.say(f"capacity: commits of {batch} uploads in {projects:,} projects, {CLIENTS} concurrent")
        return contention.uploads_per_second(
            database, run.directory, projects=projects, batch=batch, clients=CLIENTS, seconds=run.seconds
        )

    spread = rate(contention.PROJECTS, 1)
    yield Row(COMMITS, "uploads/s", rate(1, 1), f"in {contention.PROJECTS:,} projects", spread)
    spread = rate(contention.PROJECTS, BATCH)
    name = f"{COMMITS}, {BATCH} uploads each"
    yield Row(name, "uploads/s", rate(1, BATCH), f"in {contention.PROJECTS:,} projects", spread)
