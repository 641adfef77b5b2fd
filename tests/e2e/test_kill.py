"""Kill -9 at random moments under load: no acknowledged image is lost, and no partial image is served."""

import os
import random
import threading
import time

import pytest

from support.service import Service
from support.service_processes import (
    fetch,
    image_files,
    is_alive,
    key_of,
    kill,
    kill_supervisor,
    part_pids,
    recorded_files,
    serve,
    wait_until,
)
from support.upload_load import UploadLoad, is_whole

VICTIMS = ("api", "delivery", "web", "api", "delivery", "supervisor", "sweeper")
TWO_HOURS = 7200


def inspect_files(service: Service, load: UploadLoad, stop: threading.Event) -> None:
    """Check each file as soon as delivery could serve it, acknowledged or not."""
    seen: set[str] = set()
    while not stop.wait(0.15):  # often enough: a partial file would stay
        for path in service.images_dir.glob("??/*"):
            if path.name in seen or path.name.startswith("."):  # unfinished: it has no URL
                continue
            seen.add(path.name)
            try:
                image = path.read_bytes()
            except FileNotFoundError:
                continue
            if not is_whole(image):
                load.wrong.append(f"{path.name} could have been served half, as {len(image)} bytes")


def kill_one(service: Service, victim: str, rng: random.Random) -> None:
    """Kill one of the processes, and wait until the service is up again."""
    if victim == "supervisor":
        kill_and_restart_supervisor(service)
    elif victim == "sweeper":
        kill_sweeper(service, rng)
    else:
        kill(part_pids(service)[victim])
    service.wait_until_up()


def kill_and_restart_supervisor(service: Service) -> None:
    orphans = part_pids(service).values()
    kill_supervisor(service)
    wait_until(lambda: not any(map(is_alive, orphans)), "the end of its children")
    serve(service)


def kill_sweeper(service: Service, rng: random.Random) -> None:
    """Kill a running sweep. It runs only at startup and may be done too soon, so retry."""
    for _ in range(20):
        kill_and_restart_supervisor(service)
        until = time.monotonic() + 90
        while "sweeper" not in (running := part_pids(service)) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.3)
        if is_alive(running.get("sweeper", 0)):
            kill(running["sweeper"])
            return
    pytest.fail("no sweep was met at its work")


def make_old(service: Service) -> None:
    """Age the files by hours, so that the sweep treats leftovers of crashes as orphans."""
    then = time.time() - TWO_HOURS
    for key in image_files(service):
        os.utime(service.images_dir / key, (then, then))


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("KILL_SEED", "0")) or random.randrange(1, 10**9)
    print(f"KILL_SEED={seed}")  # pytest shows it when the test fails
    return seed


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kills", [len(set(VICTIMS)), pytest.param(50, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments_loses_no_acknowledged_image(
    service: Service, seed: int, kills: int
) -> None:
    service.settings["UPLOADS_PER_MINUTE"] = "1000000"
    service.start()
    rng = random.Random(seed)
    load = UploadLoad(service.new_token(), seed, [service.base_url, service.web_url], [service.img_url])
    victims = [VICTIMS[number % len(VICTIMS)] for number in range(kills)]
    rng.shuffle(victims)

    def kill_again_and_again() -> None:
        for victim in victims:
            time.sleep(rng.random() * 0.8)
            kill_one(service, victim, rng)
            assert not load.wrong
        wait_until(lambda: len(load.kept) > kills and len(load.gone) > kills / 2, "enough work under load")

    load.run_during(kill_again_and_again, watch=lambda stop: inspect_files(service, load, stop))
    assert not load.wrong
    print(f"{len(load.shots)} uploads, {len(load.gone)} deletes, {load.replies} replies")

    make_old(service)
    service.run("sweep")
    assert image_files(service) == recorded_files(service)
    with service.client(load.token) as client:
        for shot in load.shots:
            load.read(client, shot)
    assert not load.wrong
    assert {key_of(shot.view_url) for shot in load.kept} <= image_files(service)
    assert fetch(load.kept[0].view_url).status_code == 200
    assert "Traceback" not in service.log
