"""The folder behind `/metrics`: metrics outlive the processes that counted them, and no files are left behind."""

import stat
from pathlib import Path

import pytest

from prshots.server.observability.metrics_folder import PREFIX
from support.service import Service, upload
from support.service_processes import component_pids, kill, metric, wait_for_first_sweep, wait_until
from support.stores_and_records import small_disk

STORED = 'prshots_uploads_total{result="stored"}'
RESTARTS = 'prshots_worker_restarts_total{component="api"}'


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
            wait_until(lambda number=number: metric(service.img_url, STORED) == number, "the count")
            kill(component_pids(service)["api"])
            service.wait_until_up()
            assert metric(service.base_url, STORED) == number  # reported by the new worker
    wait_until(lambda: metric(service.web_url, RESTARTS) == 2, "the restarts to be counted")
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
        assert metric(service.base_url, STORED) == 1
        assert metric(service.img_url, STORED) == 0
        assert service.stop() == 0
