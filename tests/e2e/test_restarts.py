"""Restarts under load that fail no client: of two replicas behind nginx, and of one service whose ports systemd keeps open."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.nginx_front import Nginx, started
from support.service import PRSHOTS, Service, upload
from support.service_processes import is_ready, serve
from support.waiting import wait_until

TRIES = 3
"""Fewer than our clients make. The connection of a port that closes in this moment is reset."""

Act = Callable[[httpx.Client], httpx.Response | None]


class Load:
    """Clients that repeat one request each, and note every one that fails in all tries."""

    def __init__(self, acts: list[Act], token: str, tries: int = 1, **headers: str) -> None:
        self._acts, self._tries = acts, tries
        self._headers = {"Authorization": f"Bearer {token}"} | headers
        self._stop = threading.Event()
        self.done = [0] * len(acts)
        self.retried = 0
        self.failed: list[str] = []

    def run_during(self, work: Callable[[], None]) -> None:
        with ThreadPoolExecutor(len(self._acts)) as threads:
            clients = [threads.submit(self._repeat, number) for number in range(len(self._acts))]
            try:
                work()
            finally:
                self._stop.set()
            for client in clients:
                client.result(timeout=90)

    def wait_for_more(self) -> None:
        before = list(self.done)
        wait_until(
            lambda: self.failed or all(now > then for now, then in zip(self.done, before, strict=True)),
            "every client to get a reply",
        )
        assert self.failed == []

    def _repeat(self, number: int) -> None:
        with httpx.Client(headers=self._headers, timeout=60, trust_env=False) as client:
            while not self._stop.wait(0.05):
                failures = [self._fail(self._acts[number], client)]
                while failures[-1] and len(failures) < self._tries:
                    failures.append(self._fail(self._acts[number], client))
                self.retried += len(failures) - 1
                if failures[-1]:
                    self.failed.append(f"client {number}: {failures}")
                self.done[number] += 1

    def _fail(self, act: Act, client: httpx.Client) -> str:
        """Return why a request fails; "" if it succeeds."""
        try:
            reply = act(client)
        except httpx.TransportError as error:
            return repr(error)
        return "" if reply is None or reply.is_success else f"{reply.status_code} {reply.text[:100]}"


def upload_to(address: str) -> Act:
    def act(client: httpx.Client) -> httpx.Response:
        client.base_url = address
        return upload(client)

    return act


def get(url: str, **headers: str) -> Act:
    return lambda client: client.get(url, headers=headers)


@pytest.fixture
def replicas(service: Service, tmp_path: Path) -> Iterator[list[Service]]:
    (tmp_path / "second").mkdir()
    service.settings |= {"GRACE_SECONDS": "60", "UPLOADS_PER_MINUTE": "1000000"}
    second = Service(tmp_path / "second", service.settings | {"DATA_DIR": str(service.data_dir)})
    yield [service, second]
    if second.process is not None:
        second.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("drain_seconds", "through_web", "restarts"),
    [
        ("2", False, 2),
        pytest.param("2", False, 10, marks=pytest.mark.nightly),
        pytest.param("0", False, 10, marks=pytest.mark.nightly),
        pytest.param("0", True, 10, marks=pytest.mark.nightly),
        pytest.param("2", True, 10, marks=pytest.mark.nightly),
    ],
)
def test_a_rolling_restart_behind_nginx_loses_no_request(
    replicas: list[Service], tmp_path: Path, drain_seconds: str, through_web: bool, restarts: int
) -> None:
    """Requests to the API take the way of the shipped configuration, or also pass the web component."""
    for replica in replicas:
        replica.settings["DRAIN_SECONDS"] = drain_seconds
        start(replica)
    front = Nginx.of(
        replicas[0],
        tmp_path / "nginx",
        api=[replica.web_port if through_web else replica.api_port for replica in replicas],
        delivery=[replica.img_port for replica in replicas],
    )
    with started(front.server()):
        token = replicas[0].new_token()
        with replicas[0].client(token) as client:
            image = front.url + httpx.URL(upload(client).json()["view_url"]).raw_path.decode()
        acts = [
            *[upload_to(front.url)] * 4,
            *[get(f"{front.url}/v1/comment?pr_number=1")] * 2,
            # A conditional request: nginx passes it to delivery instead of sending the file itself.
            *[get(image, Range="bytes=0-")] * 2,
        ]
        load = Load(acts, token, TRIES)

        def restart_in_turn() -> None:
            log_size = 0
            for number in range(restarts):
                wait_until(lambda log_size=log_size: are_in_use(front, log_size), "nginx to use both")
                replica = replicas[number % 2]
                assert replica.stop() == 0, replica.log
                start(replica)
                log_size = len(access_log(front))
                assert load.failed == [], (number, front.logs[-5000:])

        load.run_during(restart_in_turn)
        assert load.failed == []
        assert sum(load.done) > 20 * restarts
        assert load.retried <= len(acts) // 2 * restarts  # a few requests of a restart, not all
    for replica in replicas:
        assert "Traceback" not in replica.log


def start(replica: Service) -> None:
    serve(replica)
    for address in (replica.web_url, replica.base_url, replica.img_url):
        wait_until(lambda address=address: is_ready(address), lambda: f"the replica to be up: {replica.log}")


def access_log(front: Nginx) -> bytes:
    return (front.folder / "access.log").read_bytes()


def are_in_use(front: Nginx, log_size: int) -> bool:
    """Tell whether nginx uses all replicas since the log had this size."""
    log = access_log(front)[log_size:].decode()
    return all(f"upstream=127.0.0.1:{port} status=20" in log for port in (*front.api, *front.delivery))


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


def start_with(service: Service, listeners: list[socket.socket]) -> None:
    fds = [listener.fileno() for listener in listeners]
    with (service.folder / "serve.log").open("ab") as log:
        service.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, PRSHOTS, *map(str, fds)],
            env=service.env,
            pass_fds=fds,
            stdout=log,
            stderr=log,
        )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_restart_refuses_no_connection_while_systemd_keeps_the_ports_open(
    service: Service, listeners: list[socket.socket]
) -> None:
    ports = [listener.getsockname()[1] for listener in listeners]
    service.web_port, service.api_port, service.img_port = ports
    service.settings |= {"UPLOADS_PER_MINUTE": "1000000", "GRACE_SECONDS": "20"}
    start_with(service, listeners)
    service.wait_until_up()
    token = service.new_token()
    with service.client(token) as client:
        image = upload(client).json()["view_url"]
    uploads = [upload_to(service.base_url), upload_to(service.web_url)]
    acts = [*uploads, get(f"{service.web_url}/v1/comment?pr_number=7"), get(image)]
    load = Load(acts, token, Connection="close")

    def restart() -> None:
        load.wait_for_more()
        assert service.stop() == 0, service.log
        start_with(service, listeners)
        load.wait_for_more()

    load.run_during(restart)
    assert load.failed == []
    assert "Traceback" not in service.log
    assert os.fstat(listeners[0].fileno())  # still open, for the next start
