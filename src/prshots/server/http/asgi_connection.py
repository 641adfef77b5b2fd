"""One client connection of an ASGI app: one request at a time, and a task for each.

A body goes to the app as the bytes objects that the kernel filled. What a client sends during a reply waits.
"""

import asyncio
import json
import math
import socket
from typing import Protocol

import structlog

from prshots.server.http.error_boundary import App
from prshots.server.http.exchange import Exchange
from prshots.server.http.request_heads import MAX_HEAD_BYTES, BadHeadError, RequestHead
from prshots.server.http.socket_connection import HEAD_SECONDS, STALLED_SECONDS, SocketConnection

HEAD_READ_BYTES = 16 * 1024
IDLE_SECONDS = 10.0
"""Clients connect for a run of uploads, or for a page. Longer would let idle ones take all the places."""

_log = structlog.get_logger()


class Server(Protocol):
    """What a connection needs from the server that accepted it."""

    loop: asyncio.AbstractEventLoop
    now: float
    date_field: str
    is_stopping: bool
    app: App
    read_ahead: int

    def forget(self, connection: "AsgiConnection") -> None: ...


class AsgiConnection(SocketConnection):
    def __init__(self, server: Server, sock: socket.socket) -> None:
        self._server = server
        self._head = RequestHead()
        self._parsed = 0  # how many bytes of it the head has seen
        self._exchange: Exchange | None = None
        self._serving: asyncio.Task[None] | None = None
        self._unsent: bytes | memoryview = b""
        self._written: asyncio.Future[None] | None = None
        super().__init__(server, sock, IDLE_SECONDS)

    # Reading

    def _wanted(self) -> int:
        if self._exchange is None or self._is_lingering:
            return HEAD_READ_BYTES
        if not self._exchange.is_received:
            return self._exchange.wanted
        # Only to notice that the client disconnects; a few requests ahead are enough.
        return HEAD_READ_BYTES - len(self._received)

    def _on_readable(self) -> None:
        wanted = self._wanted()
        if wanted <= 0:
            self._stop_reading()
            return
        try:
            data = self._sock.recv(wanted)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if self._is_lingering:
            self._discard(data)
        elif self._exchange is not None:
            self._take(self._exchange, data)
        elif data:
            self._received += data
            self._begin()
        else:
            self.close()

    def _take(self, exchange: Exchange, data: bytes) -> None:
        if not data:
            exchange.leave()
            self._stop_reading()
        elif exchange.is_received:
            self._received += data
        else:
            self._received += exchange.take(data)

    def read_on(self) -> None:
        if not (self._exchange and self._exchange.has_left):
            self._read_on()

    def _begin(self) -> None:
        """Begin with the next request, if its head is complete. Some clients send blank lines before it."""
        if not self._parsed:
            self._received = self._received.lstrip(b"\r\n")
        if not self._received:
            return
        blank_line = self._received.find(b"\r\n\r\n", max(0, self._parsed - 3))
        end = blank_line + 4 if blank_line >= 0 else len(self._received)
        if not self._parsed:
            self.deadline = self._server.now + HEAD_SECONDS
        try:
            if end > MAX_HEAD_BYTES:
                raise _too_large(self._received)
            self._head.feed(self._received[self._parsed : end])
            self._parsed = end
            if blank_line >= 0:
                self._serve(end)
        except BadHeadError as refusal:
            self._refuse(refusal)

    def _serve(self, end: int) -> None:
        if not self._head.is_complete:  # the parser saw the blank line elsewhere
            raise BadHeadError
        exchange = Exchange(self, self._head, self._server.date_field.encode(), self._server.read_ahead)
        rest, self._received, self._parsed = self._received[end:], b"", 0
        self._exchange, self._head = exchange, RequestHead()
        if rest:
            self._take(exchange, rest)
        self.deadline = math.inf  # the app has its own
        self._serving = self._server.loop.create_task(self._run(exchange))

    async def _run(self, exchange: Exchange) -> None:
        try:
            await self._server.app(exchange.scope, exchange.receive, exchange.send)
        except Exception:  # noqa: BLE001 - nothing else would log it
            _log.exception("internal error")
        if not exchange.is_answered:  # the client must notice that the reply is incomplete
            self.close()
        self._serving = None
        self._end_exchange()

    # Writing

    def write(self, data: bytes) -> None:
        if self.is_closed:
            return
        if self._unsent:
            self._unsent = bytes(self._unsent) + data
            return
        self._unsent = data
        self._push()
        if self._unsent:
            self._server.loop.add_writer(self._sock, self._on_writable)

    async def written(self) -> None:
        """Wait until the client has received everything so far, or has disconnected."""
        if self._unsent:
            self._written = self._server.loop.create_future()
            await self._written

    def _on_writable(self) -> None:
        self._push()
        if not self._unsent and not self.is_closed:
            self._server.loop.remove_writer(self._sock)
            self._tell_written()
            self._end_exchange()

    def _push(self) -> None:
        """Give the kernel as much as it accepts now."""
        try:
            while self._unsent:
                sent = self._sock.send(self._unsent)
                self._unsent = b"" if sent == len(self._unsent) else memoryview(self._unsent)[sent:]
        except (BlockingIOError, InterruptedError):
            self.deadline = self._server.now + STALLED_SECONDS
        except OSError:
            self.close()
        else:
            self.deadline = math.inf

    def _tell_written(self) -> None:
        if self._written and not self._written.done():
            self._written.set_result(None)

    def _refuse(self, refusal: BadHeadError) -> None:
        """Send a reply to something that is not a request, and close."""
        body = json.dumps({"error": str(refusal)}).encode()
        fields = (
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nCache-Control: no-store\r\n"
        )
        line = f"HTTP/1.1 {refusal.status} \r\n"
        self._received = b""
        self.write(f"{line}{self._server.date_field}{fields}Connection: close\r\n\r\n".encode() + body)
        self._linger()

    # From one request to the next

    def _end_exchange(self) -> None:
        """Go on if the app is done with the request and the client has the whole reply."""
        if self._exchange is None or self._serving or self._unsent or self.is_closed:
            return
        keeps_alive = self._exchange.keeps_alive and self._exchange.is_received
        self._exchange = None
        if not keeps_alive:
            self._linger()
            return
        self.deadline = self._server.now + IDLE_SECONDS
        self._read_on()
        self._begin()
        if self._server.is_stopping:
            self.finish()

    def is_idle(self) -> bool:
        return not (self._received or self._exchange or self._is_lingering or self.is_closed)

    def _let_go(self) -> None:
        self._unsent = b""
        if self._exchange:
            self._exchange.leave()
        self._tell_written()


def _too_large(head: bytes) -> BadHeadError:
    if b"\r\n" in head[:MAX_HEAD_BYTES]:
        return BadHeadError(431, "request header fields too large")
    return BadHeadError(414, "uri too long")
