"""How much baselines and comparisons store, send and keep in memory."""

import hashlib
import io
import os
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image, ImageDraw

from prshots.server.adapters.pictures.workers.pool import COMPARING
from support.drawn_pages import sha
from support.service import Service, png, upload
from support.service_processes import children, component_pids, wait_for_first_sweep

pytestmark = pytest.mark.slow

SHOTS, CHANGED = 300, 3
TALL_PAGE_MB = 300
LARGEST_MB = COMPARING.memory_bytes / 1024**2


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("figures"), {"UPLOADS_PER_MINUTE": "100000"}).start()
    wait_for_first_sweep(service)  # which writes a file into the store
    yield service
    assert service.stop() == 0


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with service.client(service.new_token()) as client:
        yield client


def send_baseline(client: httpx.Client, commit: str, name: str, image: bytes) -> None:
    form = {"name": name, "viewport": "1280x800", "commit_sha": sha(commit), "branch": "main"}
    files = {"image": ("shot.png", image, "image/png")}
    assert client.post("/v1/baseline", data=form, files=files).status_code == 200


def next_build(pictures: dict[str, bytes], commit: str) -> dict[str, bytes]:
    """Return the pictures of a build that changes three of them."""
    changed = random.Random(commit).sample(sorted(pictures), CHANGED)
    return pictures | {name: png(1100 + len(commit)) for name in changed}


def test_a_build_that_changes_3_of_300_shots_stores_3_objects_and_sends_3_bodies(
    service: Service, client: httpx.Client
) -> None:
    first = {f"page {number}": png() for number in range(SHOTS)}
    for name, image in first.items():
        send_baseline(client, "first", name, image)
    stored = service.stored_files()
    assert len(stored) >= SHOTS

    for name, image in list(first.items())[:20]:  # without asking first, which images are known
        send_baseline(client, "again", name, image)
    assert service.stored_files() == stored

    second = next_build(first, "second")
    shots = [
        {"name": name, "viewport": "1280x800", "sha256": hashlib.sha256(image).hexdigest()}
        for name, image in second.items()
    ]
    asked = {"branch": "main", "commit_sha": sha("second"), "shots": shots}
    missing = client.post("/v1/baseline/known", json=asked).json()["missing"]
    assert {shot["name"] for shot in missing} == {name for name in second if second[name] != first[name]}
    for shot in missing:
        send_baseline(client, "second", shot["name"], second[shot["name"]])
    assert len(service.stored_files() - stored) == CHANGED
    complete = client.post("/v1/baseline/complete", json={"branch": "main", "commit_sha": sha("second")})
    assert complete.json()["shots"] == SHOTS


def drawn_page(width: int, height: int, *, is_changed: bool) -> bytes:
    """Draw a page of this size, full of text, with rows inserted in the middle and recolored text below."""
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    words = random.Random(7)
    for top in range(0, height, 20):
        shifted = top + 40 if is_changed and top > height // 2 else top
        for left in range(10, width, 100):
            color = "#a02020" if is_changed and top > height // 2 and left > width // 2 else "#202020"
            draw.text((left, shifted), f"{words.randrange(10**12)}", fill=color)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("width", "height", "megabytes"),
    [(1280, 8000, TALL_PAGE_MB), pytest.param(5000, 8000, LARGEST_MB, marks=pytest.mark.nightly)],
)
def test_the_process_that_compares_stays_within_its_memory(
    service: Service, client: httpx.Client, width: int, height: int, megabytes: float
) -> None:
    send_baseline(client, "base", "page", drawn_page(width, height, is_changed=False))
    commit = sha("commit")
    image = drawn_page(width, height, is_changed=True)
    assert upload(client, image, name="page", pr_number=1, commit_sha=commit).status_code == 200
    asked = {"pr_number": 1, "commit_sha": commit, "branch": "main", "commits": [sha("base")]}
    reply = client.post("/v1/compare", json=asked, timeout=60)
    while reply.status_code == 202:  # each try waits up to 10 s
        reply = client.post("/v1/compare", json=asked, timeout=60)
    assert reply.json()["counts"]["changed"] == 1, reply.text
    (worker,) = children(component_pids(service)["api"])
    assert peak_megabytes(worker) < megabytes
    assert os.getpriority(os.PRIO_PROCESS, worker) == COMPARING.niceness


def peak_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
