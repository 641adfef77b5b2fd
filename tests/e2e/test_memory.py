"""How much memory the service takes: a limit of the product, for small machines."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from running import resident_bytes, supervisor_pid, wait_for_first_sweep

from conftest import MAX_BYTES, Service, png, upload

IDLE_MB = 250
ADDED_MB = 250
UPLOADS_AT_ONCE = 32


def megabytes(service: Service) -> float:
    return resident_bytes(supervisor_pid(service)) / 1024**2


@contextlib.contextmanager
def watched(service: Service) -> Iterator[list[float]]:
    """Sample the memory of all processes together while the block runs."""
    samples: list[float] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.01):
            samples.append(megabytes(service))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def test_large_uploads_at_once_take_little_memory(service: Service) -> None:
    service.start()
    wait_for_first_sweep(service)
    image = png(MAX_BYTES - 1)
    begin = threading.Barrier(UPLOADS_AT_ONCE)
    with service.client(service.new_token()) as client, ThreadPoolExecutor(UPLOADS_AT_ONCE) as threads:

        def upload_with_the_others(_: int) -> int:
            begin.wait(30)
            return upload(client, image).status_code

        assert upload(client).status_code == 200
        idle = megabytes(service)
        print(f"idle: {idle:.0f} MB")
        assert idle <= IDLE_MB
        with watched(service) as samples:
            for _ in range(3):  # what one round leaves behind must not add up
                assert set(threads.map(upload_with_the_others, range(UPLOADS_AT_ONCE))) == {200}
        print(f"most: {max(samples):.0f} MB")
        assert max(samples) - idle <= ADDED_MB
