"""Memory of an idle service, and the memory that 32 concurrent uploads of 5 MB add."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

from bench.pictures import png, upload_body
from bench.processes import forget_peak, peak_rss_bytes, pss_bytes, rss_bytes, tree, wait_until_idle
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service

CONCURRENT = 32
LARGEST = 5 * 1024 * 1024 - 1
HELD_BACK = 64 * 1024
MEGABYTE = 1024 * 1024
IDLE = Target(at_most=150)
ADDED = Target(at_most=250)


def measure(run: Run) -> Iterator[Row]:
    run.say("memory: idle, then 32 concurrent uploads of 5 MB")
    service = Service.create(run.directory / "ours")
    with service.idle() as pid:
        idle, shared_once, processes = rss_bytes(pid), pss_bytes(pid), len(tree(pid))
        forget_peak(pid)
        _upload_together(service)
        added = peak_rss_bytes(pid) - idle
        wait_until_idle(pid)
        kept = rss_bytes(pid) - idle
    note = f"{processes} processes; PSS {shared_once / MEGABYTE:.0f} MB"
    yield Row("memory, idle, RSS of all processes", "MB", idle / MEGABYTE, target=IDLE, note=note)
    note = f"{kept / MEGABYTE:.0f} MB still held afterwards"
    yield Row("memory, added by 32 uploads of 5 MB", "MB", added / MEGABYTE, target=ADDED, note=note)


def _upload_together(service: Service) -> None:
    body = upload_body(png(LARGEST), pr_number=1)
    # Each upload holds back the end of its body until all others have sent as much, so the service has to
    # hold all of them. The timeout is for a service that only accepts some at a time.
    nearly_sent = threading.Barrier(CONCURRENT)

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):
            nearly_sent.wait(timeout=3)

    def upload(_: int) -> None:
        with closing(Api(service)) as api:
            api.send_upload_in_two(body, HELD_BACK, meet)

    with ThreadPoolExecutor(CONCURRENT) as clients:
        list(clients.map(upload, range(CONCURRENT)))
