"""Uploads, deliveries, comments and the dashboard at once, compared with each of them alone."""

import time
from collections.abc import Iterator
from contextlib import closing

from bench.browser import Browser
from bench.fill_sqlite import FIRST_FILLER_PR, add_records
from bench.pictures import CONTENT_TYPE, png, upload_body
from bench.processes import cpu_seconds, wait_until_idle
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service
from bench.stream import Stream, p99_ms

RECORDS = 20_000
SHOWN = 64
ALONE, TOGETHER = 5, 30
"""Multiples of a wrk run's length: with the default of 2 s, 10 s for each alone and 60 s for all."""
TARGET = Target(at_most=3)


def measure(run: Run) -> Iterator[Row]:
    service = Service.create(run.directory / "ours")
    add_records(service, RECORDS, size=20 * 1024, uploaded_at=int(time.time()))
    with service.idle() as pid:
        streams = _streams(service)
        wait_until_idle(pid)
        alone = []
        for stream in streams:
            run.say(f"mixed: {stream.name} alone")
            alone += p99_ms([stream], ALONE * run.seconds)
        run.say(f"mixed: all at once for {TOGETHER * run.seconds} s")
        before = cpu_seconds(pid)
        together = p99_ms(streams, TOGETHER * run.seconds)
        used = cpu_seconds(pid) - before
    run.say(f"mixed: the service used {used / (TOGETHER * run.seconds):.0%} of a core")
    for stream, usual, mixed in zip(streams, alone, together, strict=True):
        yield Row(f"{stream.name}, mixed load, p99", "ms", mixed, "alone", usual, TARGET)


def _streams(service: Service) -> list[Stream]:
    """Return the requests of 100 people and their CI at a busy moment. They keep half of one core busy."""
    token = {"Authorization": f"Bearer {service.token}"}
    with closing(Api(service)) as api:
        shown = [api.upload(png(100 * 1024), pr_number=1) for _ in range(SHOWN)]
    browser = Browser(service)
    upload = upload_body(png(300 * 1024), pr_number=2)
    return [
        Stream(
            "20 uploads/s of 300 KB",
            20,
            service.api_port,
            ["/v1/upload"],
            "POST",
            upload,
            token | {"Content-Type": CONTENT_TYPE},
        ),
        Stream("100 deliveries/s of 100 KB", 100, service.img_port, shown),
        Stream(
            "4 comments/s of 500 images",
            4,
            service.api_port,
            [f"/v1/comment?pr_number={FIRST_FILLER_PR}"],
            headers=token,
        ),
        Stream(
            "10 dashboard lists/s",
            10,
            service.web_port,
            list(browser.lists.values()),
            headers=browser.headers,
        ),
    ]
