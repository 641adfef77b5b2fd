"""Uploads and deliveries while the same service compares screenshots, compared with their usual times."""

import hashlib
import http.client
import io
import os
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from bench.pages import Page, camera
from bench.pictures import png
from bench.processes import wait_until_idle
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service, Shot

SHOTS = 60
PAGES = 10
ROUNDS = 5
USUAL_TURNS = 200
DELIVERIES_A_TURN = 3
WARM_UP_TURNS = 40
SIZE = 100 * 1024
TARGET = Target(at_most=1.2)
BASE = hashlib.sha1(b"base").hexdigest()


def measure(run: Run) -> Iterator[Row]:
    run.say(f"compare_load: rendering {PAGES} pages")
    with camera() as chromium:
        pages = chromium.shots(*(Page(number) for number in range(PAGES)))
    service = Service.create(run.directory / "ours")
    with service.idle() as pid, closing(Api(service)) as api, closing(_Reader(service)) as reader:
        clock = _Clock(api, reader)
        for number in range(SHOTS):
            api.send_baseline(Shot(f"page-{number}", BASE, pages[number % PAGES]))
        for _ in range(WARM_UP_TURNS):
            clock.take_turn()
        usual, busy = _Times(), _Times()
        for number in range(1, ROUNDS + 1):
            commit = _upload_again(api, pages, number)
            _settle(pid)
            usual.extend(clock.take_turn() for _ in range(USUAL_TURNS))
            _settle(pid)
            busy.extend(_turns_while_comparing(service, clock, number, commit))
            run.say(f"compare_load, round {number} of {ROUNDS}: {busy} while comparing, usually {usual}")
    what = "100 KB, while comparing, p50"
    yield Row(f"upload, {what}", "ms", busy.upload_ms, "usually", usual.upload_ms, TARGET)
    yield Row(f"delivery, {what}", "ms", busy.delivery_ms, "usually", usual.delivery_ms, TARGET)


def _settle(pid: int) -> None:
    """Wait for earlier work and its writes to end, to keep them out of both phases."""
    os.sync()
    wait_until_idle(pid)


@dataclass(frozen=True, slots=True)
class _Turn:
    upload: float
    delivery: float


@dataclass
class _Times:
    turns: list[_Turn] = field(default_factory=list)

    def extend(self, turns: Iterator[_Turn]) -> None:
        self.turns.extend(turns)

    @property
    def upload_ms(self) -> float:
        return statistics.median(turn.upload for turn in self.turns) * 1000

    @property
    def delivery_ms(self) -> float:
        return statistics.median(turn.delivery for turn in self.turns) * 1000

    def __str__(self) -> str:
        return f"{self.upload_ms:.2f} ms an upload, {self.delivery_ms:.2f} ms a delivery"


def _upload_again(api: Api, pages: Sequence[bytes], number: int) -> str:
    """Upload every shot with the same pixels in different bytes, to force a comparison of each."""
    commit = hashlib.sha1(str(number).encode()).hexdigest()
    for shot in range(SHOTS):
        image = _with_comment(pages[shot % PAGES], f"{number} {shot}")
        api.send_shot(Shot(f"page-{shot}", commit, image), number)
    return commit


def _with_comment(picture: bytes, text: str) -> bytes:
    comment, output = PngInfo(), io.BytesIO()
    comment.add_text("Comment", text)
    Image.open(io.BytesIO(picture)).save(output, "PNG", compress_level=4, pnginfo=comment)
    return output.getvalue()


def _turns_while_comparing(service: Service, clock: "_Clock", number: int, commit: str) -> Iterator[_Turn]:
    """Yield the turns that ended before the comparison."""
    counts: dict[str, int] = {}

    def compare() -> None:
        with closing(Api(service)) as api:
            counts.update(api.compare(number, commit, BASE))

    comparing = threading.Thread(target=compare)
    comparing.start()
    while comparing.is_alive():
        turn = clock.take_turn()
        if comparing.is_alive():
            yield turn
    if counts.get("unchanged") != SHOTS:
        raise BenchError(f"{counts} instead of {SHOTS} unchanged shots")


class _Reader:
    """A keep-alive connection to delivery."""

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.img_port, timeout=30)

    def read(self, path: str) -> None:
        self._connection.request("GET", path)
        reply = self._connection.getresponse()
        if reply.status != 200 or len(reply.read()) != SIZE:
            raise BenchError(f"GET {path}: {reply.status}")

    def close(self) -> None:
        self._connection.close()


class _Clock:
    """Times an upload and then the deliveries of the image."""

    def __init__(self, api: Api, reader: _Reader) -> None:
        self._api, self._reader = api, reader
        self._image = png(SIZE)

    def take_turn(self) -> _Turn:
        started = time.perf_counter()
        path = self._api.upload(self._image, pr_number=1000)
        uploaded = time.perf_counter()
        for _ in range(DELIVERIES_A_TURN):
            self._reader.read(path)
        return _Turn(uploaded - started, (time.perf_counter() - uploaded) / DELIVERIES_A_TURN)
