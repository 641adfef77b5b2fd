"""Replicas on different machines that share a database: they never sign with keys that the others do not have."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.engine_servers import PostgreSQL
from support.service import Service, upload
from support.service_processes import fetch
from support.waiting import wait_for


@pytest.fixture
def machines(service: Service, tmp_path: Path, postgresql: PostgreSQL) -> Iterator[list[Service]]:
    """Return two machines with the same database and image folder, each with its own data folder."""
    service.settings |= {
        "DATABASE_URL": postgresql.new_database(),
        "STORE_URL": f"file://{tmp_path / 'images'}",
    }
    (tmp_path / "second").mkdir()
    second = Service(tmp_path / "second", dict(service.settings))
    yield [service, second]
    if second.process is not None:
        second.stop()


def keys_of(machine: Service) -> Path:
    return machine.data_dir / "signing-keys"


def readiness(address: str) -> tuple[int, str]:
    reply = httpx.get(f"{address}/readyz", timeout=60, trust_env=False)
    return reply.status_code, reply.json().get("error", "")


def wait_until_ready(machine: Service) -> None:
    for address in (machine.base_url, machine.img_url):
        wait_for(lambda address=address: readiness(address), lambda answer: answer[0] == 200)


@pytest.mark.slow
def test_a_replica_signs_only_with_the_keys_of_the_others(machines: list[Service]) -> None:
    first, second = machines
    wait_until_ready(first.start())
    token = first.new_token()
    with first.client(token) as client:
        view_url = upload(client).json()["view_url"]
    there = view_url.replace(first.img_url, second.img_url)

    # Another key under the same kid
    keys_of(second).parent.mkdir(parents=True)
    keys_of(second).write_text(f"k1:{'ab' * 32}\n")
    second.start()
    assert readiness(second.base_url) == (503, "not ready: keys")
    assert "the signing key k1 differs from the key k1 that this installation uses" in second.log
    assert "ab" * 32 not in second.log
    diagnosis = second.run("doctor", check=False)
    assert "the signing key k1 differs" in diagnosis.stdout + diagnosis.stderr
    rotation = second.run("keys", "rotate", check=False)
    assert rotation.returncode == 1
    assert "differs" in rotation.stderr
    assert readiness(first.base_url)[0] == 200
    assert second.stop() == 0

    # No key file: it makes none, and says what to do.
    keys_of(second).unlink()
    second.start()
    assert readiness(second.base_url) == readiness(second.img_url) == (503, "not ready: keys")
    with second.client(token) as client:
        reply = upload(client)
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
        assert reply.json() == {"error": "signing keys unavailable, retry later"}
        assert fetch(there).status_code == 503
        assert "restore the key file from a backup, or copy it from a machine that works" in second.log
        assert not keys_of(second).exists()
        shutil.copy(keys_of(first), keys_of(second))
        wait_until_ready(second)
        made_there = upload(client).json()["view_url"]
    assert fetch(made_there.replace(second.img_url, first.img_url)).status_code == 200
    assert fetch(there).status_code == 200


@pytest.mark.slow
def test_keys_are_rotated_and_replaced_by_commands(machines: list[Service]) -> None:
    first, _ = machines
    wait_until_ready(first.start())
    assert "k2 signs" in first.run("keys", "rotate").stderr

    def kid_of_an_upload() -> str:
        with first.client(token) as client:
            return upload(client).json()["view_url"].partition("token=")[2].partition(".")[0]

    token = first.new_token()
    wait_for(kid_of_an_upload, lambda kid: kid == "k2")
    assert readiness(first.base_url)[0] == 200
    assert first.run("keys", "create", check=False).returncode == 1
    assert first.stop() == 0

    keys_of(first).unlink()  # lost for good
    first.start()
    assert readiness(first.base_url) == (503, "not ready: keys")
    assert "with key k3" in first.run("keys", "create").stderr
    wait_until_ready(first)
    assert kid_of_an_upload() == "k3"


@pytest.mark.slow
def test_sqlite_refuses_to_start_without_its_keys_until_they_are_replaced(service: Service) -> None:
    token = service.start().new_token()
    with service.client(token) as client:
        old_url = upload(client).json()["view_url"]
    assert service.stop() == 0
    keys_of(service).unlink()
    refused = service.run_as_process("serve")
    assert refused.returncode == 1
    assert "cannot start: there are no signing keys in" in refused.stderr
    assert "restore the key file from a backup" in refused.stderr
    assert not keys_of(service).exists()
    keys_of(service).write_text(f"k1:{'ab' * 32}\n")  # as a start without keys used to create them
    assert "the signing key k1 differs" in service.run("doctor", check=False).stdout
    keys_of(service).unlink()  # lost for good
    assert "with key k2" in service.run("keys", "create").stderr
    service.start()
    with service.client(token) as client:
        assert "token=k2." in upload(client).json()["view_url"]
    assert fetch(old_url).status_code == 403
