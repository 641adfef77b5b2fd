"""A client's connection: its socket, its deadline and its end. `connection.py` adds how it answers."""

import asyncio
import contextlib
import socket
from typing import Any, Protocol

from prshots.server.http.socket_server import LINGER_BYTES, LINGER_SECONDS


class ConnectionOwner(Protocol):
    """What a connection needs from the server that accepted it."""

    loop: asyncio.AbstractEventLoop
    now: float

    def forget(self, connection: Any) -> None: ...  # noqa: ANN401 - each server has its own kind


class SocketConnection:
    def __init__(self, server: ConnectionOwner, sock: socket.socket, idle_seconds: float) -> None:
        self._accepted_by, self._sock = server, sock
        self._received = b""
        self._is_reading, self._is_lingering, self.is_closed = True, False, False
        self._may_discard = LINGER_BYTES
        self.deadline = server.now + idle_seconds
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # already reset
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.loop.add_reader(sock, self._on_readable)

    def is_overdue(self) -> bool:
        return self.deadline < self._accepted_by.now

    def is_idle(self) -> bool:
        """Return whether the client waits for nothing, and has sent nothing."""
        raise NotImplementedError

    def _on_readable(self) -> None:
        raise NotImplementedError

    def _let_go(self) -> None:
        """Give up what is in progress: the connection closes."""

    def finish(self) -> None:
        """Answer requests that have arrived, and close if nothing is in progress."""
        if self.is_idle():
            self._on_readable()
        if self.is_idle():
            self.close()

    def _stop_reading(self) -> None:
        self._is_reading = False
        self._accepted_by.loop.remove_reader(self._sock)

    def _read_on(self) -> None:
        if not (self._is_reading or self.is_closed):
            self._is_reading = True
            self._accepted_by.loop.add_reader(self._sock, self._on_readable)

    def _linger(self) -> None:
        self._is_lingering = True
        self._received = b""
        self.deadline = self._accepted_by.now + LINGER_SECONDS
        self._read_on()
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def _discard(self, data: bytes) -> None:
        self._may_discard -= len(data)
        if not data or self._may_discard < 0:
            self.close()

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._received = b""
        self._let_go()
        self._accepted_by.loop.remove_reader(self._sock)
        self._accepted_by.loop.remove_writer(self._sock)
        self._sock.close()
        self._accepted_by.forget(self)
