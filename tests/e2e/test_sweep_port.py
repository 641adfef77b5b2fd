"""`prshots serve sweep` has its own port, so that something notices when no sweep runs."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.free_ports import free_port
from support.service import PRSHOTS, Service
from support.waiting import wait_until

pytestmark = pytest.mark.slow  # starts processes

SWEPT = 'prshots_sweeps_total{result="ok"} 1.0'


@pytest.fixture
def sweep(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = free_port()
    service = Service(tmp_path, {"SWEEP_PORT": str(port), "HOST": "127.0.0.1"})
    with (tmp_path / "serve.log").open("wb") as log:
        process = subprocess.Popen([PRSHOTS, "serve", "sweep"], env=service.env, stdout=log, stderr=log)

    def answers() -> bool:
        assert process.poll() is None, service.log
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(answers, "the port of the sweep")
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=30, trust_env=False)


def test_health_readiness_and_the_metrics_of_the_sweep(sweep: tuple[subprocess.Popen[bytes], str]) -> None:
    process, url = sweep
    assert (get(f"{url}/healthz").status_code, get(f"{url}/healthz").json()) == (200, {"status": "ok"})
    assert (get(f"{url}/readyz").status_code, get(f"{url}/readyz").json()["status"]) == (200, "ok")
    wait_until(lambda: SWEPT in get(f"{url}/metrics").text, "the first sweep")
    assert "prshots_last_sweep_timestamp_seconds " in get(f"{url}/metrics").text
    for path in ("/", "/v1/comment", "/healthz/"):
        assert (get(url + path).status_code, get(url + path).json()) == (404, {"error": "not found"})
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=90) == 0


def test_the_port_can_be_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        service = Service(tmp_path, {"SWEEP_PORT": str(port)})
        done = service.run_as_process("serve", "sweep")
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr
    assert "set PRSHOTS_SWEEP_PORT to another port" in done.stderr


def test_beside_another_component_the_port_stays_closed(tmp_path: Path) -> None:
    """Any port shows the metrics of all processes, and one port less is one port less to protect."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = Service(tmp_path, {"SWEEP_PORT": str(taken.getsockname()[1])})
        service.start()
        try:
            wait_until(
                lambda: SWEPT in get(f"{service.web_url}/metrics").text,
                "the first sweep",
            )
        finally:
            assert service.stop() == 0


def test_a_status_process_that_dies_is_restarted(sweep: tuple[subprocess.Popen[bytes], str]) -> None:
    process, url = sweep
    wait_until(lambda: SWEPT in get(f"{url}/metrics").text, "the first sweep, which starts when all is ready")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    [worker] = [
        int(child) for child in children if b"processes.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    os.kill(worker, signal.SIGKILL)

    def restarted() -> bool:
        with contextlib.suppress(httpx.TransportError):  # the dying process may have accepted the connection
            return 'restarts_total{component="sweep"} 1.0' in get(f"{url}/metrics").text
        return False

    wait_until(restarted, "the restart")
