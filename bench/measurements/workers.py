"""Two workers of the API and delivery on the embedded engines, compared with one of each.

On few cores, the rates say little, because wrk uses some of them. The processor time per request shows the
cost of the second worker, because it doesn't include wrk's.
"""

import os
import re
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench.pictures import CONTENT_TYPE, png, upload_body
from bench.processes import cpu_seconds, pss_bytes, wait_until_idle
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service
from bench.wrk import Load, wrk

CONCURRENT = 16
UPLOADED, DELIVERED = 300 * 1024, 100 * 1024
ROUNDS = 3
ENOUGH_CORES = 4
"""Enough cores for two workers and wrk, to let the second worker double the rate."""

FASTER = Target(at_least=1.7) if (os.cpu_count() or 1) >= ENOUGH_CORES else None
SAME_COST = Target(at_most=1.1)


def measure(run: Run) -> Iterator[Row]:
    body = run.directory / "upload.multipart"
    body.write_bytes(upload_body(png(UPLOADED), pr_number=1))
    with ExitStack() as stack:
        one, two = (stack.enter_context(closing(_Workers(run, body, count))) for count in (1, 2))
        for number in range(1, ROUNDS + 1):
            for measured in (one, two):
                measured.take_turn()
            run.say(f"workers, round {number} of {ROUNDS}: one {one}; two {two}")
        for what, of_one, of_two in (
            ("upload, 300 KB", one.uploads, two.uploads),
            ("delivery, 100 KB", one.deliveries, two.deliveries),
        ):
            yield Row(f"{what}, 2 workers", "/s", of_two.rate, "1 worker", of_one.rate, FASTER)
            cost = f"{what}, 2 workers, processor time"
            yield Row(cost, "ms", of_two.cpu_ms, "1 worker", of_one.cpu_ms, SAME_COST)
        note = f"the upload itself takes {two.uploads.p50_ms:.0f} ms (p50)"
        yield Row("upload, 2 workers, wait for the other", "ms", two.uploads.wait_ms, note=note)
        yield Row("idle memory, 2 workers each", "MB", two.idle_mb, "1 each", one.idle_mb)


@dataclass
class _Turns:
    """The requests of one kind: rate, processor time, and the wait for the turn to write."""

    rates: list[float] = field(default_factory=list)
    p50s: list[float] = field(default_factory=list)
    requests: int = 0
    cpu: float = 0.0
    waited: float = 0.0

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.p50s)

    @property
    def cpu_ms(self) -> float:
        return self.cpu / self.requests * 1000

    @property
    def wait_ms(self) -> float:
        return self.waited / self.requests * 1000

    def __str__(self) -> str:
        return f"{self.rate:,.0f}/s at {self.cpu_ms:.3g} ms"


class _Workers:
    """A service with this many workers of the API and of delivery."""

    def __init__(self, run: Run, body: Path, count: int) -> None:
        self._run = run
        settings = {"PRSHOTS_WORKERS": str(count)}
        self._service = Service.create(run.directory / f"workers-{count}", settings=settings)
        self._serving = self._service.idle()
        self._pid = self._serving.__enter__()
        self.idle_mb = pss_bytes(self._pid) / 1024**2
        with closing(Api(self._service)) as api:
            link = api.upload(png(DELIVERED))
        headers = {"Authorization": f"Bearer {self._service.token}", "Content-Type": CONTENT_TYPE}
        self._upload = Load(self._service.api_address, ["/v1/upload"], "POST", body, headers)
        self._deliver = Load(self._service.img_address, [link])
        self.uploads, self.deliveries = _Turns(), _Turns()

    def take_turn(self) -> None:
        self._load(self._upload, self.uploads)
        self._load(self._deliver, self.deliveries)

    def close(self) -> None:
        self._serving.__exit__(None, None, None)

    def __str__(self) -> str:
        return f"{self.uploads} an upload, {self.deliveries} a delivery"

    def _load(self, load: Load, turns: _Turns) -> None:
        os.sync()
        wait_until_idle(self._pid)
        cpu, waited = cpu_seconds(self._pid), self._waited()
        result = wrk(load, connections=CONCURRENT, seconds=self._run.seconds)
        turns.rates.append(result.per_second)
        turns.p50s.append(result.p50_ms)
        turns.requests += result.requests
        turns.cpu += cpu_seconds(self._pid) - cpu
        turns.waited += self._waited() - waited

    def _waited(self) -> float:
        """Return how long all workers have waited for their turn to write to SQLite."""
        metrics = httpx.get(f"{self._service.api_address}/metrics", trust_env=False).text
        found = re.search(r'^prshots_database_seconds_sum{operation="wait"} (\S+)', metrics, re.MULTILINE)
        return float(found[1]) if found else 0.0
