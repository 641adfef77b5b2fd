"""What all of our HTTP servers do the same way: accepting, timeouts, and a stop that loses nothing."""

import asyncio
import contextlib
import socket
from email.utils import formatdate
from typing import Protocol

import structlog

ACCEPT_AT_ONCE = 8
"""Connections accepted per wake-up. The other processes on the same socket get the rest."""

ACCEPT_PAUSE_SECONDS = 0.5
TICK_SECONDS = 1.0

_log = structlog.get_logger()


class Connection(Protocol):
    """What the server needs from a connection. It closes one whose deadline has passed."""

    deadline: float

    def is_idle(self) -> bool: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class SocketServer:
    """Serves on a listening socket, which the caller owns and other processes may share."""

    def __init__(self, listener: socket.socket, most_connections: int | None = None) -> None:
        self.date_field = ""
        self.now = 0.0  # the event loop's time, updated every second: precise enough for all timeouts
        self.is_stopping = False
        self._listener = listener
        self._most_connections = most_connections
        self._connections: set[Connection] = set()
        self._accepts, self._accept_fails, self._is_full = True, False, False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._all_closed = asyncio.Event()

    def connected(self, sock: socket.socket) -> Connection:
        """Return the connection of a new client."""
        raise NotImplementedError

    def drain(self) -> None:
        """Keep serving, but send clients elsewhere: `/readyz` fails, and each reply closes its connection."""
        raise NotImplementedError

    def on_tick(self) -> None:
        """Do what has to be done every second."""

    def start(self) -> None:
        """Start to serve on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._tick()
        self._resume_accepting()

    def stop_accepting(self) -> None:
        """Leave new connections to the other processes. The caller may close the listening socket now."""
        if self._accepts:
            self._accepts = False
            self.loop.remove_reader(self._listener)

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more connections, finish replies in progress, close the rest after the grace period."""
        self.drain()
        self.stop_accepting()
        self.is_stopping = True
        for connection in tuple(self._connections):
            connection.finish()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), grace_seconds)
        for connection in tuple(self._connections):
            connection.close()
        for timer in self._timers.values():
            timer.cancel()

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self._is_full:
            self._is_full = False
            self._resume_accepting()
        if self.is_stopping and not self._connections:
            self._all_closed.set()

    def _accept(self) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            if len(self._connections) == self._most_connections:  # more wait until one closes
                self._is_full = True
                self.loop.remove_reader(self._listener)
                return
            try:
                sock, _address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return  # another process was faster, or the client has disconnected
            except OSError as error:
                self._pause_accepting(error)
                return
            self._accept_fails = False
            self._connections.add(self.connected(sock))

    def _pause_accepting(self, error: OSError) -> None:
        """Pause instead of spinning, and close idle connections: most likely we ran out of descriptors."""
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
        """Close connections past their deadline, all in one pass instead of with a timer each."""
        self.now = self.loop.time()
        self.date_field = f"Date: {formatdate(usegmt=True)}\r\n"
        for connection in tuple(self._connections):
            if connection.deadline < self.now:
                connection.close()
        self.on_tick()
        self._timers["tick"] = self.loop.call_later(TICK_SECONDS, self._tick)
