"""Restarting two replicas in turn, behind nginx as we ship it and under load, fails no client that retries, as ours do."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.engine_servers import Server
from support.nginx_front import Nginx
from support.service import Service, upload
from support.service_processes import is_ready, serve
from support.waiting import wait_until

RESTARTS = int(os.environ.get("RESTARTS", "6"))
"""For each drain time. For the full series: `RESTARTS=50 .venv/bin/pytest tests/e2e/test_rolling_restart.py`."""


@contextlib.contextmanager
def running(server: Server) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        server.stop()


TRIES = 3
"""Fewer than our clients make. The connection of a port that closes in this moment is reset."""


class Load:
    """Clients that note every request that fails in all tries."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._stop = threading.Event()
        self._image_path = ""
        self.done = self.retried = 0
        self.failed: list[str] = []

    def run_during(self, work: Callable[[], None]) -> None:
        acts = [self._upload] * 4 + [self._read_comment] * 2 + [self._fetch_image] * 2
        with ThreadPoolExecutor(len(acts)) as threads:
            clients = [threads.submit(self._repeat, act) for act in acts]
            try:
                work()
            finally:
                self._stop.set()
            for client in clients:
                client.result(timeout=90)

    def _repeat(self, act: Callable[[httpx.Client], httpx.Response | None]) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(base_url=self._url, headers=headers, timeout=60, trust_env=False) as client:
            while not self._stop.wait(0.01):
                failures = [self._fail(act, client)]
                while failures[-1] and len(failures) < TRIES:
                    failures.append(self._fail(act, client))
                self.retried += len(failures) - 1
                if failures[-1]:
                    self.failed.append(f"{act.__name__}: {failures}")
                self.done += 1

    def _fail(self, act: Callable[[httpx.Client], httpx.Response | None], client: httpx.Client) -> str:
        """Return why a request fails; "" if it succeeds."""
        try:
            reply = act(client)
        except httpx.TransportError as error:
            return repr(error)
        return "" if reply is None or reply.is_success else f"{reply.status_code} {reply.text[:100]}"

    def _upload(self, client: httpx.Client) -> httpx.Response:
        reply = upload(client)
        if reply.status_code == 200 and not self._image_path:
            self._image_path = httpx.URL(reply.json()["view_url"]).raw_path.decode()
        return reply

    def _read_comment(self, client: httpx.Client) -> httpx.Response:
        return client.get("/v1/comment?pr_number=1")

    def _fetch_image(self, client: httpx.Client) -> httpx.Response | None:
        # A conditional request: nginx passes it to delivery instead of sending the file itself.
        return client.get(self._image_path, headers={"Range": "bytes=0-"}) if self._image_path else None


@pytest.fixture
def replicas(service: Service, tmp_path: Path) -> Iterator[list[Service]]:
    (tmp_path / "second").mkdir()
    service.settings |= {"GRACE_SECONDS": "60", "UPLOADS_PER_MINUTE": "1000000"}
    second = Service(tmp_path / "second", service.settings | {"DATA_DIR": str(service.data_dir)})
    yield [service, second]
    if second.process is not None:
        second.stop()


@pytest.mark.slow
@pytest.mark.timeout(60 + 30 * RESTARTS)
@pytest.mark.parametrize(
    ("drain_seconds", "through_web"),
    [
        ("2", False),
        pytest.param("0", False, marks=pytest.mark.nightly),
        pytest.param("0", True, marks=pytest.mark.nightly),
        pytest.param("2", True, marks=pytest.mark.nightly),
    ],
)
def test_a_rolling_restart_behind_nginx_loses_no_request(
    replicas: list[Service], tmp_path: Path, drain_seconds: str, through_web: bool
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
    with running(front.server()):
        load = Load(front.url, replicas[0].new_token())

        def restart_in_turn() -> None:
            log_size = 0
            for number in range(RESTARTS):
                wait_until(lambda log_size=log_size: are_in_use(front, log_size), "nginx to use both")
                replica = replicas[number % 2]
                assert stop(replica) == 0, replica.log
                start(replica)
                log_size = len(access_log(front))
                assert load.failed == [], (number, front.logs[-5000:])

        load.run_during(restart_in_turn)
        assert load.failed == []
        assert load.done > 20 * RESTARTS
        assert load.retried <= RESTARTS  # a few requests of a restart, not all
    for replica in replicas:
        assert "Traceback" not in replica.log


def start(replica: Service) -> None:
    serve(replica)
    for address in (replica.web_url, replica.base_url, replica.img_url):
        wait_until(lambda address=address: is_ready(address), lambda: f"the replica to be up: {replica.log}")


def stop(replica: Service) -> int:
    assert replica.process is not None
    replica.process.send_signal(signal.SIGTERM)
    return replica.process.wait(timeout=90)


def access_log(front: Nginx) -> bytes:
    return (front.folder / "access.log").read_bytes()


def are_in_use(front: Nginx, log_size: int) -> bool:
    """Tell whether nginx uses all replicas since the log had this size."""
    log = access_log(front)[log_size:].decode()
    return all(f"upstream=127.0.0.1:{port} status=20" in log for port in (*front.api, *front.delivery))
