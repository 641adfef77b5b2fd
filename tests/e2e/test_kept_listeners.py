"""A restart while systemd keeps the ports open: connections wait, and none is refused."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.service import PRSHOTS, Service, upload
from support.waiting import wait_until

LAUNCHER = """
import os, sys
program, *fds = sys.argv[1:]
for number, fd in enumerate(map(int, fds)):
    os.dup2(fd, 100 + number)
for number in range(len(fds)):
    os.dup2(100 + number, 3 + number)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(fds))}
os.execv(program, [program, "serve"])
"""
"""Passes on sockets as systemd does: from descriptor 3 on."""


@pytest.fixture
def listeners() -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024)) for _ in range(3)]


def start(service: Service, listeners: list[socket.socket]) -> None:
    fds = [listener.fileno() for listener in listeners]
    with (service.folder / "serve.log").open("ab") as log:
        service.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, PRSHOTS, *map(str, fds)],
            env=service.env,
            pass_fds=fds,
            stdout=log,
            stderr=log,
        )


class Clients:
    """Clients that never retry. Each request has its own connection."""

    def __init__(self, service: Service, token: str) -> None:
        self._headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
        with self._client() as client:
            client.base_url = service.base_url
            view_url = upload(client).json()["view_url"]
        self._acts: list[Callable[[httpx.Client], httpx.Response]] = [
            lambda client: upload(_at(client, service.base_url)),
            lambda client: upload(_at(client, service.web_url)),
            lambda client: _at(client, service.web_url).get("/v1/comment?pr_number=7"),
            lambda client: client.get(view_url),
        ]
        self._stop = threading.Event()
        self.done = [0] * len(self._acts)
        self.failed: list[str] = []

    def run_during(self, work: Callable[[], None]) -> None:
        with ThreadPoolExecutor(len(self._acts)) as threads:
            running = [threads.submit(self._repeat, number) for number in range(len(self._acts))]
            try:
                work()
            finally:
                self._stop.set()
            for each in running:
                each.result(timeout=90)

    def wait_for_more(self) -> None:
        before = list(self.done)
        wait_until(
            lambda: self.failed or all(now > then for now, then in zip(self.done, before, strict=True)),
            "every client to get a reply",
        )
        assert self.failed == []

    def _client(self) -> httpx.Client:
        return httpx.Client(headers=self._headers, timeout=60, trust_env=False)

    def _repeat(self, number: int) -> None:
        with self._client() as client:
            while not self._stop.wait(0.02):
                try:
                    reply = self._acts[number](client)
                except httpx.TransportError as error:
                    self.failed.append(f"{number}: {error!r}")
                    continue
                if reply.status_code != 200:
                    self.failed.append(f"{number}: {reply.status_code} {reply.text[:200]}")
                self.done[number] += 1


def _at(client: httpx.Client, address: str) -> httpx.Client:
    client.base_url = address
    return client


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_restart_refuses_no_connection(service: Service, listeners: list[socket.socket]) -> None:
    ports = [listener.getsockname()[1] for listener in listeners]
    service.web_port, service.api_port, service.img_port = ports
    service.settings |= {"UPLOADS_PER_MINUTE": "1000000", "GRACE_SECONDS": "20"}
    start(service, listeners)
    service.wait_until_up()
    clients = Clients(service, service.new_token())

    def restart() -> None:
        clients.wait_for_more()
        assert service.stop() == 0, service.log
        start(service, listeners)
        clients.wait_for_more()

    clients.run_during(restart)
    assert clients.failed == []
    assert "Traceback" not in service.log
    assert os.fstat(listeners[0].fileno())  # still open, for the next start
