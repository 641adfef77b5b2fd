"""Requests at a fixed rate, from a separate process, regardless of the server's progress.

Each time counts from when the request was due, so it includes the wait for a free connection. A load that
waits for the server before it continues would hide that.
"""

import http.client
import itertools
import multiprocessing
import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from bench.run import BenchError

CONNECTIONS = 4
START_SECONDS = 1.0
"""How long all processes take to start."""
WARM_UP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Stream:
    """The requests of one kind of client. It requests the paths in turn."""

    name: str
    per_second: float
    port: int
    paths: Sequence[str]
    method: str = "GET"
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


def p99_ms(streams: Sequence[Stream], seconds: float) -> list[float]:
    """Send all streams at once for this long. Return the 99th percentile of each."""
    with ProcessPoolExecutor(len(streams), multiprocessing.get_context("spawn")) as processes:
        for warm in [processes.submit(_nothing) for _ in streams]:
            warm.result()
        start = time.monotonic() + START_SECONDS  # the same clock in all processes
        sent = [processes.submit(send, stream, start, seconds) for stream in streams]
        times = [each.result() for each in sent]
    return [statistics.quantiles(each, n=100, method="inclusive")[98] * 1000 for each in times]


def _nothing() -> None:
    """Keep a process busy long enough to give each task its own process."""
    time.sleep(0.5)


def send(stream: Stream, start: float, seconds: float) -> list[float]:
    """Return the seconds that each request took, excluding the warm-up."""
    numbers, lock = itertools.count(), threading.Lock()
    times: list[float] = []
    problems: list[str] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", stream.port, timeout=30)
        while not problems:
            with lock:
                number = next(numbers)
            due = start + number / stream.per_second
            if due > start + WARM_UP_SECONDS + seconds:
                break
            time.sleep(max(0.0, due - time.monotonic()))
            path = stream.paths[number % len(stream.paths)]
            connection.request(stream.method, path, stream.body, dict(stream.headers))
            reply = connection.getresponse()
            content = reply.read()
            if reply.status != http.client.OK:
                problems.append(f"{stream.method} {path}: {reply.status} {content[:200]!r}")
            if due >= start + WARM_UP_SECONDS:
                times.append(time.monotonic() - due)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise BenchError(problems[0])
    return times
