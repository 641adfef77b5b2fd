"""Shutdown without losing a request: readiness fails first, then requests in progress finish."""

import contextlib
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Self

import httpx
import pytest

from support.service import Service, upload
from support.service_processes import fetch, is_ready, kill_supervisor, records, serve
from support.waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_draining_component_is_not_ready_answers_and_closes_the_connection(service: Service) -> None:
    """The server sends `Connection: close` and then closes the connection itself."""
    service.settings |= {"DRAIN_SECONDS": "300"}  # longer than the test, which ends with a kill
    service.start()
    addresses = (service.web_url, service.base_url, service.img_url)
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with service.client(service.new_token()) as client, contextlib.ExitStack() as stack:
        view_url = upload(client).json()["view_url"]
        ports = (service.web_port, service.api_port, service.img_port)
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for port in ports
        ]
        for connection in connections:
            connection.sendall(ask)
            assert b"200 OK" in connection.recv(65536)
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not any(map(is_ready, addresses)), "readiness to go red")
        for connection in connections:
            connection.sendall(ask)
            reply = b"".join(iter(lambda connection=connection: connection.recv(65536), b""))
            assert b"200 OK" in reply
            assert b"connection: close" in reply.lower()
        for address in addresses:
            ready = httpx.get(f"{address}/readyz", timeout=60, trust_env=False)
            assert (ready.status_code, ready.json()["error"]) == (503, "not ready: stopping")
        replies = [upload(client), fetch(view_url), client.get(f"{service.web_url}/v1/comment?pr_number=7")]
        assert [reply.status_code for reply in replies] == [200] * 3
        assert [reply.headers.get_list("connection") for reply in replies] == [["close"]] * 3
    kill_supervisor(service)
    assert "Traceback" not in service.log


DRAIN_SECONDS = 2


class Balancer:
    """Upload to the replicas that report ready, and never retry."""

    def __init__(self, replicas: list[Service], token: str) -> None:
        self._replicas, self._token = replicas, token
        self._ready_at: dict[str, float] = {}
        self._stop = threading.Event()
        self._checker = threading.Thread(target=self._check)
        self._uploaders = [threading.Thread(target=self._upload) for _ in range(3)]
        self.acknowledged: list[str] = []
        self.failed: list[str] = []

    def __enter__(self) -> Self:
        self._checker.start()
        wait_until(lambda: all(map(self.sees, self._replicas)), "the replicas to be ready")
        for thread in self._uploaders:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in (self._checker, *self._uploaders):
            thread.join(90)

    def sees(self, replica: Service) -> bool:
        return replica.base_url in self._ready_at

    def _check(self) -> None:
        while not self._stop.wait(0.1):
            for replica in self._replicas:
                asked_at = time.monotonic()
                if is_ready(replica.base_url):
                    self._ready_at[replica.base_url] = asked_at
                else:
                    self._ready_at.pop(replica.base_url, None)

    def _upload(self) -> None:
        with httpx.Client(
            headers={"Authorization": f"Bearer {self._token}"}, timeout=60, trust_env=False
        ) as client:
            turn = 0
            while not self._stop.wait(0.05):
                replicas = sorted(self._ready_at.copy().items())
                if replicas:
                    turn += 1
                    self._upload_to(client, *replicas[turn % len(replicas)])

    def _upload_to(self, client: httpx.Client, address: str, ready_at: float) -> None:
        client.base_url = address
        try:
            reply = upload(client)
        except httpx.TransportError as error:
            # On a busy machine the last check may be older than the drain period. That is not the replica's fault.
            if time.monotonic() - ready_at < DRAIN_SECONDS:
                self.failed.append(repr(error))
            return
        if reply.status_code == 200:
            self.acknowledged.append(reply.json()["id"])
        else:
            self.failed.append(reply.text)


def test_a_rolling_restart_under_load_loses_no_request(service: Service, tmp_path: Path) -> None:
    service.settings |= {
        "DRAIN_SECONDS": str(DRAIN_SECONDS),
        "GRACE_SECONDS": "120",
        "UPLOADS_PER_MINUTE": "100000",
    }
    (tmp_path / "second").mkdir()
    second = Service(tmp_path / "second", service.settings | {"DATA_DIR": str(service.data_dir)})
    replicas = [service, second]
    try:
        for replica in replicas:
            serve(replica, "api")
            wait_until(lambda replica=replica: is_ready(replica.base_url), "the replica to be up")
        with Balancer(replicas, service.new_token()) as balancer:
            for replica in replicas:
                before = len(balancer.acknowledged)
                replica.process.send_signal(signal.SIGTERM)
                assert replica.process.wait(timeout=180) == 0
                wait_until(lambda replica=replica: not balancer.sees(replica), "the balancer to see it")
                wait_until(lambda before=before: len(balancer.acknowledged) > before, "uploads to go on")
                serve(replica, "api")
                wait_until(lambda replica=replica: balancer.sees(replica), "the replica to be back")
        assert balancer.failed == []
        assert {image_id for (image_id,) in records(service)} == set(balancer.acknowledged)
    finally:
        if second.process is not None:
            second.stop()
