"""A port that another service has. That each worker gets connections is in e2e/test_workers.py."""

import socket
from collections.abc import Iterator

import pytest

from prshots.contract.errors import SettingsError
from prshots.server.processes.worker_group import listen
from support.free_ports import free_port


@pytest.fixture
def listeners() -> Iterator[list[socket.socket]]:
    opened = listen("api", "127.0.0.1", free_port(), "PRSHOTS_API_PORT", workers=3)
    yield opened
    for listener in opened:
        listener.close()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_second_service_cannot_share_the_port(
    listeners: list[socket.socket], monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("prshots.server.processes.worker_group.PORT_SECONDS", 0.0)
    port = listeners[0].getsockname()[1]
    with pytest.raises(SettingsError, match=f"port {port} on 127.0.0.1 is in use"):
        listen("api", "127.0.0.1", port, "PRSHOTS_API_PORT", workers)
