"""A port that another service has. That each worker gets connections is in e2e/test_workers.py."""

import contextlib

import pytest

from prshots.contract.errors import SettingsError
from prshots.server.processes.worker_group import listen
from support.free_ports import free_port


@pytest.mark.parametrize("workers", [1, 3])
def test_a_second_service_cannot_share_the_port(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr("prshots.server.processes.worker_group.PORT_SECONDS", 0.0)
    port = free_port()
    with contextlib.ExitStack() as stack:
        for listener in listen("api", "127.0.0.1", port, "PRSHOTS_API_PORT", workers=3):
            stack.enter_context(listener)
        with pytest.raises(SettingsError, match=f"port {port} on 127.0.0.1 is in use"):
            listen("api", "127.0.0.1", port, "PRSHOTS_API_PORT", workers)
