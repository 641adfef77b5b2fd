"""A push that changes 3 of 300 screenshots, from `prshots upload` to the posted comment.

The service has the default rate limit. Sending all 300 screenshots would take more than two minutes.
"""

import hashlib
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.measurements.client import SECONDS, Job, fake_github
from bench.pages import camera
from bench.report import Row, Target
from bench.run import Run
from bench.service import BRANCH, Api, Service, Shot
from bench.wrk import ROUNDS
from prshots.contract.object_names import CLOSEUP_EXTS, DIFF_EXT, THUMBNAIL_EXT

SHOTS = 300
CHANGED = 3
DEFAULT_LIMIT = "120"
DERIVED = (THUMBNAIL_EXT, DIFF_EXT, *CLOSEUP_EXTS)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"push: rendering {SHOTS} pages, and {CHANGED} changed ones for each of {ROUNDS} rounds")
    with camera() as chromium:
        before, changed = chromium.pushes(SHOTS, CHANGED, ROUNDS)
    size = statistics.median(map(len, before)) / 1024
    service = Service.create(run.directory / "ours")
    with service.idle(), closing(Api(service)) as api:
        for number, image in enumerate(before):
            api.send_baseline(Shot(_name(number), _commit("base"), image))
    folder = run.directory / "screenshots"
    folder.mkdir()
    for number, image in enumerate(before):
        _file(folder, number).write_bytes(image)
    limited = replace(service, settings={"PRSHOTS_UPLOADS_PER_MINUTE": DEFAULT_LIMIT})
    run.say(f"push: uploading {SHOTS} screenshots of {size:.0f} KB, {CHANGED} of them changed")
    with limited.idle(), fake_github() as github:
        job = Job(limited, folder, github, PRSHOTS_BRANCH=BRANCH)
        first, again = [], []
        for pr_number, images in enumerate(changed, 1):
            for number, image in enumerate(images):
                _file(folder, number).write_bytes(image)
            first.append(_push(limited, job, pr_number, f"first {pr_number}"))
            again.append(_push(limited, job, pr_number, f"second {pr_number}"))
    what = f"push, {SHOTS} screenshots of {size:.0f} KB, {CHANGED} changed"
    yield from _rows(what, first, CHANGED)
    yield from _rows(f"{what}, pushed again", again, 0)


class _Pushed(NamedTuple):
    seconds: float
    objects: int


def _rows(what: str, pushes: Sequence[_Pushed], most: int) -> Iterator[Row]:
    seconds = statistics.median(push.seconds for push in pushes)
    yield Row(f"{what}, to the comment", "s", seconds, target=SECONDS)
    objects = max(push.objects for push in pushes)
    yield Row(f"{what}: objects stored", "objects", objects, target=Target(at_most=most))


def _push(service: Service, job: Job, pr_number: int, push: str) -> _Pushed:
    before = _images(service)
    _, seconds = job.run(pr_number, _commit(push))
    return _Pushed(seconds, _images(service) - before)


def _images(service: Service) -> int:
    """Return how many images are stored, without the pictures that are made from them."""
    files = (file for file in service.images.rglob("*.*") if file.is_file())
    return sum(not file.name.endswith(DERIVED) for file in files)


def _name(number: int) -> str:
    return f"page-{number}"


def _file(folder: Path, number: int) -> Path:
    return folder / f"{_name(number)}.png"


def _commit(push: str) -> str:
    return hashlib.sha1(push.encode()).hexdigest()
