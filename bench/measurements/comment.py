"""The comment of a pull request with 500 images."""

from collections.abc import Iterator
from contextlib import closing

from bench.pictures import png
from bench.processes import wait_until_idle
from bench.report import Row
from bench.run import BenchError, Run
from bench.service import Api, Service
from bench.wrk import Load, wrk

IMAGES = 500
CONCURRENT = 16


def measure(run: Run) -> Iterator[Row]:
    run.say(f"comment: uploading {IMAGES} images")
    service = Service.create(run.directory / "ours")
    with service.idle() as pid:
        with closing(Api(service)) as api:
            for _ in range(IMAGES):
                api.upload(png(1024), pr_number=1)
            if f"{IMAGES} screenshots" not in api.comment(1):
                raise BenchError(f"the comment does not have {IMAGES} screenshots")
        wait_until_idle(pid)
        headers = {"Authorization": f"Bearer {service.token}"}
        load = Load(service.api_address, ["/v1/comment?pr_number=1"], headers=headers)
        run.say(f"comment: one request at a time, then {CONCURRENT} concurrent")
        alone = wrk(load, connections=1, seconds=run.seconds)
        together = wrk(load, connections=CONCURRENT, seconds=run.seconds)
    yield Row("comment, 500 images, 16 concurrent", "comments/s", together.per_second)
    yield Row("comment, 500 images, one at a time, p50", "ms", alone.p50_ms)
