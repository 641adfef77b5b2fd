"""`prshots move` as a command. Its kills are in test_drills.py, and contracts/test_move.py has every engine."""

from pathlib import Path

import httpx
import pytest

from support.service import Service, upload
from support.service_processes import fetch
from support.waiting import wait_for


def test_command_reports_its_steps_and_the_settings_to_change(tmp_path: Path) -> None:
    service, new = Service(tmp_path), tmp_path / "new"
    service.run("project", "create", "demo")
    target = ("--to-database", f"sqlite:///{new}/prshots.db", "--to-store", f"file://{new}/images")
    tried = service.run("move", "--dry-run", *target).stdout
    assert "This is an estimate" in tried
    assert "Nothing was moved." in tried
    assert not new.exists()
    moved = service.run("move", *target)
    assert "Copying records …" in moved.stderr
    assert "Moved 5 rows and 0 files.\n" in moved.stdout
    assert "Writes stopped for " in moved.stdout
    assert f"  PRSHOTS_DATABASE_URL=sqlite:///{new}/prshots.db\n" in moved.stdout
    assert f"  PRSHOTS_STORE_URL=file://{new}/images\n" in moved.stdout
    assert f"Signing keys: keep {service.data_dir}/signing-keys" in moved.stdout
    assert "This move is done." in service.run("move", *target).stdout
    where = f"the data was moved: set PRSHOTS_DATABASE_URL to {new}/prshots.db and PRSHOTS_STORE_URL to"
    assert where in service.run("project", "list", check=False).stderr
    assert where in service.run("doctor", check=False).stdout
    assert "accepts writes again" in service.run("move", "--cancel").stderr
    service.run("project", "create", "other")
    refused = service.run("move", *target, check=False)
    assert refused.returncode == 1
    assert "name an empty database" in refused.stderr
    moved_service = Service(tmp_path, {"DATABASE_URL": target[1], "STORE_URL": target[3]})
    assert "demo" in moved_service.run("project", "list").stdout


@pytest.mark.slow
def test_after_a_move_the_old_service_is_not_ready_but_delivers_images(tmp_path: Path) -> None:
    service, new = Service(tmp_path), tmp_path / "new"
    token = service.start().new_token()

    def readiness(address: str) -> tuple[int, str]:
        reply = httpx.get(f"{address}/readyz", timeout=60, trust_env=False)
        return reply.status_code, reply.text

    def send() -> httpx.Response:
        with service.client(token) as client:
            return upload(client)

    try:
        image = send().json()["view_url"]
        service.run(
            "move", "--to-database", f"sqlite:///{new}/prshots.db", "--to-store", f"file://{new}/images"
        )
        for restarts in (False, True):  # the running service, and one that starts with the old settings
            if restarts:
                assert service.stop() == 0
                service.start()
            status, found = wait_for(
                lambda: readiness(service.base_url), lambda answer: "was moved" in answer[1]
            )
            assert status == 503
            assert "the data was moved: set PRSHOTS_DATABASE_URL to" in found
            assert send().status_code == 503
            assert (readiness(service.img_url)[0], fetch(image).status_code) == (200, 200)
    finally:
        service.stop()
