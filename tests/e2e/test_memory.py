"""Memory limits of the service, for small machines."""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from PIL import Image, ImageDraw

from prshots.server.adapters.pictures.workers.pool import COMPARING
from support.drawn_pages import sha
from support.nasty_pictures import encoded
from support.service import MAX_BYTES, Service, png, upload
from support.service_processes import (
    children,
    component_pids,
    memory_samples,
    supervisor_pid,
    wait_for_first_sweep,
)

pytestmark = pytest.mark.slow

IDLE_MB = 250
ADDED_MB = 250
UPLOADS_AT_ONCE = 32
THROUGH_WEB_AT_ONCE, ADDED_TO_WEB_MB = 20, 75
"""Held in memory, these uploads alone would take 100 MB."""
TALL_PAGE_MB = 300
LARGEST_MB = COMPARING.memory_bytes / 1024**2


def megabytes(samples: list[int]) -> tuple[float, float]:
    """Return the first sample and the largest."""
    return samples[0] / 1024**2, max(samples) / 1024**2


def upload_at_once(client: httpx.Client, image: bytes, uploads: int) -> set[int]:
    """Send concurrent uploads, and return their statuses."""
    begin = threading.Barrier(uploads)

    def upload_with_the_others(_: int) -> int:
        begin.wait(90)
        return upload(client, image).status_code

    with ThreadPoolExecutor(uploads) as threads:
        return set(threads.map(upload_with_the_others, range(uploads)))


def test_concurrent_large_uploads_stay_within_the_memory_limits(service: Service) -> None:
    service.settings["UPLOADS_PER_MINUTE"] = "1000"
    service.start()
    wait_for_first_sweep(service)
    image, token, pid = png(MAX_BYTES - 1), service.new_token(), supervisor_pid(service)
    with service.client(token) as client, service.client(token, service.web_url) as web_client:
        assert upload(client).status_code == upload(web_client).status_code == 200
        with memory_samples(pid) as samples:
            for _ in range(3):  # memory must not grow with each round
                assert upload_at_once(client, image, UPLOADS_AT_ONCE) == {200}
        idle, most = megabytes(samples)
        print(f"{idle:.0f} MB idle, {most:.0f} MB at most")
        assert idle <= IDLE_MB
        assert most - idle <= ADDED_MB

        with memory_samples(component_pids(service)["web"]) as samples:
            assert upload_at_once(web_client, image, THROUGH_WEB_AT_ONCE) == {200}
        idle, most = megabytes(samples)
        print(f"web: {idle:.0f} MB idle, {most:.0f} MB at most")
        assert most - idle <= ADDED_TO_WEB_MB


def page_of_text(width: int, height: int, *, is_changed: bool) -> bytes:
    """Draw a page of this size, with rows inserted in the middle and recolored text below."""
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    words = random.Random(7)
    for top in range(0, height, 20):
        shifted = top + 40 if is_changed and top > height // 2 else top
        for left in range(10, width, 100):
            color = "#a02020" if is_changed and top > height // 2 and left > width // 2 else "#202020"
            draw.text((left, shifted), f"{words.randrange(10**12)}", fill=color)
    return encoded(picture, compress_level=6)


@pytest.mark.parametrize(
    ("width", "height", "megabytes"),
    [(1280, 8000, TALL_PAGE_MB), pytest.param(5000, 8000, LARGEST_MB, marks=pytest.mark.nightly)],
)
def test_the_process_that_compares_stays_within_its_memory(
    service: Service, width: int, height: int, megabytes: float
) -> None:
    base, commit = sha("base"), sha("commit")
    with service.start().client(service.new_token()) as client:
        before, after = (page_of_text(width, height, is_changed=is_changed) for is_changed in (False, True))
        upload(client, before, path="/v1/baseline", branch="main", commit_sha=base).raise_for_status()
        upload(client, after, commit_sha=commit).raise_for_status()
        asked = {"pr_number": 7, "commit_sha": commit, "branch": "main", "commits": [base]}
        reply = client.post("/v1/compare", json=asked, timeout=60)
        while reply.status_code == 202:  # each try waits up to 10 s
            reply = client.post("/v1/compare", json=asked, timeout=60)
    assert reply.json()["counts"]["changed"] == 1, reply.text
    (worker,) = children(component_pids(service)["api"])
    assert peak_megabytes(worker) < megabytes
    own, of_worker = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, worker))
    assert of_worker == own + COMPARING.niceness


def peak_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
