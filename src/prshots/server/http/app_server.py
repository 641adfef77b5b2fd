"""The HTTP/1.1 server of the API and the web component: accepts connections, which uvicorn then serves."""

import asyncio
import socket
from collections.abc import Awaitable
from typing import Protocol

from uvicorn import Config
from uvicorn.server import ServerState

from prshots.server.http.app_connection import AppConnection
from prshots.server.http.error_boundary import Message, Receive, Send
from prshots.server.http.socket_server import SocketServer


class ClosableApp(Protocol):
    """An ASGI app that can announce its shutdown."""

    def drain(self) -> None: ...

    def close(self) -> Awaitable[None]: ...

    def __call__(self, scope: Message, receive: Receive, send: Send, /) -> Awaitable[None]: ...


class AppServer(SocketServer):
    def __init__(
        self, app: ClosableApp, listener: socket.socket, most_connections: int, *, refuses_slow_bodies: bool
    ) -> None:
        super().__init__(listener, most_connections)
        self._config = Config(
            app,
            http=AppConnection,
            ws="none",
            interface="asgi3",
            lifespan="off",
            proxy_headers=False,
            log_config=None,
        )
        self._config.load()
        self._state = ServerState()
        self._opening: set[asyncio.Task[None]] = set()
        self.refuses_slow_bodies = refuses_slow_bodies
        self._close_app = app.close
        self.drain = app.drain  # type: ignore[method-assign]

    def connect(self, sock: socket.socket) -> AppConnection:
        connection = AppConnection(self, self._config, self._state)
        opening = self.loop.create_task(self._open(connection, sock))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        return connection

    async def _open(self, connection: AppConnection, sock: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: connection, sock)
        except OSError:  # the client has already left
            sock.close()
            self.forget(connection)

    def on_tick(self) -> None:
        self._state.default_headers = [(b"date", self.date.encode())]

    async def stop(self, grace_seconds: float) -> None:
        await super().stop(grace_seconds)
        await asyncio.sleep(0)  # lets requests notice that their clients have disconnected
        await self._close_app()
