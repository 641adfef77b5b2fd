"""Several replicas on PostgreSQL, S3 and Valkey, killed under load: no acknowledged upload or delete is lost."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import obstore
import pytest

from support.engine_servers import PostgreSQL, SeaweedFS, Valkey
from support.free_ports import free_port
from support.service import Service, png, upload
from support.service_processes import (
    children,
    component_of,
    is_ready,
    kill,
    kill_supervisor,
    serve,
    supervisor_pid,
    wait_until,
)
from support.upload_load import UploadLoad

DUE, OVERDUE = 300, 36 * 3600
"""Within a day after images are due, the sweep deletes any number of them without asking."""


class Replicas:
    """Replicas on the same engines, each a `prshots serve` of one component, as on separate machines."""

    def __init__(self, folder: Path, settings: dict[str, str], database: str) -> None:
        self._folder = folder
        self.database = database
        self._ports = {"WEB_URL": free_port(), "BASE_URL": free_port(), "IMG_URL": free_port()}
        public = {name: f"http://127.0.0.1:{port}" for name, port in self._ports.items()}
        # All share one key file, like a secret that is mounted everywhere.
        self._settings = settings | public | {"SIGNING_KEYS_FILE": str(folder / "keys")}
        self.running: dict[str, Service] = {}

    def start(self, name: str) -> Service:
        """Start a replica such as `api-1`, on its previous ports if it ran before. Does not wait until it is up."""
        replica = self.running.get(name)
        if replica is None:
            home = self._folder / name
            home.mkdir()
            replica = self.running[name] = Service(home, dict(self._settings))
        if name.startswith("web"):
            replica.settings["API_URL"] = self.running["api-1"].base_url
        serve(replica, name.partition("-")[0])
        return replica

    def wait_until_ready(self) -> None:
        for name, replica in self.running.items():
            if address := self.address_of(name):
                wait_until(lambda address=address: is_ready(address), f"{name}\n{replica.log}")

    def address_of(self, name: str) -> str:
        replica = self.running[name]
        parts = {"api": replica.base_url, "delivery": replica.img_url, "web": replica.web_url}
        return parts.get(name.partition("-")[0], "")

    def kill_and_restart(self, name: str) -> None:
        """Kill the supervisor, and its children with it, then start the replica again."""
        orphans = children(supervisor_pid(self.running[name]))
        kill_supervisor(self.running[name])
        for orphan in orphans:
            kill(orphan)
        time.sleep(0.5)  # the others carry the load
        self.start(name)

    def stop(self) -> None:
        for replica in self.running.values():
            assert replica.stop() == 0, replica.log


@pytest.fixture
def replicas(
    tmp_path: Path,
    postgresql: PostgreSQL,
    seaweedfs: SeaweedFS,
    valkey: Valkey,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Replicas]:
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    database = postgresql.new_database()
    made = Replicas(
        tmp_path,
        {
            "DATABASE_URL": database,
            "STORE_URL": seaweedfs.store_url(seaweedfs.new_bucket()),
            "COUNTER_URL": valkey.url,
            "UPLOADS_PER_MINUTE": "1000000",
        },
        database.rpartition("/")[2],
    )
    yield made
    for replica in made.running.values():
        if replica.process is not None:
            replica.stop()


def meet_sweep(replica: Service) -> int:
    """Return the pid of a running sweep, or 0 if it was done too soon."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for pid in children(supervisor_pid(replica)):
            if component_of(pid) == "sweeper":
                return pid
        time.sleep(0.005)
    return 0


def make_due(postgresql: PostgreSQL, replicas: Replicas, pr_number: int) -> None:
    """Age the images of a pull request by days, so that they expire."""
    postgresql.execute(
        f"UPDATE images SET uploaded_at = uploaded_at - {OVERDUE} WHERE pr_number = {pr_number}",
        replicas.database,
    )


@pytest.mark.slow
def test_killing_one_replica_of_each_component_loses_no_image(
    replicas: Replicas, postgresql: PostgreSQL, seaweedfs: SeaweedFS
) -> None:
    for name in ("api-1", "api-2", "delivery-1", "delivery-2", "web-1"):  # concurrently, on an empty database
        replicas.start(name)
    replicas.wait_until_ready()
    cli = replicas.running["api-1"]
    addresses = [replicas.address_of(name) for name in ("api-1", "api-2", "web-1")]
    deliveries = [replicas.address_of(name) for name in ("delivery-1", "delivery-2")]
    load = UploadLoad(cli.new_token(), random.randrange(10**9), addresses, deliveries)
    overdue = cli.new_token(retain_days="1")
    with cli.client(overdue) as client, ThreadPoolExecutor(16) as threads:
        doomed = list(threads.map(lambda _: upload(client, png(), pr_number=9).json(), range(DUE)))
    make_due(postgresql, replicas, 9)

    def kill_one_of_each() -> None:
        for name in ("api-2", "delivery-1", "web-1", "api-1", "delivery-2"):
            time.sleep(0.7)
            replicas.kill_and_restart(name)
            replicas.wait_until_ready()
            assert not load.wrong
        for name in ("sweep-1", "sweep-2"):
            replicas.start(name)
        time.sleep(random.random() * 0.4)
        if sweep := meet_sweep(replicas.running["sweep-1"]):
            kill(sweep)
        replicas.kill_and_restart("sweep-1")
        wait_until(lambda: _left(postgresql, replicas, 9) == 0, "the end of the images that are due")
        wait_until(lambda: len(load.kept) > 50 and len(load.gone) > 10, "enough work under load")

    load.run_during(kill_one_of_each)
    assert not load.wrong

    with httpx.Client(trust_env=False, timeout=60) as client:
        for shot in load.shots:
            load.read(client, shot)
        assert not load.wrong
        urls = [shot["view_url"].replace(cli.settings["IMG_URL"], deliveries[0]) for shot in doomed]
        assert {client.get(url).status_code for url in urls} == {410}
    recorded = {str(row[0]) for row in postgresql.execute("SELECT id FROM images", replicas.database)}
    stored = stored_ids(seaweedfs, cli.settings["STORE_URL"])
    assert {shot.id for shot in load.kept} <= recorded <= stored
    assert not {shot.id for shot in load.gone} & stored
    replicas.stop()
    for name, replica in replicas.running.items():
        assert "Traceback" not in replica.log, name


@pytest.mark.slow
def test_a_deleted_image_is_gone_from_every_replica_that_has_a_copy(replicas: Replicas) -> None:
    for name in ("api-1", "delivery-1", "delivery-2"):
        replicas.start(name)
    replicas.wait_until_ready()
    api = replicas.running["api-1"]
    deliveries = [replicas.address_of(name) for name in ("delivery-1", "delivery-2")]
    with api.client(api.new_token()) as client, httpx.Client(trust_env=False, timeout=60) as reader:
        for _ in range(3):
            shot = upload(client, png()).json()
            urls = [shot["view_url"].replace(api.settings["IMG_URL"], address) for address in deliveries]
            assert {reader.get(url).status_code for url in urls * 3} == {200}
            assert client.delete(f"/v1/images/{shot['id']}").status_code == 200
            assert {reader.get(url).status_code for url in urls * 2} == {410}
        for address in deliveries:
            assert (
                'prshots_delivery_cache_reads_total{result="hit"} 6.0'
                in reader.get(f"{address}/metrics").text
            )


def _left(postgresql: PostgreSQL, replicas: Replicas, pr_number: int) -> object:
    query = f"SELECT count(*) FROM images WHERE pr_number = {pr_number}"
    return postgresql.execute(query, replicas.database)[0][0]


def stored_ids(seaweedfs: SeaweedFS, store_url: str) -> set[str]:
    """Return the ids of all objects in the bucket."""
    bucket = store_url.partition("//")[2].partition("/")[0]
    listed = obstore.list(seaweedfs.client(bucket)).collect()
    return {entry["path"].rpartition("/")[2].partition(".")[0] for entry in listed} - {""}
