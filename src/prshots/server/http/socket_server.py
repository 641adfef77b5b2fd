"""The base of the HTTP servers: accepts connections, applies timeouts, and stops without losing requests."""

import asyncio
import contextlib
import socket
from email.utils import formatdate
from typing import Protocol

import structlog

ACCEPT_AT_ONCE = 8
"""Connections to accept per wake-up. Other processes on the same socket get the rest."""

ACCEPT_PAUSE_SECONDS = 0.5
TICK_SECONDS = 1.0

HEAD_SECONDS = 10.0
"""The time limit for a head, which is one or two packets. A slower client only occupies a slot."""

STALLED_SECONDS = 60.0
"""How long a reply may stall before the server gives up. A phone in a tunnel is back by then."""

LINGER_SECONDS = 5.0
LINGER_BYTES = 4 * 1024 * 1024
"""How long and how much to keep reading after the last reply. Closing a socket with unread data resets the
connection, and the client may then lose the reply."""

FIRST_BYTE_SECONDS = 0.5
"""How long a stopping server waits for requests in transit on idle connections."""

_log = structlog.get_logger()


class ServedConnection(Protocol):
    """The methods of a connection that the server calls. Every second, it closes overdue connections."""

    def is_overdue(self) -> bool: ...

    def is_idle(self) -> bool: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class SocketServer:
    """Serves on a listening socket, which the caller owns and other processes may share."""

    def __init__(self, listener: socket.socket, most_connections: int | None = None) -> None:
        self.date = self.date_field = ""
        self.now = 0.0  # the event loop's time, updated every second: precise enough for all timeouts
        self.is_stopping = False
        self._listener = listener
        self._most_connections = most_connections
        self._connections: set[ServedConnection] = set()
        self._accepts, self._accept_fails, self._is_full = True, False, False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._all_closed = asyncio.Event()

    def connect(self, sock: socket.socket) -> ServedConnection:
        """Return a connection for a new client."""
        raise NotImplementedError

    def drain(self) -> None:
        """Keep serving, but send clients elsewhere: `/readyz` fails, and each reply closes its connection."""
        raise NotImplementedError

    def on_tick(self) -> None:
        """Run tasks that are due every second."""

    def start(self) -> None:
        """Start serving on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._tick()
        self._resume_accepting()

    def stop_accepting(self) -> None:
        """Accept the connections in the queue, but no others. The caller may then close the listener."""
        if self._accepts:
            while self._accept():
                pass
            self._accepts = False
            self.loop.remove_reader(self._listener)

    async def stop(self, grace_seconds: float) -> None:
        """Stop accepting connections and finish replies in progress. Close the rest after `grace_seconds`."""
        self.drain()
        self.stop_accepting()
        until = self.loop.time() + grace_seconds
        if self._connections:
            await self._wait_until_closed(min(FIRST_BYTE_SECONDS, grace_seconds / 2))
        self.is_stopping = True
        for connection in tuple(self._connections):
            connection.finish()
        if self._connections:
            await self._wait_until_closed(until - self.loop.time())
        for connection in tuple(self._connections):
            connection.close()
        for timer in self._timers.values():
            timer.cancel()

    async def _wait_until_closed(self, seconds: float) -> None:
        """Wait for all connections to close, but at most `seconds`."""
        self._all_closed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._all_closed.wait(), seconds)

    def forget(self, connection: ServedConnection) -> None:
        self._connections.discard(connection)
        if self._is_full:
            self._is_full = False
            self._resume_accepting()
        if not self._connections:
            self._all_closed.set()

    def _accept(self) -> bool:
        """Accept some connections. Return whether more may be waiting."""
        for _ in range(ACCEPT_AT_ONCE):
            if len(self._connections) == self._most_connections:  # the others wait until one closes
                self._is_full = True
                self.loop.remove_reader(self._listener)
                return False
            try:
                sock, _address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return False  # another process was faster, or the client has disconnected
            except OSError as error:
                self._pause_accepting(error)
                return False
            self._accept_fails = False
            self._connections.add(self.connect(sock))
        return True

    def _pause_accepting(self, error: OSError) -> None:
        """Pause instead of spinning, and close idle connections.

        Most likely, no file descriptors are left.
        """
        if not self._accept_fails:
            _log.error("cannot accept connections", reason=error.strerror)
        self._accept_fails = True
        self.loop.remove_reader(self._listener)
        for connection in tuple(self._connections):
            if connection.is_idle():
                connection.close()
        self._timers["accept"] = self.loop.call_later(ACCEPT_PAUSE_SECONDS, self._resume_accepting)

    def _resume_accepting(self) -> None:
        if self._accepts:
            self.loop.add_reader(self._listener, self._accept)

    def _tick(self) -> None:
        """Close overdue connections in one pass, instead of with one timer each."""
        self.now = self.loop.time()
        self.date = formatdate(usegmt=True)
        self.date_field = f"Date: {self.date}\r\n"
        for connection in tuple(self._connections):
            if connection.is_overdue():
                connection.close()
        self.on_tick()
        self._timers["tick"] = self.loop.call_later(TICK_SECONDS, self._tick)
