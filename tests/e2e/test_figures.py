"""The folder behind `/metrics`: metrics outlive the processes that counted them, and no files are left behind."""

import stat
from pathlib import Path

import httpx
import pytest

from prshots.server.observability.metrics_folder import PREFIX
from support.service import Service, upload
from support.service_processes import component_pids, kill, wait_for_first_sweep, wait_until
from support.stores_and_records import small_disk


def stored(address: str) -> float:
    """Return the number of stored uploads in this component's metrics."""
    text = httpx.get(f"{address}/metrics", timeout=30, trust_env=False).text
    return next(
        float(line.split()[1]) for line in text.splitlines() if 'uploads_total{result="stored"}' in line
    )


@pytest.fixture
def temporary(service: Service, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the service its own temporary folder."""
    folder = service.folder / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.slow
def test_metrics_outlive_their_process_without_adding_files(service: Service, temporary: Path) -> None:
    service.start()
    wait_for_first_sweep(service)
    (folder,) = temporary.glob(f"{PREFIX}*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    with service.client(service.new_token()) as client:
        for number in (1, 2):
            assert upload(client).status_code == 200
            wait_until(lambda number=number: stored(service.img_url) == number, "the upload to be counted")
            kill(component_pids(service)["api"])
            service.wait_until_up()
            assert stored(service.base_url) == number  # reported by the new worker
    restarts = 'prshots_worker_restarts_total{component="api"} 2.0'
    wait_until(lambda: restarts in httpx.get(f"{service.web_url}/metrics").text, "the restarts to be counted")
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == files
    assert service.stop() == 0
    assert list(temporary.glob(f"{PREFIX}*")) == []


@pytest.mark.slow
def test_without_disk_space_each_component_reports_its_own_metrics(service: Service, temporary: Path) -> None:
    with small_disk(temporary, "200k"):
        service.start()
        assert "no folder for metrics" in service.log
        assert list(temporary.glob(f"{PREFIX}*")) == []
        with service.client(service.new_token()) as client:
            assert upload(client).status_code == 200
        assert stored(service.base_url) == 1
        assert stored(service.img_url) == 0
        assert service.stop() == 0
