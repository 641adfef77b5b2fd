"""The HTTP/1.1 server of delivery: one thread, non-blocking sockets and sendfile."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from typing import Any

import structlog

from prshots.contract.errors import StoreError
from prshots.server.delivery.connection import Connection
from prshots.server.delivery.decision import Delivery
from prshots.server.delivery.replies import Pending, PlainFile, Reply, Request
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.http.readiness import Readiness

ACCEPT_AT_ONCE = 8
"""Connections accepted per wake-up. The other processes on the same socket get the rest."""

ACCEPT_PAUSE_SECONDS = 0.5
TICK_SECONDS = 1.0

_log = structlog.get_logger()


class DeliveryServer:
    """Serves on a listening socket, which the caller owns and other processes may share."""

    def __init__(
        self, delivery: Delivery, listener: socket.socket, readiness: Readiness | None = None
    ) -> None:
        self.telemetry = DeliveryTelemetry(delivery, readiness or Readiness({}))
        self.respond: Callable[[Request], Reply | Pending] = self.telemetry.respond
        self.respond_plainly: Callable[[str], PlainFile | Reply | Pending] = self.telemetry.respond_plainly
        self.storage_failed: Callable[[StoreError], object] = delivery.storage_failed
        self.date_field = ""
        self.now = 0.0  # the event loop's time, updated every second: precise enough for all timeouts
        self.is_draining = self.is_stopping = False
        self._listener = listener
        self._connections: set[Connection] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self._accepts, self._accept_fails = True, False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._all_closed = asyncio.Event()

    def start(self) -> None:
        """Start to serve on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._tick()
        self._resume_accepting()

    def drain(self) -> None:
        """Keep serving, but send clients elsewhere: `/readyz` fails, and each reply closes its connection."""
        self.is_draining = True
        self.telemetry.drain()

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
        if self._relays:  # cancelled by now; wait until they have closed their streams
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
                return  # another process was faster, or the client has disconnected
            except OSError as error:
                self._pause_accepting(error)
                return
            self._accept_fails = False
            self._connections.add(Connection(self, sock))

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
        self.telemetry.hand_over()
        self._timers["tick"] = self.loop.call_later(TICK_SECONDS, self._tick)
