"""Upload, comment and delete with 1,000,000 images in SQLite, compared with an empty database."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

from bench.fill_sqlite import add_records
from bench.pictures import png
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service, id_of

RECORDS = 1_000_000
TURNS = 400
WARM_UP_TURNS = 40
IMAGES_OF_PR = 20
SIZE = 20 * 1024
TARGET = Target(at_most=1.2)

T = TypeVar("T")


def measure(run: Run) -> Iterator[Row]:
    run.say(f"records: adding {RECORDS:,} images to one of two services")
    full, empty = (Service.create(run.directory / name) for name in ("full", "empty"))
    # Not expired, so the sweep at startup leaves them alone.
    add_records(full, RECORDS, size=SIZE, uploaded_at=int(time.time()))
    with full.idle(), empty.idle(), closing(Api(full)) as at_full, closing(Api(empty)) as at_empty:
        run.say(f"records: {TURNS} uploads, comments and deletes on both, in turn")
        clocks = [_Clock(at_full), _Clock(at_empty)]
        for turn in range(WARM_UP_TURNS + TURNS):
            # The order alternates, because the second of two finds the disk busier.
            for clock in clocks[:: 1 if turn % 2 else -1]:
                clock.take_turn()
    for step in ("upload", "comment", "delete"):
        ours, peer = (clock.p50_ms(step) for clock in clocks)
        yield Row(f"{step}, 1,000,000 records, p50", "ms", ours, "with no records", peer, TARGET)


class _Clock:
    """Times each step on one service, with a pull request that always has 20 images."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._image = png(SIZE)
        self._seconds: dict[str, list[float]] = {"upload": [], "comment": [], "delete": []}
        for _ in range(IMAGES_OF_PR):
            api.upload(self._image)

    def take_turn(self) -> None:
        path = self._timed("upload", lambda: self._api.upload(self._image, pr_number=2))
        self._timed("comment", lambda: self._api.comment(1))
        self._timed("delete", lambda: self._api.delete(id_of(path)))

    def _timed(self, step: str, do: Callable[[], T]) -> T:
        started = time.perf_counter()
        outcome = do()
        self._seconds[step].append(time.perf_counter() - started)
        return outcome

    def p50_ms(self, step: str) -> float:
        return statistics.median(self._seconds[step][WARM_UP_TURNS:]) * 1000
