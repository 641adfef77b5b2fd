"""The HTTP/1.1 server of the API and the web component."""

import asyncio
import socket
from collections.abc import Awaitable
from typing import Protocol

from prshots.server.http.asgi_connection import AsgiConnection
from prshots.server.http.error_boundary import App, Message, Receive, Send
from prshots.server.http.socket_server import SocketServer


class ClosableApp(Protocol):
    """An ASGI app that can announce its shutdown."""

    def drain(self) -> None: ...

    def close(self) -> Awaitable[None]: ...

    def __call__(self, scope: Message, receive: Receive, send: Send, /) -> Awaitable[None]: ...


class AsgiServer(SocketServer):
    def __init__(
        self, app: ClosableApp, listener: socket.socket, most_connections: int, read_ahead: int
    ) -> None:
        super().__init__(listener, most_connections)
        self.app: App = app
        self.read_ahead = read_ahead
        self._close = app.close
        self.drain = app.drain  # type: ignore[method-assign]

    def connected(self, sock: socket.socket) -> AsgiConnection:
        return AsgiConnection(self, sock)

    async def stop(self, grace_seconds: float) -> None:
        await super().stop(grace_seconds)
        await asyncio.sleep(0)  # requests whose clients have left learn of it
        await self._close()
