"""The comment of a pull request with 500 images."""

import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from bench.pictures import png
from bench.processes import cpu_seconds, wait_until_idle
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service
from bench.wrk import Load, wrk

IMAGES = 500
CONCURRENT = 16
WORKERS = 2
UPLOADS = 50


def measure(run: Run) -> Iterator[Row]:
    run.say(f"comment: uploading {IMAGES} images")
    service = Service.create(run.directory / "ours")
    headers = {"Authorization": f"Bearer {service.token}"}
    load = Load(service.api_address, ["/v1/comment?pr_number=1"], headers=headers)
    with service.idle() as pid:
        with closing(Api(service)) as api:
            for _ in range(IMAGES):
                api.upload(png(1024), pr_number=1)
            if f"{IMAGES} screenshots" not in api.comment(1):
                raise BenchError(f"the comment does not have {IMAGES} screenshots")
            after_upload_ms = statistics.median(_after_an_upload(api) for _ in range(UPLOADS)) * 1000
        wait_until_idle(pid)
        run.say(f"comment: one request at a time, then {CONCURRENT} concurrent")
        alone = wrk(load, connections=1, seconds=run.seconds)
        before = cpu_seconds(pid)
        together = wrk(load, connections=CONCURRENT, seconds=run.seconds)
        cpu_ms = (cpu_seconds(pid) - before) / together.requests * 1000
    run.say(f"comment: {CONCURRENT} concurrent, with {WORKERS} API workers")
    with replace(service, settings={"PRSHOTS_API_WORKERS": str(WORKERS)}).idle():
        shared = wrk(load, connections=CONCURRENT, seconds=run.seconds)
    yield Row(
        f"comment, 500 images, 16 concurrent, {WORKERS} API workers",
        "comments/s",
        shared.per_second,
        target=Target(at_least=250),
    )
    yield Row("comment, 500 images, 16 concurrent, 1 API worker", "comments/s", together.per_second)
    yield Row("comment, 500 images: CPU time", "ms/comment", cpu_ms)
    yield Row("comment, 500 images, one at a time, p50", "ms", alone.p50_ms, target=Target(at_most=4))
    yield Row("comment, 500 images, right after one more upload, p50", "ms", after_upload_ms)


def _after_an_upload(api: Api) -> float:
    """Return the seconds that a comment takes right after an upload, when it lists a new image."""
    api.upload(png(1024), pr_number=1)
    began = time.perf_counter()
    api.comment(1)
    return time.perf_counter() - began
