"""Several workers of the API and delivery on the embedded engines."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from prshots.contract.rate_limits import WINDOW_SECONDS
from prshots.server.processes.worker_group import listen
from support.service import Service, upload
from support.service_processes import (
    descriptors,
    fetch,
    is_ready,
    kill,
    metric,
    pids_of,
    records,
    wait_for_first_sweep,
)
from support.waiting import wait_until

pytestmark = pytest.mark.slow

WORKERS, LIMIT, ATTEMPTS, THREADS = 3, 40, 110, 12
CONNECTIONS = 90
"""Enough that the kernel leaves out one of three workers only once in 10^15 runs."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = {"WORKERS": str(WORKERS), "UPLOADS_PER_MINUTE": str(LIMIT)}
    service = Service(tmp_path_factory.mktemp("workers"), settings).start()
    try:
        wait_for_first_sweep(service)
        yield service
    finally:
        code = service.stop()
    assert (code, "Traceback" in service.log) == (0, False)


class Uploads:
    """Uploads over one connection each. Those of a worker that is killed get no reply."""

    def __init__(self, service: Service) -> None:
        self._service, self._token = service, service.new_token()
        self._lock = threading.Lock()
        self.statuses: Counter[int | None] = Counter()
        self.urls: list[str] = []

    def send(self, _: int = 0) -> None:
        status, url = None, ""
        with contextlib.suppress(httpx.TransportError), self._service.client(self._token) as client:
            reply = upload(client)
            status, url = reply.status_code, reply.json().get("view_url", "")
        with self._lock:
            self.statuses[status] += 1
            self.urls += [url] if url else []


def test_connections_and_metrics_are_those_of_all_workers(service: Service) -> None:
    for part, port in (("api", service.api_port), ("delivery", service.img_port)):
        pids = pids_of(service, part)
        before = {pid: descriptors(pid) for pid in pids}
        with contextlib.ExitStack() as stack:
            for _ in range(CONNECTIONS):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            wait_until(
                lambda: sum(descriptors(pid) - before[pid] for pid in pids) >= CONNECTIONS,  # noqa: B023
                "all connections to be accepted",
            )
            assert [pid for pid in pids if descriptors(pid) == before[pid]] == []
    uploads = Uploads(service)
    for _ in range(9):
        uploads.send()
    assert uploads.statuses == {200: 9}
    stored = 'prshots_uploads_total{result="stored"}'  # according to each worker that answers
    assert {metric(service.base_url, stored) for _ in range(2 * WORKERS)} == {9}


def test_killed_workers_together_accept_exactly_the_limit_and_lose_nothing(service: Service) -> None:
    assert [len(pids_of(service, part)) for part in ("api", "delivery", "web")] == [WORKERS, WORKERS, 1]
    uploads, began = Uploads(service), time.monotonic()

    def most() -> int:
        return LIMIT * (1 + int((time.monotonic() - began) / WINDOW_SECONDS))

    others = len(records(service))
    with ThreadPoolExecutor(THREADS) as threads:
        sending = threads.map(uploads.send, range(ATTEMPTS))
        for accepted in (LIMIT // 4, LIMIT // 2):
            wait_until(lambda: uploads.statuses[200] >= accepted, "more uploads")  # noqa: B023
            kill(random.choice(pids_of(service, "api")))
        list(sending)
    assert set(uploads.statuses) <= {200, 429, None}
    # An upload without a reply may have been counted and stored, or not.
    assert LIMIT - uploads.statuses[None] <= uploads.statuses[200] <= most()
    assert uploads.statuses[429] > 0
    stored = len(records(service)) - others
    assert uploads.statuses[200] <= stored <= most()
    kill(random.choice(pids_of(service, "delivery")))
    assert [fetch(url).status_code for url in uploads.urls] == [200] * len(uploads.urls)
    for part in ("api", "delivery"):
        wait_until(lambda: len(pids_of(service, part)) == WORKERS, "the killed workers' successors")  # noqa: B023
    wait_until(lambda: is_ready(service.base_url), "the API")
    for _ in range(3 * WORKERS):  # the successors know what was counted
        uploads.send()
    assert uploads.statuses[200] <= most()


@pytest.mark.timeout(120)
def test_a_hung_worker_is_replaced_and_systemd_hears_from_the_supervisor(tmp_path: Path) -> None:
    """Runs the supervisor as `prshots serve delivery` does, with faster pings."""
    service = Service(tmp_path, {"IMG_WORKERS": "2"})
    listeners = listen("delivery", "127.0.0.1", service.img_port, "PRSHOTS_IMG_PORT", 2)
    fds = [listener.fileno() for listener in listeners]
    never_read, ready = os.pipe()
    plan = {
        "groups": [("delivery", 2, fds, [])], "sweeps": False, "drain_seconds": 0, "grace_seconds": 1,
        "ping_seconds": 0.2, "logs": ["json", "info"], "greeter": 1, "ready": ready,
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, contextlib.ExitStack() as stack:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}
        service.process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "prshots.server.supervise", json.dumps(plan)],
                env=service.env | environment,
                pass_fds=[*fds, ready],
                stdout=subprocess.DEVNULL,
                stderr=stack.enter_context((tmp_path / "serve.log").open("wb")),
            )
        )
        stack.callback(service.stop)
        heard = [systemd.recv(100)]
        while heard.count(b"READY=1") < 1 or heard.count(b"WATCHDOG=1") < 3:
            heard.append(systemd.recv(100))
        hung = pids_of(service, "delivery")[0]
        os.kill(hung, signal.SIGSTOP)
        for _ in range(20):  # some of them wait for the hung worker's successor
            assert httpx.get(f"{service.img_url}/healthz", timeout=60, trust_env=False).status_code == 200
        wait_until(lambda: "worker does not answer, killing it" in service.log, "the end of the hung worker")
        wait_until(lambda: hung not in pids_of(service, "delivery"), "its successor")
        assert service.stop() == 0
    os.close(never_read)
    os.close(ready)
    for listener in listeners:
        listener.close()
