"""The memory of the process that compares two large images, and of other comparators."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from bench.comparators import Comparator, Pairs, installed, peak_bytes
from bench.pages import Camera, Page, camera
from bench.processes import comparing_processes, peak_rss_bytes
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service, Shot

MEGABYTE = 1024 * 1024
BASE, COMMIT = (hashlib.sha1(word).hexdigest() for word in (b"base", b"commit"))
SETTINGS = {"PRSHOTS_MAX_IMAGE_BYTES": str(20 * MEGABYTE)}


@dataclass(frozen=True, slots=True)
class _Size:
    """A page rendered larger than its layout by `scale`."""

    name: str
    layout: tuple[int, int]
    scale: int
    repeats: int
    target: Target

    def pair(self, chromium: Camera) -> tuple[bytes, bytes]:
        pages = (Page(0, change, self.repeats) for change in (0, 1))
        width, height = self.layout
        before, after = chromium.shots(*pages, width=width, height=height, scale=self.scale)
        return before, after


SIZES = (
    _Size("1280x8000", (1280, 8000), 1, 14, Target(at_most=300)),
    _Size("5000x8000, 40 megapixels", (1250, 2000), 4, 4, Target(at_most=800)),
)


def measure(run: Run) -> Iterator[Row]:
    peers = [peer for peer in installed(run.say) if peer.is_accounted]
    run.say(f"compare_memory: rendering pages of {' and of '.join(size.name for size in SIZES)}")
    with camera() as chromium:
        pairs = {size: size.pair(chromium) for size in SIZES}
    for number, (size, pair) in enumerate(pairs.items()):
        run.say(f"compare_memory: comparing a changed page of {size.name}")
        ours = _peak_of_service(Service.create(run.directory / f"ours-{number}", settings=SETTINGS), pair)
        measure = f"compare, changed page of {size.name}: memory"
        yield Row(measure, "MB", ours / MEGABYTE, target=size.target, note="of the process that compares")
        files = Pairs.write(run.directory / f"pair-{number}", {"page": pair}, changed=1)
        yield from _peer_rows(measure, ours, peers, files)


def _peer_rows(measure: str, ours: int, peers: list[Comparator], files: Pairs) -> Iterator[Row]:
    for peer in peers:
        yield Row(measure, "MB", ours / MEGABYTE, peer.name, peak_bytes(peer, files) / MEGABYTE)


def _peak_of_service(service: Service, pair: tuple[bytes, bytes]) -> int:
    before, after = pair
    with service.idle() as pid, closing(Api(service)) as api:
        api.send_baseline(Shot("page", BASE, before))
        api.send_shot(Shot("page", COMMIT, after), pr_number=1)
        counts = api.compare(1, COMMIT, BASE)
        if counts["changed"] != 1:
            raise BenchError(f"{counts} instead of one changed shot")
        return max(map(peak_rss_bytes, comparing_processes(pid)))
