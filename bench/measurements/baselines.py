"""A build of the default branch that changes 3 of 300 screenshots: the stored and the sent bytes."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from bench.pictures import png
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service, Shot

SHOTS = 300
CHANGED = 3
SIZE = 100 * 1024
MOST = Target(at_most=CHANGED)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"baselines: {SHOTS} screenshots, then two builds that change {CHANGED} of them")
    pictures = [png(SIZE) for _ in range(SHOTS)]
    service = Service.create(run.directory / "ours")
    with service.idle(), closing(Api(service)) as api:
        first, seconds_first = _sent(api, _build(1, pictures))
        whole, seconds_whole = _objects_added(service, api, _build(2, pictures))
        started = time.monotonic()
        third = _build(3, pictures)
        missing = api.missing_baselines(third)
        objects, _ = _objects_added(service, api, [shot for shot in third if shot.name in missing])
        seconds_known = time.monotonic() - started
    if first != SHOTS or objects != len(missing):
        raise BenchError(f"{len(missing)} baselines were sent, but {objects} stored")
    what = f"baselines, {CHANGED} of {SHOTS} changed"
    note = f"all {SHOTS} sent in {seconds_whole:.2f} s; the first time {seconds_first:.2f} s"
    yield Row(f"{what}: objects stored", "objects", whole, target=MOST, note=note)
    note = f"in {seconds_known:.2f} s, with the request that asks"
    yield Row(f"{what}: bodies sent after asking", "bodies", len(missing), target=MOST, note=note)


def _build(number: int, pictures: list[bytes]) -> list[Shot]:
    """Change three of the images, and return the shots of the next commit."""
    for changed in range(CHANGED):
        pictures[number * CHANGED + changed] = png(SIZE)
    commit = hashlib.sha1(str(number).encode()).hexdigest()
    return [Shot(f"page-{index}", commit, image) for index, image in enumerate(pictures)]


def _sent(api: Api, shots: Sequence[Shot]) -> tuple[int, float]:
    started = time.monotonic()
    for shot in shots:
        api.send_baseline(shot)
    return len(shots), time.monotonic() - started


def _objects_added(service: Service, api: Api, shots: Sequence[Shot]) -> tuple[int, float]:
    before = _objects(service)
    _, seconds = _sent(api, shots)
    return _objects(service) - before, seconds


def _objects(service: Service) -> int:
    return sum(file.is_file() for file in service.images.rglob("*"))
