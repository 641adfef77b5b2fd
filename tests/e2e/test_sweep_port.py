"""`prshots serve sweep` has its own port, so that something notices when no sweep runs."""

import contextlib
import signal
import socket

import httpx
import pytest

from support.service import Service
from support.service_processes import component_pids, fetch, kill, serve
from support.waiting import wait_until

pytestmark = pytest.mark.slow  # starts processes

SWEPT = 'prshots_sweeps_total{result="ok"} 1.0'


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_port_has_health_readiness_and_metrics_and_its_process_restarts(service: Service) -> None:
    process, url = serve(service, "sweep"), f"http://127.0.0.1:{service.sweep_port}"
    wait_until(lambda: listens(service.sweep_port), lambda: service.log)
    assert (fetch(f"{url}/healthz").status_code, fetch(f"{url}/healthz").json()) == (200, {"status": "ok"})
    assert (fetch(f"{url}/readyz").status_code, fetch(f"{url}/readyz").json()["status"]) == (200, "ok")
    wait_until(lambda: SWEPT in fetch(f"{url}/metrics").text, "the first sweep")
    assert "prshots_last_sweep_timestamp_seconds " in fetch(f"{url}/metrics").text
    for path in ("/", "/v1/comment", "/healthz/"):
        assert (fetch(url + path).status_code, fetch(url + path).json()) == (404, {"error": "not found"})

    kill(component_pids(service)["sweep"])

    def restarted() -> bool:
        with contextlib.suppress(httpx.TransportError):  # the dying process may have accepted the connection
            return 'restarts_total{component="sweep"} 1.0' in fetch(f"{url}/metrics").text
        return False

    wait_until(restarted, "the restart")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=90) == 0


def test_beside_another_component_the_port_stays_closed(shared_service: Service) -> None:
    """Every port serves the metrics of all processes, so another open port would only need protection."""
    wait_until(lambda: SWEPT in fetch(f"{shared_service.web_url}/metrics").text, "the first sweep")
    assert not listens(shared_service.sweep_port)
