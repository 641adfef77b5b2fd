"""The HTTP/1.1 server of delivery: one thread, non-blocking sockets, and the kernel copies the files."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from typing import Any

import structlog

from prshots.contract.errors import StoreError
from prshots.server.delivery.connection import Connection
from prshots.server.delivery.decision import Delivery, Pending, Reply, Request
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.http.readiness import Readiness

ACCEPT_AT_ONCE = 8
"""Connections taken per wake-up; the rest is left to the other processes on the same socket."""

ACCEPT_PAUSE_SECONDS = 0.5
SWEEP_SECONDS = 1.0

_log = structlog.get_logger()


class DeliveryServer:
    """Serves on a listening socket that stays the caller's, and that other processes may share."""

    def __init__(
        self, delivery: Delivery, listener: socket.socket, readiness: Readiness | None = None
    ) -> None:
        self.telemetry = DeliveryTelemetry(delivery, readiness or Readiness({}))
        self.respond: Callable[[Request], Reply | Pending] = self.telemetry.respond
        self.storage_failed: Callable[[StoreError], object] = delivery.storage_failed
        self.date_field = ""
        self.now = 0.0  # the event loop's clock, to the second: near enough for every time limit
        self.is_draining = self.is_stopping = False
        self._listener = listener
        self._connections: set[Connection] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self._accept_fails = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._all_closed = asyncio.Event()

    def start(self) -> None:
        """Begin to serve, on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._sweep()
        self._resume_accepting()

    def drain(self) -> None:
        """Go on, but have everybody ask elsewhere next time: `/readyz` says so, and connections end."""
        self.is_draining = True
        self.telemetry.drain()

    async def stop(self, grace_seconds: float) -> None:
        """Take no more requests, let the replies under way finish, and close what is left after the grace."""
        self.drain()
        self.is_stopping = True
        self.loop.remove_reader(self._listener)
        for connection in tuple(self._connections):
            connection.finish()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), grace_seconds)
        for connection in tuple(self._connections):
            connection.close()
        if self._relays:  # cancelled by now; they let go of the store
            await asyncio.wait(self._relays)
        for timer in self._timers.values():
            timer.cancel()
        self.telemetry.hand_over()

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self.is_stopping and not self._connections:
            self._all_closed.set()

    def relay(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)
        return task

    def _accept(self) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            try:
                sock, _address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return  # another process was quicker, or the client has gone again
            except OSError as error:
                self._pause_accepting(error)
                return
            self._accept_fails = False
            self._connections.add(Connection(self, sock))

    def _pause_accepting(self, error: OSError) -> None:
        """Wait a moment instead of spinning, most likely for want of descriptors, and free the idle ones."""
        if not self._accept_fails:
            _log.error("cannot accept connections", reason=error.strerror)
        self._accept_fails = True
        self.loop.remove_reader(self._listener)
        for connection in tuple(self._connections):
            if connection.is_idle():
                connection.close()
        self._timers["accept"] = self.loop.call_later(ACCEPT_PAUSE_SECONDS, self._resume_accepting)

    def _resume_accepting(self) -> None:
        if not self.is_stopping:
            self.loop.add_reader(self._listener, self._accept)

    def _sweep(self) -> None:
        """Close the connections whose time is up: one look at all of them, and no timer for each request."""
        self.now = self.loop.time()
        self.date_field = f"Date: {formatdate(usegmt=True)}\r\n"
        for connection in tuple(self._connections):
            if connection.deadline < self.now:
                connection.close()
        self.telemetry.hand_over()
        self._timers["sweep"] = self.loop.call_later(SWEEP_SECONDS, self._sweep)
