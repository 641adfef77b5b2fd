"""What an idle service holds in memory, and what 32 uploads of 5 MB at once add."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

from bench.pictures import png, upload_body
from bench.processes import forget_peak, peak_rss_bytes, pss_bytes, rss_bytes, tree, wait_until_idle
from bench.report import Row, Target
from bench.service import Api, Service
from bench.settings import Run

AT_ONCE = 32
LARGEST = 5 * 1024 * 1024 - 1
HELD_BACK = 64 * 1024
MEGABYTE = 1024 * 1024
TARGET = Target(at_most=250)


def measure(run: Run) -> Iterator[Row]:
    run.say("memory: idle, then 32 uploads of 5 MB at once")
    service = Service.create(run.directory / "ours")
    with service.at_rest() as pid:
        idle, shared_once, processes = rss_bytes(pid), pss_bytes(pid), len(tree(pid))
        forget_peak(pid)
        _upload_together(service)
        added = peak_rss_bytes(pid) - idle
        wait_until_idle(pid)
        kept = rss_bytes(pid) - idle
    note = f"{processes} processes; PSS {shared_once / MEGABYTE:.0f}"
    yield Row("memory, idle, RSS of all processes", "MB", idle / MEGABYTE, target=TARGET, note=note)
    note = f"of it still held after: {kept / MEGABYTE:.0f}"
    yield Row("memory, 32 uploads of 5 MB add", "MB", added / MEGABYTE, target=TARGET, note=note)


def _upload_together(service: Service) -> None:
    body = upload_body(png(LARGEST), pr_number=1)
    # Each waits with the end of its body for the others: so the service has to hold them all at once. It may
    # also let only some in at a time and make the others wait: hence the time limit.
    all_but_sent = threading.Barrier(AT_ONCE)

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):
            all_but_sent.wait(timeout=3)

    def upload(_: int) -> None:
        with closing(Api(service)) as api:
            api.send_upload_in_two(body, HELD_BACK, meet)

    with ThreadPoolExecutor(AT_ONCE) as clients:
        list(clients.map(upload, range(AT_ONCE)))
