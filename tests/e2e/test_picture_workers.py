"""Picture workers: killed when a job takes too much, replaced, and gone with their parent."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from PIL import Image

from prshots.contract.errors import (
    DamagedPictureError,
    PictureTooLargeError,
    PictureWorkerDiedError,
    PictureWorkerError,
)
from prshots.server.adapters.pictures.workers.pool import (
    COMPARING,
    INHERITED_VARIABLES,
    SET_VARIABLES,
    PictureWorkers,
    WorkerLimits,
)
from support import nasty_picture_worker
from support.nasty_pictures import encoded, jpeg_with_scans
from support.open_files import open_files
from support.service import Service, upload
from support.service_processes import children, component_pids, is_alive, kill
from support.signed_in_people import sign_in
from support.waiting import eventually, wait_for, wait_until

pytestmark = pytest.mark.slow

NASTY_WORKER = (sys.executable, "-P", nasty_picture_worker.__file__)
PATIENT = 600.0
Nasty = Callable[..., PictureWorkers]


@pytest.fixture
async def nasty() -> AsyncIterator[Nasty]:
    """Return a function that makes workers with nasty operations, and these limits."""
    made: list[PictureWorkers] = []

    def make(**limits: float) -> PictureWorkers:
        made.append(PictureWorkers(WorkerLimits(**{"seconds": PATIENT} | limits), NASTY_WORKER))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for pool in made:
        await pool.close()


async def pid_of(pool: PictureWorkers) -> int:
    return int(await pool.run("pid", b""))


async def test_a_job_that_takes_long_holds_up_no_other(nasty: Nasty) -> None:
    pool = nasty(workers=2)
    waiting = asyncio.create_task(pool.run("wait", b""))
    assert len([await pid_of(pool) for _ in range(10)]) == 10
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_job_gets_several_images_and_options_and_returns_bytes(nasty: Nasty) -> None:
    pool = nasty()
    large = os.urandom(6_000_000)
    assert await pool.run("join", large, b"b", between="ü") == large + "üb".encode()
    with pytest.raises(DamagedPictureError, match="3 bytes, and a ü"):
        await pool.run("refuse", b"abc")


async def test_a_worker_is_reused_and_killed_only_if_one_job_burns_too_much_processor_time(
    nasty: Nasty,
) -> None:
    pool = nasty(workers=1, cpu_seconds=1)
    first = await pid_of(pool)
    for _ in range(3):
        assert await pool.run("burn", b"done", seconds=0.5) == b"done"
    assert await pid_of(pool) == first
    with pytest.raises(PictureTooLargeError, match="more than 1 s of processor time"):
        await pool.run("burn", b"")
    assert not is_alive(first)
    assert await pid_of(pool) != first


async def test_a_job_that_fills_the_memory_is_refused_and_the_next_one_works(nasty: Nasty) -> None:
    pool = nasty(workers=1)
    with pytest.raises(PictureTooLargeError, match="memory"):
        await pool.run("fill_memory", b"", megabytes=500)
    assert len(await pool.run("fill_memory", b"", megabytes=100)) == 100 * 1024**2


async def test_the_largest_allowed_images_fit_into_the_memory() -> None:
    pool = PictureWorkers(WorkerLimits(seconds=PATIENT, cpu_seconds=60))
    for picture, kind, options in (
        (Image.new("RGBA", (6250, 6400)), "PNG", {"compress_level": 1}),
        (Image.new("CMYK", (6250, 6400)), "JPEG", {"progressive": True}),
        (Image.new("RGBA", (4000, 5000)), "WEBP", {"method": 0}),
    ):
        assert (await pool.thumbnail(encoded(picture, kind, **options), 2)).startswith(b"RIFF"), kind
    await pool.close()


async def test_a_job_that_never_ends_without_processor_time_is_killed(nasty: Nasty) -> None:
    pool = nasty(workers=1, seconds=0.5)
    with pytest.raises(PictureWorkerDiedError, match=r"within 0\.5 s of real time"):
        await pool.run("wait", b"")
    pool._limits = WorkerLimits(seconds=PATIENT)
    assert await pid_of(pool)


async def test_a_killed_worker_is_replaced_and_a_cancelled_job_leaves_no_reply(nasty: Nasty) -> None:
    pool = nasty(workers=1)
    idle = await pid_of(pool)
    os.kill(idle, signal.SIGKILL)
    busy = await pid_of(pool)
    assert busy != idle
    burning = asyncio.create_task(pool.run("burn", b"done", seconds=0.5))
    await eventually(lambda: pool._idle == [], "the job to be given to it")
    os.kill(busy, signal.SIGKILL)
    assert await burning == b"done"  # by its successor
    successor = await pid_of(pool)
    assert successor != busy
    burning = asyncio.create_task(pool.run("burn", b"late", seconds=0.5))
    await eventually(lambda: pool._idle == [], "the job to be given to it")
    burning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await burning
    assert await pid_of(pool) != successor  # nobody gets the late reply


async def test_an_image_that_kills_every_worker_is_reported(nasty: Nasty) -> None:
    pool = nasty()
    with pytest.raises(PictureWorkerDiedError, match="exit code -11"):
        await pool.run("die", b"")
    assert await pid_of(pool)


async def test_jobs_beyond_the_queue_are_refused(nasty: Nasty) -> None:
    pool = nasty(workers=1, waiting=1)
    started = [asyncio.create_task(pool.run("burn", b"done", seconds=0.2)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(PictureWorkerError, match="too many images wait"):
        await pool.run("burn", b"")
    assert await asyncio.gather(*started) == [b"done", b"done"]
    assert await pool.run("burn", b"done", seconds=0) == b"done"


async def test_no_more_workers_than_allowed_run_and_idle_ones_end(nasty: Nasty) -> None:
    pool = nasty(workers=2, idle_seconds=0.01)
    pids = set(await asyncio.gather(*(pid_of(pool) for _ in range(8))))
    await eventually(lambda: not any(map(is_alive, pids)), "the end of the idle workers")
    assert await pid_of(pool) not in pids


async def test_a_worker_loads_numpy_only_to_compare() -> None:
    pool = PictureWorkers(COMPARING)
    png = encoded(Image.new("RGB", (64, 48), "red"), "PNG")

    def loaded() -> str:
        [worker] = pool._idle
        return Path(f"/proc/{worker.pid}/maps").read_text()

    await pool.thumbnail(png, 1)
    assert "numpy" not in loaded()
    assert (await pool.compare(png, png)).verdict == "unchanged"
    assert "numpy" in loaded()
    await pool.close()


def test_a_worker_inherits_no_socket_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRSHOTS_OIDC_CLIENT_SECRET", "hush")
    listener_fd, other_end = os.pipe()
    os.set_inheritable(listener_fd, True)

    async def look() -> tuple[str, set[str]]:
        pool = PictureWorkers(WorkerLimits(seconds=PATIENT), NASTY_WORKER)
        process = Path(f"/proc/{await pid_of(pool)}")
        seen = (process / "environ").read_text()
        files = open_files(int(process.name))
        await pool.close()
        return seen, files

    held = str(Path(f"/proc/self/fd/{listener_fd}").readlink())
    for run in (asyncio.run, uvloop.run):
        environment, files = run(look())
        variables = {variable.partition("=")[0] for variable in environment.split("\0")}
        assert variables <= {"", *INHERITED_VARIABLES, *SET_VARIABLES}
        assert held not in files
    os.close(listener_fd)
    os.close(other_end)


PARENT = """
import asyncio, sys
from prshots.server.adapters.pictures.workers.pool import PictureWorkers, WorkerLimits

async def main():
    pool = PictureWorkers(WorkerLimits(workers=2), sys.argv[1:])
    idle = await pool.run("pid", b"")
    running = asyncio.create_task(pool.run("wait", b""))
    while pool._idle:
        await asyncio.sleep(0.01)
    print(idle.decode(), int(await pool.run("pid", b"")), flush=True)
    await running

asyncio.run(main())
"""


def test_workers_end_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, *NASTY_WORKER], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        busy, idle = map(int, parent.stdout.readline().split())
        assert is_alive(busy)
        assert is_alive(idle)
        parent.kill()
    wait_until(lambda: not is_alive(busy) and not is_alive(idle), "the end of both workers")


def picture_workers(service: Service) -> set[int]:
    """Return the pids of the API's picture workers."""
    return {
        pid
        for pid in children(component_pids(service)["api"])
        if "prshots.server.adapters.pictures.workers.worker" in Path(f"/proc/{pid}/cmdline").read_text()
    }


def test_the_service_refuses_a_nasty_image_makes_the_others_and_leaves_no_worker_behind(
    service: Service,
) -> None:
    service.start()
    good = encoded(Image.new("RGB", (1280, 800), "red"), "PNG")
    with sign_in(service) as person:
        project = person.project()
        with service.client(person.token(project)) as ci:
            nasty = upload(ci, jpeg_with_scans(350), content_type="image/jpeg").json()["id"]
            others = [upload(ci, good, name=f"shot {number}").json()["id"] for number in range(10)]

        def ask() -> dict[str, Any]:
            reply: dict[str, Any] = person.ask(
                "POST", f"/projects/{project}/thumbnails", ids=[nasty, *others]
            ).json()
            return reply

        made = wait_for(ask, lambda reply: "later" not in reply["missing"].values())
        assert made["missing"] == {nasty: "too_large"}
        assert all(made["thumbnails"][image_id] for image_id in others)
    api, running = component_pids(service)["api"], picture_workers(service)
    assert running
    kill(api)
    wait_until(lambda: not any(map(is_alive, running)), "the end of its picture workers")
