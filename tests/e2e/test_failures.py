"""Real disk and database failures under a running service: clear errors, no lost data, and retries that succeed."""

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.service import Service, png, upload
from support.service_processes import (
    change_database,
    component_pids,
    delete_all,
    fetch,
    image_files,
    key_of,
    records,
    wait_for_first_sweep,
    wait_until,
)
from support.stores_and_records import read_only

pytestmark = pytest.mark.slow

EXPIRE_FAILED = (503, {"error": "expire failed, retry later"})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("failures"), {"UPLOADS_PER_MINUTE": "1000"}).start()
    wait_for_first_sweep(service)
    workers = component_pids(service)
    yield service
    survived = component_pids(service) == workers
    assert service.stop() == 0
    assert survived, f"a worker died:\n{service.log}"
    assert "Traceback" not in service.log


@pytest.fixture(scope="module")
def token(running: Service) -> str:
    return running.new_token()


@pytest.fixture
def client(running: Service, token: str) -> Iterator[httpx.Client]:
    with running.client(token) as client:
        yield client
        delete_all(running, client)


def answer(response: httpx.Response) -> tuple[int, object]:
    return response.status_code, response.json()


@contextlib.contextmanager
def undeletable(path: Path) -> Iterator[None]:
    """Replace the file with a folder, which not even root can unlink."""
    aside = path.with_suffix(".aside")
    path.rename(aside)
    (path / "something").mkdir(parents=True)
    yield
    shutil.rmtree(path)
    aside.rename(path)


# Upload


def test_concurrent_uploads_leave_no_files_if_their_records_fail(
    running: Service, client: httpx.Client
) -> None:
    """Concurrent records are committed together, but each upload fails separately."""
    change_database(running, "ALTER TABLE images RENAME TO images_gone")
    with ThreadPoolExecutor(16) as threads:
        responses = list(threads.map(lambda _: upload(client), range(32)))
    unavailable = {"error": "database unavailable, retry later"}
    assert [answer(response) for response in responses] == [(503, unavailable)] * 32
    assert image_files(running) == set()
    change_database(running, "ALTER TABLE images_gone RENAME TO images")
    assert upload(client).status_code == 200
    assert len(image_files(running)) == 1


def test_an_upload_waits_for_a_locked_database(running: Service, client: httpx.Client) -> None:
    before = upload(client).json()
    with contextlib.closing(sqlite3.connect(running.data_dir / "prshots.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(upload, client)
            wait_until(lambda: len(image_files(running)) == 2, "the bytes, which come before the record")
            assert fetch(before["view_url"]).status_code == 200
            assert not waiting.done()
            other.execute("COMMIT")
            response = waiting.result(timeout=60)
    assert response.status_code == 200
    assert {key_of(before["view_url"]), key_of(response.json()["view_url"])} == image_files(running)
    assert len(records(running)) == 2


def test_a_read_only_images_folder_fails_uploads_and_deletes_with_503(
    running: Service, client: httpx.Client
) -> None:
    uploaded = upload(client).json()
    with read_only(running.images_dir):
        assert answer(upload(client)) == (503, {"error": "storage unavailable, retry later"})
        assert answer(client.delete(f"/v1/images/{uploaded['id']}")) == EXPIRE_FAILED
        assert fetch(uploaded["view_url"]).status_code == 200
    assert upload(client).status_code == 200
    assert answer(client.delete(f"/v1/images/{uploaded['id']}")) == (200, {"ok": True, "id": uploaded["id"]})
    assert len(image_files(running)) == len(records(running)) == 1


# Expiry


def test_one_undeletable_image_does_not_stop_the_others_from_expiring(
    running: Service, client: httpx.Client
) -> None:
    uploads = [upload(client, pr_number=8).json() for _ in range(5)]
    other_pr = upload(client, pr_number=9).json()
    stuck = uploads.pop(2)
    expire = {"json": {"pr_number": 8}}
    with undeletable(running.images_dir / key_of(stuck["view_url"])):
        reply = client.post("/v1/expire", **expire).json()
        assert reply == {"pr_number": 8, "policy": "pr_close", "marked": 5, "expired": 4}
        assert {fetch(uploaded["view_url"]).status_code for uploaded in uploads} == {410}
        assert {row[0] for row in records(running)} == {stuck["id"], other_pr["id"]}
        assert stuck["id"] not in client.get("/v1/comment?pr_number=8").text
    reply = client.post("/v1/expire", **expire).json()
    assert reply == {"pr_number": 8, "policy": "pr_close", "marked": 0, "expired": 1}
    assert fetch(stuck["view_url"]).status_code == 410
    assert fetch(other_pr["view_url"]).status_code == 200


@pytest.mark.parametrize("how", ["delete", "expire"])
def test_no_request_gets_an_image_after_its_delete_is_acknowledged(client: httpx.Client, how: str) -> None:
    """Eight clients request the image continuously, over open connections."""
    uploaded = upload(client, png(30_000)).json()
    gone, late = threading.Event(), threading.Event()
    answers: list[tuple[bool, int]] = []

    def hammer() -> None:
        with httpx.Client(trust_env=False, timeout=30) as reader:
            while not late.is_set():
                was_gone = gone.is_set()
                answers.append((was_gone, reader.get(uploaded["view_url"]).status_code))

    with ThreadPoolExecutor(8) as threads:
        readers = [threads.submit(hammer) for _ in range(8)]
        wait_until(lambda: len(answers) > 100, "the readers to get going")
        if how == "delete":
            response = client.delete(f"/v1/images/{uploaded['id']}")
        else:
            response = client.post("/v1/expire", json={"pr_number": 7})
        gone.set()
        wait_until(lambda: sum(was_gone for was_gone, _ in answers) > 200, "requests after the reply")
        late.set()
        for reader in readers:
            reader.result(timeout=60)
    assert response.status_code == 200
    assert {status for was_gone, status in answers if was_gone} == {410}
    assert {status for was_gone, status in answers if not was_gone} <= {200, 410}
    assert (False, 200) in answers
