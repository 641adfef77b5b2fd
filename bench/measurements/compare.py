"""`POST /v1/compare` for 100 screenshots, and other comparators on the same images."""

import hashlib
import io
import os
import signal
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from PIL import Image

from bench.comparators import Comparator, Pairs, Took, installed
from bench.pages import camera
from bench.processes import comparing_processes, cpu_by_process, wait_until_idle
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service, Shot
from bench.wrk import ROUNDS

SHOTS = 100
CHANGED = 10
AGAIN = Target(at_most=0.2)
BASE = hashlib.sha1(b"base").hexdigest()
COMPRESSION = (1, 4, 9)
"""Chromium uses a different level, so the bytes differ."""

Pictures = Sequence[bytes]


def measure(run: Run) -> Iterator[Row]:
    run.say(f"compare: rendering {SHOTS} pages, and {CHANGED} changed ones for each of {ROUNDS} rounds")
    with camera() as chromium:
        before, changed = chromium.pushes(SHOTS, CHANGED, ROUNDS)
    size = statistics.median(map(len, before)) / 1024
    run.say(f"compare: the median picture has {size:.0f} KB")
    service = Service.create(run.directory / "ours")
    with service.idle() as pid:
        with closing(Api(service)) as api:
            for number, image in enumerate(before):
                api.send_baseline(Shot(_name(number), BASE, image))
        ours = _Ours(service, pid)
        peers = installed(run.say)
        afters = [[*pictures, *before[CHANGED:]] for pictures in changed]
        some = _Case(run, ours, peers, "some", before, CHANGED).measure(afters)
        afters = [[_encoded(picture, level) for picture in before] for level in COMPRESSION]
        every = _Case(run, ours, peers, "all", before, 0).measure(afters)
    what = f"compare, {SHOTS} shots, {CHANGED} changed"
    yield from some.rows(what, Target(at_most=3))
    yield Row(f"{what}, again", "s", some.again, target=AGAIN)
    yield Row(f"{what}, uploaded again", "s", some.uploaded_again, target=AGAIN)
    yield from every.rows(f"compare, {SHOTS} shots, all re-encoded", Target(at_most=2.2))
    yield from every.cpu_rows(f"compare, {SHOTS} shots, all re-encoded: CPU time")


def _name(number: int) -> str:
    return f"page-{number}"


def _encoded(picture: bytes, compression: int) -> bytes:
    output = io.BytesIO()
    Image.open(io.BytesIO(picture)).save(output, "PNG", compress_level=compression)
    return output.getvalue()


@dataclass
class _Ours:
    """The service. Each comparison has its own pull request."""

    service: Service
    pid: int
    pull_requests: int = 0

    def upload(self, pictures: Pictures, *, is_new: bool = True) -> str:
        """Upload the images of a commit. Return the commit."""
        self.pull_requests += is_new
        commit = hashlib.sha1(str(self.pull_requests).encode()).hexdigest()
        with closing(Api(self.service)) as api:
            for number, image in enumerate(pictures):
                api.send_shot(Shot(_name(number), commit, image), self.pull_requests)
        return commit

    def compare(self, commit: str, changed: int) -> Took:
        """Compare. Raises BenchError if a different number of shots changed."""
        wait_until_idle(self.pid)
        cpu, started = cpu_by_process(self.pid), time.monotonic()
        with closing(Api(self.service)) as api:
            counts = api.compare(self.pull_requests, commit, BASE)
        seconds = time.monotonic() - started
        used = sum(now - cpu.get(process, 0) for process, now in cpu_by_process(self.pid).items())
        if (counts["changed"], counts["unchanged"]) != (changed, SHOTS - changed):
            raise BenchError(f"{counts} instead of {changed} changed shots")
        return Took(seconds, used)

    def end_comparing_processes(self) -> None:
        """End these processes. The next comparison then starts new ones, as after a minute without work."""
        for process in comparing_processes(self.pid):
            os.kill(process, signal.SIGKILL)


@dataclass
class _Case:
    """One kind of pairs, which the service and each peer compare in turn."""

    run: Run
    ours: _Ours
    peers: Sequence[Comparator]
    name: str
    before: Pictures
    changed: int
    taken: dict[str, list[Took]] = field(default_factory=dict)
    reruns: list[Took] = field(default_factory=list)
    reruns_after_upload: list[Took] = field(default_factory=list)

    def measure(self, afters: Sequence[Pictures]) -> "_Case":
        for number, after in enumerate(afters, 1):
            self._measure_ours(after)
            pairs = Pairs.write(
                self.run.directory / f"{self.name}-{number}", self._named(after), self.changed
            )
            for peer in self.peers:
                self.taken.setdefault(peer.name, []).append(peer.measure(pairs))
            figures = ", ".join(f"{name} {took[-1].seconds:.2f} s" for name, took in self.taken.items())
            self.run.say(f"compare, {self.changed} changed, round {number} of {len(afters)}: {figures}")
        return self

    def _measure_ours(self, after: Pictures) -> None:
        self.ours.end_comparing_processes()
        commit = self.ours.upload(after)
        self.taken.setdefault("prshots", []).append(self.ours.compare(commit, self.changed))
        self.reruns.append(self.ours.compare(commit, self.changed))
        self.ours.upload(after, is_new=False)
        self.reruns_after_upload.append(self.ours.compare(commit, self.changed))

    def _named(self, after: Pictures) -> Mapping[str, tuple[bytes, bytes]]:
        pairs = zip(self.before, after, strict=True)
        return {_name(number): pair for number, pair in enumerate(pairs)}

    @property
    def again(self) -> float:
        return statistics.median(took.seconds for took in self.reruns)

    @property
    def uploaded_again(self) -> float:
        return statistics.median(took.seconds for took in self.reruns_after_upload)

    def rows(self, measure: str, target: Target) -> Iterator[Row]:
        seconds = {name: statistics.median(t.seconds for t in took) for name, took in self.taken.items()}
        yield Row(measure, "s", seconds["prshots"], target=target)
        for peer in self.peers:
            yield Row(measure, "s", seconds["prshots"], peer.name, seconds[peer.name])

    def cpu_rows(self, measure: str) -> Iterator[Row]:
        each = {
            name: statistics.median(t.cpu_seconds for t in took) / SHOTS * 1000
            for name, took in self.taken.items()
        }
        for peer in filter(lambda peer: peer.is_accounted, self.peers):
            yield Row(measure, "ms/shot", each["prshots"], peer.name, each[peer.name])
