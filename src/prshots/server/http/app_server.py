"""The HTTP/1.1 server of the API and the web component: uvicorn's protocol, with additional limits.

uvicorn's parser gets one request at a time. It gets the head in one piece, after the head is complete and has
passed our grammar. Further requests from the client wait.
"""

import asyncio
import json
import math
import re
import socket
from collections.abc import Awaitable
from typing import Protocol

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from prshots.server.http.error_boundary import Message, Receive, Send
from prshots.server.http.request_cycle import OLD_VERSION, RequestCycle
from prshots.server.http.request_grammar import (
    BAD_REQUEST,
    REQUEST_LINE,
    Framing,
    HeadRefusal,
    find_end,
    names_path,
    read_framing,
)
from prshots.server.http.socket_server import (
    HEAD_SECONDS,
    LINGER_BYTES,
    LINGER_SECONDS,
    STALLED_SECONDS,
    SocketServer,
)

MAX_HEAD_BYTES = 32 * 1024
"""An identity provider's token and a browser's cookies take a few KB. Other servers allow 8 to 64 KB."""

IDLE_SECONDS = 10.0
"""Clients connect for a series of uploads or for a page. With a longer timeout, idle clients could use up all
connections."""

AHEAD_BYTES = 16 * 1024
"""How much to read beyond the request in progress, to notice that a client disconnects."""

_PARSED_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r]*", re.IGNORECASE)


class AppConnection(HttpToolsProtocol):
    def __init__(self, server: "AppServer", config: Config, state: ServerState) -> None:
        super().__init__(config, state, {}, server.loop)
        self._server = server
        self._received = b""  # the start of a head, or data after the request in progress
        self._judged = 0  # how many of these bytes have been checked
        self._method = self._version = ""
        self._framing = Framing()
        self._body_left = 0  # remaining bytes of a body with a length
        self._since_data = 0  # bytes of a chunked body since its last data
        self._reads_body = False
        self._sends_no_more = False
        self._may_discard = LINGER_BYTES
        self._unsent, self._unsent_since = 0, 0.0
        self.in_progress: RequestCycle | None = None
        self.is_lingering = self.is_closed = False
        self._wait(IDLE_SECONDS)

    # From the transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._received = b""
        super().connection_lost(exc)
        self._server.forget(self)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection open for the reply: a client that has stopped sending may still read."""
        self._sends_no_more = True
        if self.in_progress is None or self.is_lingering:
            return False
        self.in_progress.leave()
        return True

    def data_received(self, data: bytes) -> None:
        if self.is_lingering:
            self._may_discard -= len(data)
            if self._may_discard < 0:
                self.close()
        elif self._reads_body:
            self._take_body(data)
        else:
            self._received += data
            self._begin()

    # Requests

    def _begin(self) -> None:
        """Start the next request if its head is complete.

        Skips blank lines that some clients send before it.
        """
        if self.in_progress:
            if len(self._received) >= AHEAD_BYTES:
                self.flow.pause_reading()
            return
        if not self._judged:
            self._received = self._received.lstrip(b"\r\n")
            if not self._received:
                return
            self._wait(HEAD_SECONDS)
        end = find_end(self._received, self._judged, MAX_HEAD_BYTES)
        self._judged = len(self._received)
        refusal = end if isinstance(end, HeadRefusal) else self._take_head(end) if end else None
        if refusal:
            self._refuse(refusal)

    def _take_head(self, end: int) -> HeadRefusal | None:
        head, rest = self._received[:end], self._received[end:]
        self._received, self._judged = b"", 0
        line = REQUEST_LINE.match(head)
        if line is None:
            return BAD_REQUEST
        framing = read_framing(head[line.end() :], line["version"])
        if isinstance(framing, HeadRefusal):
            return framing
        if not names_path(line["target"].decode()):
            return BAD_REQUEST
        self._method, self._version = line["method"].decode(), line["version"].decode()
        self._framing, self._reads_body = framing, framing.has_body
        self._body_left, self._since_data = framing.length, 0
        try:
            self.parser.feed_data(self._for_parser(head))
        except httptools.HttpParserError:
            return BAD_REQUEST
        if rest:
            self.data_received(rest)
        return None

    def _for_parser(self, head: bytes) -> bytes:
        if self._method not in _PARSED_METHODS:  # the app refuses the method with its own message
            head = b"POST" + head[len(self._method) :]
        if self._framing.is_upgrade:
            # We support no upgrades, and the parser would treat the body as another protocol.
            head = _UPGRADE.sub(b"", head)
        return head

    def _take_body(self, data: bytes) -> None:
        if self._framing.is_chunked:
            self._parse_chunks(data)
            return
        # Bypass the parser, which would copy the body: a body with a length needs no parsing.
        body, self._received = data[: self._body_left], data[self._body_left :]
        self._body_left -= len(body)
        self.on_body(body)
        if not self._body_left:
            self.on_message_complete()
            self.parser = httptools.HttpRequestParser(self)  # the old one is still waiting for the body

    def _parse_chunks(self, data: bytes) -> None:
        self._since_data += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._give_body_up()
        if self._since_data > MAX_HEAD_BYTES:  # endless trailers
            self._give_body_up()

    def _give_body_up(self) -> None:
        """Treat a client that sends broken chunks as one that has stopped sending."""
        if self._reads_body and self.in_progress:
            self.in_progress.leave()
        self._reads_body = False

    # From the parser

    def on_message_begin(self) -> None:
        if self.in_progress:
            raise ValueError("nothing may follow a chunked body")
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.in_progress:  # ignore trailers: the app already has the request
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        framing = self._framing
        self.cycle = self.in_progress = RequestCycle(
            self,
            self._method,
            self._version,
            close=self.close,
            linger=self.linger,
            # Data after a chunked body could be a request that a proxy didn't see.
            keep_alive=not (framing.is_chunked or framing.is_upgrade or framing.is_last)
            and self._version != OLD_VERSION,
        )
        if self._sends_no_more:
            self.in_progress.leave()
        self._wait(math.inf)  # the app has its own limits
        self._start_asgi_task(self.cycle, self.app)

    def on_body(self, body: bytes) -> None:
        self._since_data = 0
        # Above 64 KB, this pauses reading until the app takes the body. In a loop that only reads bodies, a
        # limit of 256 KB took half as much processor time again.
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reads_body = False
        super().on_message_complete()

    # Replies

    def _refuse(self, refusal: HeadRefusal) -> None:
        """Reply to data that isn't a valid request, and close the connection."""
        body = json.dumps({"error": refusal.message}).encode()
        fields = (
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\ncache-control: no-store\r\n"
            "x-content-type-options: nosniff\r\n"
        )
        line = f"HTTP/1.1 {refusal.status} \r\n{self._server.date_field}"
        self.transport.write(f"{line}{fields}connection: close\r\n\r\n".encode() + body)
        self.linger()

    def on_response_complete(self) -> None:
        self.in_progress = None
        if self.is_lingering or self.is_closed:
            return
        self._wait(IDLE_SECONDS)
        self.flow.resume_reading()
        self._begin()
        if self._sends_no_more and not self.in_progress:
            self.linger()
        elif self._server.is_stopping:
            self.finish()

    # The end

    def is_idle(self) -> bool:
        return not (self._received or self.in_progress or self.is_lingering or self.is_closed)

    def finish(self) -> None:
        """Close the connection if nothing is in progress."""
        if self.is_idle():
            self.close()

    def linger(self) -> None:
        """Close the sending half of the connection, and keep reading for a while.

        Closing a socket with unread data resets the connection, and the client may then lose the reply.
        """
        if self.is_lingering or self.is_closed:
            return
        self.is_lingering = True
        self._received = b""
        self._wait(LINGER_SECONDS)
        if self._sends_no_more:
            self.transport.close()
        else:
            self.transport.write_eof()
            self.flow.resume_reading()

    def close(self) -> None:
        if self.transport:
            self.transport.abort()

    # Time limits

    def _wait(self, seconds: float) -> None:
        """Set how long the connection may stay in its current state."""
        self._may_wait = seconds
        self._deadline = self._server.now + seconds

    def is_overdue(self) -> bool:
        unsent = self.transport.get_write_buffer_size() if self.transport else 0
        if unsent != self._unsent:
            self._unsent, self._unsent_since = unsent, self._server.now
            self._wait(self._may_wait)  # counted from when the client has received everything
        if unsent:
            return self._unsent_since + STALLED_SECONDS < self._server.now
        if self.in_progress and self._server.refuses_slow_bodies:
            self.in_progress.check_pace()
        return self._deadline < self._server.now


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
        except OSError:  # the client has already disconnected
            sock.close()
            self.forget(connection)

    def on_tick(self) -> None:
        self._state.default_headers = [(b"date", self.date.encode())]

    async def stop(self, grace_seconds: float) -> None:
        await super().stop(grace_seconds)
        await asyncio.sleep(0)  # lets requests notice that their clients have disconnected
        await self._close_app()
