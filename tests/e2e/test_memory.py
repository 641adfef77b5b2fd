"""Memory limits of the service, for small machines."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.service import MAX_BYTES, Service, png, upload
from support.service_processes import component_pids, resident_bytes, supervisor_pid, wait_for_first_sweep

IDLE_MB = 250
ADDED_MB = 250
UPLOADS_AT_ONCE = 32
THROUGH_WEB_AT_ONCE, ADDED_TO_WEB_MB = 20, 75
"""Held in memory, these uploads alone would take 100 MB."""


def megabytes(pid: int) -> float:
    return resident_bytes(pid) / 1024**2


@contextlib.contextmanager
def watched(pid: int) -> Iterator[list[float]]:
    """Sample the total memory of a process and its descendants while the block runs."""
    samples: list[float] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.01):
            samples.append(megabytes(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def upload_at_once(client: httpx.Client, image: bytes, uploads: int) -> set[int]:
    """Send concurrent uploads, and return their statuses."""
    begin = threading.Barrier(uploads)

    def upload_with_the_others(_: int) -> int:
        begin.wait(90)
        return upload(client, image).status_code

    with ThreadPoolExecutor(uploads) as threads:
        return set(threads.map(upload_with_the_others, range(uploads)))


@pytest.mark.slow
def test_concurrent_large_uploads_stay_within_the_memory_limits(service: Service) -> None:
    service.settings["UPLOADS_PER_MINUTE"] = "1000"
    service.start()
    wait_for_first_sweep(service)
    image, token, pid = png(MAX_BYTES - 1), service.new_token(), supervisor_pid(service)
    with service.client(token) as client, service.client(token, service.web_url) as web_client:
        assert upload(client).status_code == upload(web_client).status_code == 200
        idle = megabytes(pid)
        print(f"idle: {idle:.0f} MB")
        assert idle <= IDLE_MB
        with watched(pid) as samples:
            for _ in range(3):  # memory must not grow with each round
                assert upload_at_once(client, image, UPLOADS_AT_ONCE) == {200}
        print(f"most: {max(samples):.0f} MB")
        assert max(samples) - idle <= ADDED_MB

        web = component_pids(service)["web"]
        idle = megabytes(web)
        with watched(web) as samples:
            assert upload_at_once(web_client, image, THROUGH_WEB_AT_ONCE) == {200}
        print(f"web: {idle:.0f} MB idle, {max(samples):.0f} MB at most")
        assert max(samples) - idle <= ADDED_TO_WEB_MB
