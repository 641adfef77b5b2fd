"""Replicas of one component each, on PostgreSQL, S3 and Valkey, as on separate machines."""

import contextlib
from pathlib import Path

import httpx
import pytest

from support.engine_servers import PostgreSQL, SeaweedFS, Valkey
from support.service import Service, png, upload
from support.service_processes import is_ready, serve
from support.waiting import wait_until


@pytest.mark.slow
def test_a_deleted_image_is_gone_from_every_replica_that_has_a_copy(
    tmp_path: Path,
    postgresql: PostgreSQL,
    seaweedfs: SeaweedFS,
    valkey: Valkey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in seaweedfs.credentials.items():
        monkeypatch.setenv(name, value)
    settings = {
        "DATABASE_URL": postgresql.new_database(),
        "STORE_URL": seaweedfs.new_store_url(),
        "COUNTER_URL": valkey.url,
        "SIGNING_KEYS_FILE": str(tmp_path / "keys"),  # like a secret that is mounted everywhere
    }
    with contextlib.ExitStack() as stack:
        running = []
        for name in ("api-1", "api-2", "delivery-1", "delivery-2"):  # concurrently, on an empty database
            (tmp_path / name).mkdir()
            replica = Service(tmp_path / name, settings)
            serve(replica, name.partition("-")[0])
            stack.callback(replica.stop)
            running.append(replica)
        apis, deliveries = running[:2], running[2:]
        addresses = [api.base_url for api in apis] + [delivery.img_url for delivery in deliveries]
        for address in addresses:
            wait_until(
                lambda address=address: is_ready(address), lambda: "".join(each.log for each in running)
            )
        reader = stack.enter_context(httpx.Client(trust_env=False, timeout=60))
        token = apis[0].new_token()
        clients = [stack.enter_context(api.client(token)) for api in apis]
        for uploading, deleting in (clients, clients[::-1]):
            shot = upload(uploading, png()).json()
            path = httpx.URL(shot["view_url"]).raw_path.decode()
            urls = [f"{delivery.img_url}{path}" for delivery in deliveries]
            assert {reader.get(url).status_code for url in urls * 3} == {200}
            assert deleting.delete(f"/v1/images/{shot['id']}").status_code == 200
            assert {reader.get(url).status_code for url in urls * 2} == {410}
        hits = 'prshots_delivery_cache_reads_total{result="hit"} 4.0'
        assert all(hits in reader.get(f"{delivery.img_url}/metrics").text for delivery in deliveries)
