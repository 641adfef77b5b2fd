"""The dashboard's lists with 100,000 images in the project, compared with 20,000."""

import statistics
import time
from collections.abc import Iterator

from bench.browser import Browser
from bench.fill_sqlite import add_records
from bench.report import Row, Target
from bench.run import Run
from bench.service import Service

MANY, FEW = 100_000, 20_000
"""FEW still fills a page of every list: 40 pull requests with 500 images each."""
TURNS, WARM_UP_TURNS = 100, 10
SIZE = 20 * 1024
TARGET = Target(at_most=1.5)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"dashboard: adding {MANY:,} images to one of two services, {FEW:,} to the other")
    full, small = (Service.create(run.directory / name) for name in ("full", "small"))
    for service, count in ((full, MANY), (small, FEW)):
        add_records(service, count, size=SIZE, uploaded_at=int(time.time()))
    with full.idle(), small.idle():
        run.say(f"dashboard: requesting each list {TURNS} times from both, through the web component")
        pages = [_Page(full), _Page(small)]
        for turn in range(WARM_UP_TURNS + TURNS):
            for page in pages[:: 1 if turn % 2 else -1]:
                page.take_turn()
    for name in pages[0].paths:
        ours, peer = (page.p50_ms(name) for page in pages)
        yield Row(f"{name}, {MANY:,} images, p50", "ms", ours, f"with {FEW:,}", peer, TARGET)


class _Page:
    """Times the requests of a browser."""

    def __init__(self, service: Service) -> None:
        self._browser = Browser(service)
        self.paths = self._browser.lists
        self._seconds: dict[str, list[float]] = {name: [] for name in self.paths}

    def take_turn(self) -> None:
        for name, path in self.paths.items():
            started = time.perf_counter()
            self._browser.get(path)
            self._seconds[name].append(time.perf_counter() - started)

    def p50_ms(self, name: str) -> float:
        return statistics.median(self._seconds[name][WARM_UP_TURNS:]) * 1000
