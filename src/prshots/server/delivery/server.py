"""The HTTP/1.1 server of delivery: one thread, non-blocking sockets and sendfile.

The callback for a readable socket parses and answers the request directly, without a task, a future or
another thread. For a slow client, the unsent rest stays in the file, not in memory.

Images from a remote store are the exception. Each of these replies has a task, which requests the next chunk
from the store after the client has received the previous one.
"""

import asyncio
import contextlib
import os
import re
import socket
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

import structlog

from prshots.contract.errors import StoreError
from prshots.server.bounded_cache import BoundedCache
from prshots.server.delivery.decision import METHOD_NOT_ALLOWED, METHODS, Delivery
from prshots.server.delivery.replies import Pending, Reply, Request, Streamed, error_reply
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.http.readiness import Readiness
from prshots.server.http.request_grammar import (
    BAD_REQUEST,
    REQUEST_ID_VALUE,
    REQUEST_LINE,
    TARGET,
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
from prshots.server.links import OpenObject

MAX_HEAD_BYTES = 16 * 1024
"""A signed URL and a browser's headers take 1 KB. Other servers allow 8 to 32 KB."""

IDLE_SECONDS = 75.0
"""Longer than the 60 s of most proxies, so they close idle connections first. If delivery closed a
connection, a proxy could be sending the next request at that moment."""

CACHED_FIELDS, CACHED_BYTES = 1024, 2048
"""How many sets of header fields to cache, and their maximum length: 2 MB in total."""

_log = structlog.get_logger()
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_KEEP_ALIVE = "Connection: keep-alive\r\n\r\n"
_CLOSE = "Connection: close\r\n\r\n"
_MORE_FOLLOWS = getattr(socket, "MSG_MORE", 0)  # Linux only: the head and image share the first packet
_NO_FILE = -1
_BLANK_LINES = b"\r\n"  # some clients send them before a request
_VERSION = b" HTTP/1.1\r\n"
_IMAGE_LINE = re.compile(rb"GET (/i/" + TARGET + rb")")
_CONDITIONS = re.compile(r"(?:\A|\n)(range|if-range|if-none-match):[ \t]*([^\r]*)", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"(?:\A|\n)x-request-id:[ \t]*([^\r]*)", re.IGNORECASE)
_plain_fields = BoundedCache[bytes, bool](CACHED_FIELDS)


class DeliveryConnection:
    def __init__(self, server: "DeliveryServer", sock: socket.socket) -> None:
        self._server, self._sock = server, sock
        self._fd = sock.fileno()
        self._received = b""
        self._judged = 0  # checked bytes of an incomplete head
        self._unsent: bytes | memoryview = b""
        self._file_fd = _NO_FILE
        self._file_offset = self._file_left = 0
        self._relaying: asyncio.Task[None] | None = None  # sends a reply from a remote store
        self._taken: asyncio.Future[None] | None = None  # done when the client has received all chunks so far
        self._is_sending = False
        self._is_last = False  # close the connection after this reply
        self._request_id = ""
        self._is_reading, self._is_lingering, self.is_closed = True, False, False
        self._may_discard = LINGER_BYTES
        self.deadline = server.now + IDLE_SECONDS
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # already reset
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.loop.add_reader(sock, self._on_readable)

    # Requests

    def _on_readable(self) -> None:
        if self._is_sending:  # one reply at a time: further requests wait in the kernel
            self._is_reading = False
            self._server.loop.remove_reader(self._sock)
            return
        try:
            data = self._sock.recv(MAX_HEAD_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        elif self._is_lingering:
            self._may_discard -= len(data)
            if self._may_discard < 0:
                self.close()
        elif not self._received and (target := _plain_target(data)):
            self._is_last = self._server.is_draining
            self._send(self._server.telemetry.respond_plainly(target))
        else:
            self._received = self._received + data if self._received else data.lstrip(_BLANK_LINES)
            self._answer_received()

    def _answer_received(self) -> None:
        """Answer requests in turn until one is incomplete or a reply has to wait."""
        while self._received and not self._is_sending:
            end = find_end(self._received, self._judged, MAX_HEAD_BYTES)
            if end is None:
                if not self._judged:
                    self.deadline = self._server.now + HEAD_SECONDS
                self._judged = len(self._received)
                return
            if isinstance(end, HeadRefusal):
                self._send_last(error_reply(*end))
                return
            request = _read_head(self._received[:end])
            self._received, self._judged = self._received[end:].lstrip(_BLANK_LINES), 0
            if isinstance(request, Reply):
                self._send_last(request)
            else:
                self._is_last = request.is_last or self._server.is_draining
                self._request_id = request.request_id
                self._send(self._server.respond(request))

    def _read_on(self) -> None:
        if not (self._is_reading or self.is_closed):
            self._is_reading = True
            self._server.loop.add_reader(self._sock, self._on_readable)

    # Replies

    def _send_last(self, reply: Reply) -> None:
        self._is_last = True
        self._send(reply)

    def _send(self, reply: Reply | Pending) -> None:
        self._is_sending = True
        if not isinstance(reply, Reply):
            self._relaying = self._server.relay(self._relay(reply))
            return
        head, body = self._head(reply), reply.body
        if isinstance(body, OpenObject):
            self._unsent = head
            self._file_fd, self._file_left, self._file_offset = body
        elif isinstance(body, bytes):
            self._unsent = head + body
        self._push()
        if self._is_sending:
            self._server.loop.add_writer(self._sock, self._on_writable)

    def _head(self, reply: Reply) -> bytes:
        status, fields = _STATUS_LINES[reply.status], reply.fields
        # Only with an error, because caches keep images. Not for other paths, where our clients recognize
        # delivery by the missing id.
        if self._request_id and reply.result and reply.status >= HTTPStatus.BAD_REQUEST:
            fields += f"X-Request-Id: {self._request_id}\r\n"
        persistence = _CLOSE if self._is_last else _KEEP_ALIVE
        return f"{status}{self._server.date_field}{fields}{persistence}".encode("latin-1")

    async def _relay(self, pending: Pending) -> None:
        """Send a reply from a remote store, then continue with the next request."""
        self.deadline = self._server.now + STALLED_SECONDS  # the store has its own, shorter timeouts
        reply = await pending()
        self._is_last = self._is_last or self._server.is_draining
        if isinstance(reply.body, Streamed):
            is_complete = await self._pass_on(reply, reply.body)
            self._relaying = None
            if is_complete:
                self._reply_is_sent()
            else:  # the client must notice that the image is incomplete
                self.close()
        else:
            self._relaying = None
            self._send(reply)
        if not (self._is_sending or self.is_closed):
            self._continue()

    async def _pass_on(self, reply: Reply, body: Streamed) -> bool:
        """Send the store's chunks at the client's pace. Return whether all of them were sent."""
        unsent, left = self._head(reply), body.length
        try:
            async with contextlib.aclosing(body.chunks) as chunks:
                async for chunk in chunks:
                    left -= len(chunk)
                    self._server.telemetry.bytes_sent += len(chunk)
                    self._unsent, unsent = unsent + chunk if unsent else chunk, b""
                    if left < 0 or not await self._is_taken():
                        return False
                self._unsent = unsent  # the head, if there was no chunk
                return left == 0 and await self._is_taken()
        except StoreError as error:
            self._server.storage_failed(error)
        except Exception:  # noqa: BLE001 - the head is already sent, so this can't become a 500
            _log.exception("internal error")
        return False

    async def _is_taken(self) -> bool:
        """Wait until the client has received everything so far. Return False if it disconnected."""
        self.deadline = self._server.now + STALLED_SECONDS
        self._push()
        if self._unsent and not self.is_closed:
            self._taken = self._server.loop.create_future()
            self._server.loop.add_writer(self._sock, self._on_writable)
            await self._taken
        return not self.is_closed

    def _on_writable(self) -> None:
        self._push()
        if self.is_closed or self._unsent or self._file_left:
            return
        self._server.loop.remove_writer(self._sock)
        if self._taken is not None:
            self._taken.set_result(None)
            self._taken = None
        else:
            self._continue()

    def _continue(self) -> None:
        """Process data that the client sent during the reply."""
        self._read_on()
        self._answer_received()
        if self._server.is_stopping:
            self.finish()

    def _push(self) -> None:
        """Pass as much of the reply to the kernel as it currently accepts."""
        try:
            if self._unsent:
                sent = self._sock.send(self._unsent, _MORE_FOLLOWS if self._file_left else 0)
                # Copying the rest of an image would cost more than sending it.
                self._unsent = b"" if sent == len(self._unsent) else memoryview(self._unsent)[sent:]
            if self._file_left and not self._unsent:
                sent = os.sendfile(self._fd, self._file_fd, self._file_offset, self._file_left)
                if not sent:  # the file was truncated, and the client must notice
                    self.close()
                    return
                self._server.telemetry.bytes_sent += sent
                self._file_offset += sent
                self._file_left -= sent
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.close()
            return
        if self._unsent or self._file_left:
            self.deadline = self._server.now + STALLED_SECONDS
        elif self._relaying is None:
            self._reply_is_sent()

    def _reply_is_sent(self) -> None:
        self._is_sending = False
        self._request_id = ""
        self._close_file()
        self.deadline = self._server.now + IDLE_SECONDS
        if self._is_last:
            self._linger()

    # The end

    def is_overdue(self) -> bool:
        return self.deadline < self._server.now

    def is_idle(self) -> bool:
        """Return whether no request has arrived and no reply is in progress."""
        return not (self._received or self._is_sending or self._is_lingering or self.is_closed)

    def finish(self) -> None:
        """Answer requests that have arrived, and close the connection if nothing is in progress."""
        if self.is_idle():
            self._on_readable()
        if self.is_idle():
            self.close()

    def _linger(self) -> None:
        self._is_lingering = True
        self._received = b""
        self.deadline = self._server.now + LINGER_SECONDS
        self._read_on()
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._received = b""
        self._is_sending = False
        self._close_file()
        if self._relaying is not None and self._relaying is not asyncio.current_task():
            self._relaying.cancel()
        self._server.loop.remove_reader(self._sock)
        self._server.loop.remove_writer(self._sock)
        self._sock.close()
        self._server.forget(self)

    def _close_file(self) -> None:
        if self._file_fd != _NO_FILE:
            os.close(self._file_fd)
            self._file_fd = _NO_FILE
            self._file_left = 0


class DeliveryServer(SocketServer):
    def __init__(
        self, delivery: Delivery, listener: socket.socket, readiness: Readiness | None = None
    ) -> None:
        super().__init__(listener)
        self._readiness = readiness or Readiness({})
        self.telemetry = DeliveryTelemetry(delivery, self._readiness)
        self.respond: Callable[[Request], Reply | Pending] = self.telemetry.respond
        self.storage_failed: Callable[[StoreError], object] = delivery.storage_failed
        self.is_draining = False
        self._relays: set[asyncio.Task[None]] = set()

    def connect(self, sock: socket.socket) -> DeliveryConnection:
        return DeliveryConnection(self, sock)

    def on_tick(self) -> None:
        self.telemetry.hand_over()

    def drain(self) -> None:
        self.is_draining = self._readiness.is_stopping = True

    async def stop(self, grace_seconds: float) -> None:
        await super().stop(grace_seconds)
        if self._relays:  # already cancelled; wait until they have closed their streams
            await asyncio.wait(self._relays)
        self.telemetry.hand_over()

    def relay(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)
        return task


def _plain_target(received: bytes) -> str | None:
    """Return the target if this is exactly one GET of an image, without conditions or a body.

    The fields must be ones that `_read_head` has parsed: a browser sends the same ones for all images, and
    parsing them takes longer than the rest of the head.
    """
    line, _, fields = received.partition(_VERSION)
    if not _plain_fields.get(fields):
        return None
    found = _IMAGE_LINE.fullmatch(line)
    return None if found is None else found[1].decode()


def _read_head(head: bytes) -> Request | Reply:
    """Parse a complete head, or return the reply that refuses it."""
    line = REQUEST_LINE.match(head)
    if line is None:
        return error_reply(*BAD_REQUEST)
    fields = head[line.end() :]
    framing = read_framing(fields, line["version"])
    if isinstance(framing, HeadRefusal):
        return error_reply(*framing)
    # A body could look like another request, so the connection closes after it.
    is_last = framing.is_last or framing.is_upgrade or framing.has_body
    conditions = _read_conditions(fields)
    request_id = _read_request_id(fields)
    if (
        not (conditions or is_last or request_id)
        and len(fields) <= CACHED_BYTES
        and line[0].endswith(_VERSION)
    ):
        _plain_fields.put(fields, True)
    request = Request(line["method"].decode(), line["target"].decode(), conditions, is_last, request_id)
    if request.method not in METHODS:
        return METHOD_NOT_ALLOWED
    return request if names_path(request.target) else error_reply(*BAD_REQUEST)


def _read_request_id(fields: bytes) -> str:
    """Return the id that a proxy gave the request, or "" if there is none or it isn't valid."""
    given = [value.rstrip() for value in _REQUEST_ID.findall(fields)]
    return given[0].decode() if len(given) == 1 and REQUEST_ID_VALUE.fullmatch(given[0]) else ""


def _read_conditions(fields: bytes) -> Mapping[str, str]:
    """Return the fields that affect the reply."""
    found: dict[str, str] = {}
    for name, value in _CONDITIONS.findall(fields.decode("latin-1")):
        # Repeated fields form a list. That is correct for If-None-Match, and a list in Range is ignored.
        key, given = name.lower(), value.rstrip()
        found[key] = f"{found[key]}, {given}" if key in found else given
    return found
