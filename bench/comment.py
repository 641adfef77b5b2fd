"""The comment of a pull request with 500 images."""

from collections.abc import Iterator
from contextlib import closing

from bench.load import BenchError, Load, wrk
from bench.pictures import png
from bench.processes import wait_until_idle
from bench.report import Row
from bench.service import Api, Service
from bench.settings import Run

IMAGES = 500
AT_ONCE = 16


def measure(run: Run) -> Iterator[Row]:
    run.say(f"comment: uploading {IMAGES} images")
    service = Service.create(run.directory / "ours")
    with service.at_rest() as pid:
        with closing(Api(service)) as api:
            for _ in range(IMAGES):
                api.upload(png(1024), pr_number=1)
            if f"{IMAGES} screenshots" not in api.comment(1):
                raise BenchError(f"the comment does not speak of {IMAGES} screenshots")
        wait_until_idle(pid)
        headers = {"Authorization": f"Bearer {service.token}"}
        load = Load(service.api_address, ["/v1/comment?pr_number=1"], headers=headers)
        run.say("comment: one after another, then 16 at once")
        alone = wrk(load, connections=1, seconds=run.seconds)
        together = wrk(load, connections=AT_ONCE, seconds=run.seconds)
    yield Row("comment, 500 images, 16 at once", "comments/s", together.per_second)
    yield Row("comment, 500 images, p50 alone", "ms", alone.p50_ms)
