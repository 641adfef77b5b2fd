"""The HTTP/1.1 server of delivery: one thread, non-blocking sockets and sendfile."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from prshots.contract.errors import StoreError
from prshots.server.delivery.connection import DeliveryConnection
from prshots.server.delivery.decision import Delivery
from prshots.server.delivery.replies import Pending, Reply, Request
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.http.readiness import Readiness
from prshots.server.http.socket_server import SocketServer


class DeliveryServer(SocketServer):
    def __init__(
        self, delivery: Delivery, listener: socket.socket, readiness: Readiness | None = None
    ) -> None:
        super().__init__(listener)
        self.telemetry = DeliveryTelemetry(delivery, readiness or Readiness({}))
        self.respond: Callable[[Request], Reply | Pending] = self.telemetry.respond
        self.storage_failed: Callable[[StoreError], object] = delivery.storage_failed
        self.is_draining = False
        self._relays: set[asyncio.Task[None]] = set()

    def connected(self, sock: socket.socket) -> DeliveryConnection:
        return DeliveryConnection(self, sock)

    def on_tick(self) -> None:
        self.telemetry.hand_over()

    def drain(self) -> None:
        self.is_draining = True
        self.telemetry.drain()

    async def stop(self, grace_seconds: float) -> None:
        await super().stop(grace_seconds)
        if self._relays:  # cancelled by now; wait until they have closed their streams
            await asyncio.wait(self._relays)
        self.telemetry.hand_over()

    def relay(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)
        return task
