"""Stopping without losing a request: readiness goes red first, then what is under way is finished."""

import signal
import socket
import threading
import time
from pathlib import Path
from typing import Self

import httpx
import pytest

from support.service import Service, png, upload
from support.service_processes import SlowUpload, fetch, key_of, records, serve, wait_until


def ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def test_a_part_that_drains_says_so_and_still_answers(service: Service) -> None:
    service.settings |= {"DRAIN_SECONDS": "4"}
    service.start()
    addresses = (service.web_url, service.base_url, service.img_url)
    with service.client(service.new_token()) as client:
        view_url = upload(client).json()["view_url"]
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not any(map(ready, addresses)), "readiness to go red")
        for address in addresses:
            reply = httpx.get(f"{address}/readyz", timeout=5, trust_env=False)
            assert (reply.status_code, reply.json()["error"]) == (503, "not ready: stopping")
            assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200
        replies = [upload(client), fetch(view_url), client.get(f"{service.web_url}/v1/comment?pr_number=7")]
        assert [reply.status_code for reply in replies] == [200] * 3
        assert [reply.headers.get_list("connection") for reply in replies] == [["close"]] * 3
    assert service.process.wait(timeout=20) == 0
    assert "Traceback" not in service.log


@pytest.mark.parametrize("part", ["web", "api", "delivery"])
def test_a_draining_server_closes_after_its_reply(
    shared_service: Service, service: Service, part: str
) -> None:
    """On the wire: what the header says, the server does, so that the client need not."""
    del shared_service
    service.settings |= {"DRAIN_SECONDS": "3"}
    serve(service, part)
    port = {"web": service.web_port, "api": service.api_port, "delivery": service.img_port}[part]
    address = f"http://127.0.0.1:{port}"
    wait_until(lambda: _answers(address), "the part to be up")
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in connection.recv(65536)
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not ready(address), "readiness to go red")
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        reply = b""
        while piece := connection.recv(65536):  # to the end of the connection
            reply += piece
        assert b"200 OK" in reply
        assert b"connection: close" in reply.lower()
    assert service.process.wait(timeout=20) == 0


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/healthz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.slow
def test_an_upload_may_take_as_long_as_the_grace(service: Service) -> None:
    service.settings |= {"GRACE_SECONDS": "30"}
    service.start()
    image = png(300_000)
    with service.client(service.new_token()) as client:
        slow = SlowUpload(client, image)
        service.process.send_signal(signal.SIGTERM)
        time.sleep(5)  # longer than the default of 4 s
        response = slow.finish()
    assert response.status_code == 200
    assert service.process.wait(timeout=20) == 0
    assert (service.images_dir / key_of(response.json()["view_url"])).read_bytes() == image


class Balancer:
    """Uploads all the time, to whichever replica says that it is ready; never tries anything twice."""

    def __init__(self, replicas: list[Service], token: str) -> None:
        self._replicas, self._token = replicas, token
        self._ready: set[str] = set()
        self._stop = threading.Event()
        self._checker = threading.Thread(target=self._check)
        self._uploaders = [threading.Thread(target=self._upload) for _ in range(3)]
        self.acknowledged: list[str] = []
        self.failed: list[str] = []

    def __enter__(self) -> Self:
        self._checker.start()
        wait_until(lambda: len(self._ready) == len(self._replicas), "the replicas to be ready")
        for thread in self._uploaders:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in (self._checker, *self._uploaders):
            thread.join(60)

    def sees(self, replica: Service) -> bool:
        return replica.base_url in self._ready

    def _check(self) -> None:
        while not self._stop.wait(0.1):
            self._ready = {replica.base_url for replica in self._replicas if ready(replica.base_url)}

    def _upload(self) -> None:
        with httpx.Client(
            headers={"Authorization": f"Bearer {self._token}"}, timeout=30, trust_env=False
        ) as client:
            turn = 0
            while not self._stop.wait(0.05):
                addresses = sorted(self._ready)
                if not addresses:
                    self.failed.append("no replica was ready")
                    continue
                turn += 1
                client.base_url = addresses[turn % len(addresses)]
                try:
                    reply = upload(client)
                except httpx.TransportError as error:
                    self.failed.append(repr(error))
                    continue
                if reply.status_code == 200:
                    self.acknowledged.append(reply.json()["id"])
                else:
                    self.failed.append(reply.text)


@pytest.mark.slow
def test_a_rolling_restart_under_load_loses_no_request(service: Service, tmp_path: Path) -> None:
    service.settings |= {"DRAIN_SECONDS": "2", "GRACE_SECONDS": "20", "UPLOADS_PER_MINUTE": "100000"}
    (tmp_path / "second").mkdir()
    second = Service(tmp_path / "second", service.settings | {"DATA_DIR": str(service.data_dir)})
    replicas = [service, second]
    try:
        for replica in replicas:
            serve(replica, "api")
            wait_until(lambda replica=replica: ready(replica.base_url), "the replica to be up")
        with Balancer(replicas, service.new_token()) as balancer:
            for replica in replicas:
                before = len(balancer.acknowledged)
                assert replica.stop() == 0
                wait_until(lambda replica=replica: not balancer.sees(replica), "the balancer to see it")
                serve(replica, "api")
                wait_until(lambda replica=replica: balancer.sees(replica), "the replica to be back")
                assert len(balancer.acknowledged) > before
        assert balancer.failed == []
        assert {image_id for (image_id,) in records(service)} == set(balancer.acknowledged)
    finally:
        if second.process is not None:
            second.stop()
