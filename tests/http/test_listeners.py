"""The sockets of several workers on one port."""

import contextlib
import socket
from collections import Counter
from collections.abc import Iterator

import pytest

from prshots.contract.errors import SettingsError
from prshots.server.processes.worker_group import listen
from support.free_ports import free_port

CONNECTIONS = 90
"""With this many, the kernel leaves out one of three sockets once in 10^15 runs."""


@pytest.fixture
def listeners() -> Iterator[list[socket.socket]]:
    opened = listen("api", "127.0.0.1", free_port(), "PRSHOTS_API_PORT", workers=3)
    yield opened
    for listener in opened:
        listener.close()


def connected(listeners: list[socket.socket]) -> Counter[int]:
    """Connect many times. Return how many connections each socket got."""
    got: Counter[int] = Counter()
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(socket.create_connection(listeners[0].getsockname(), timeout=60))
        for number, listener in enumerate(listeners):
            listener.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    got[number] += 1
    assert got.total() == CONNECTIONS
    return got


def test_each_worker_gets_some_of_the_connections(listeners: list[socket.socket]) -> None:
    assert set(connected(listeners)) == {0, 1, 2}


@pytest.mark.parametrize("workers", [1, 3])
def test_a_second_service_cannot_share_the_port(
    listeners: list[socket.socket], monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("prshots.server.processes.worker_group.PORT_SECONDS", 0.0)
    port = listeners[0].getsockname()[1]
    with pytest.raises(SettingsError, match=f"port {port} on 127.0.0.1 is in use"):
        listen("api", "127.0.0.1", port, "PRSHOTS_API_PORT", workers)
