"""Closing a listening socket that several processes share."""

import errno
import socket
import sys
from collections.abc import Iterator

import pytest

from prshots.server.processes.closing import last_accepted, requests_begun, turn_away

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can drop connection attempts")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=10) as made:
        made.setblocking(False)
        yield made


async def test_the_queue_is_accepted_and_later_attempts_are_dropped_then_refused(
    listener: socket.socket,
) -> None:
    address = listener.getsockname()
    with (
        listener.dup() as of_another_process,
        socket.create_connection(address) as early,
        socket.socket() as late,
    ):
        turn_away(of_another_process)
        of_another_process.close()
        late.setblocking(False)
        assert late.connect_ex(address) == errno.EINPROGRESS
        accepted, _ = listener.accept()
        await last_accepted(listener)
        with pytest.raises(BlockingIOError):
            listener.accept()
        early.sendall(b"request")
        assert accepted.recv(10) == b"request"
        listener.close()
        assert early.getpeername() == address
        accepted.sendall(b"reply")
        assert early.recv(10) == b"reply"
        accepted.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


async def test_without_clients_there_is_nothing_to_wait_for(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prshots.server.processes.closing.FIRST_BYTE_SECONDS", 3600.0)
    port = listener.getsockname()[1]
    with socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
        accepted.close()
        await requests_begun(port)
        assert client.getpeername()[1] == port
