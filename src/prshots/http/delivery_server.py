"""The HTTP/1.1 server of delivery: one thread, non-blocking sockets, and the kernel copies the files.

A request is parsed, decided and answered within the callback that found its socket readable: no task, no
future, no other thread. A reply that the client takes slowly waits in the file, not in memory.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import socket
import struct
import termios
from email.utils import formatdate
from http import HTTPStatus

import httptools
import structlog

from prshots.http.delivery import METHOD_NOT_ALLOWED, STORAGE_UNAVAILABLE, Delivery, FileSlice, Reply, Request, error_reply

MAX_HEAD_BYTES = 16 * 1024
"""A signed URL and a browser's headers take 1 KiB; other servers allow 8 to 32."""

READ_AT_ONCE_BYTES = 64 * 1024
"""Up to here a read and one send are quicker than sendfile, and a slow client holds no more memory than this."""

IDLE_SECONDS = 75.0
"""Longer than the 60 s that proxies keep a connection: it is they who close it, not we under their request."""

HEAD_SECONDS = 10.0
"""From a head's first byte to its last. A head is a packet or two; who takes longer only holds a connection."""

STALLED_SECONDS = 60.0
"""How long a reply may rest before the client counts as gone: a phone in a tunnel is back by then."""

LINGER_SECONDS = 5.0
LINGER_BYTES = 4 * 1024 * 1024
"""How long, and for how much, we go on reading what a client sends after its last reply. Closing with bytes
unread resets the connection, and a reset takes the reply from the client before it has read it."""

ACCEPT_AT_ONCE = 8
"""Connections taken per wake-up; the rest is left to the other processes on the same socket."""

ACCEPT_PAUSE_SECONDS = 0.5
SWEEP_SECONDS = 1.0

BAD_REQUEST = error_reply(400, "bad request")
URI_TOO_LONG = error_reply(414, "uri too long")
HEAD_TOO_LARGE = error_reply(431, "request header fields too large")

_log = structlog.get_logger()
_HEADERS_USED = {name.encode(): name for name in ("range", "if-range", "if-none-match")}
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_UNKNOWN_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^ \r\n]+ HTTP/1\.[01]\r\n")
_MORE_FOLLOWS = getattr(socket, "MSG_MORE", 0)  # Linux only
_NO_FILE = -1


class DeliveryServer:
    """Serves on a listening socket that stays the caller's, and that other processes may share."""

    def __init__(self, delivery: Delivery, listener: socket.socket) -> None:
        self.respond = delivery.respond
        self.date_field = ""
        self.stopping = False
        self._listener = listener
        self._connections: set[_Connection] = set()
        self._accept_failing = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._all_closed = asyncio.Event()

    def start(self) -> None:
        """Begin to serve, on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._sweep()
        self._resume_accepting()

    async def stop(self, grace_seconds: float) -> None:
        """Take no more requests, let the replies under way finish, and close what is left after the grace."""
        self.stopping = True
        self.loop.remove_reader(self._listener)
        for connection in tuple(self._connections):
            connection.finish()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), grace_seconds)
        for connection in tuple(self._connections):
            connection.close()
        for timer in self._timers.values():
            timer.cancel()

    def forget(self, connection: "_Connection") -> None:
        self._connections.discard(connection)
        if self.stopping and not self._connections:
            self._all_closed.set()

    def _accept(self) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            try:
                sock, _address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return  # another process was quicker, or the client has gone again
            except OSError as error:
                self._pause_accepting(error)
                return
            self._accept_failing = False
            self._connections.add(_Connection(self, sock))

    def _pause_accepting(self, error: OSError) -> None:
        """Wait when no connection can be taken, most likely for want of descriptors, and give back the idle ones."""
        if not self._accept_failing:
            _log.error("cannot accept connections", reason=error.strerror)
        self._accept_failing = True
        self.loop.remove_reader(self._listener)
        for connection in tuple(self._connections):
            if connection.is_idle():
                connection.close()
        self._timers["accept"] = self.loop.call_later(ACCEPT_PAUSE_SECONDS, self._resume_accepting)

    def _resume_accepting(self) -> None:
        if not self.stopping:
            self.loop.add_reader(self._listener, self._accept)

    def _sweep(self) -> None:
        """Close the connections whose time is up: one look at all of them, instead of a timer for each request."""
        now = self.loop.time()
        self.date_field = f"Date: {formatdate(usegmt=True)}\r\n"
        for connection in tuple(self._connections):
            if connection.deadline < now:
                connection.time_is_up(now)
        self._timers["sweep"] = self.loop.call_later(SWEEP_SECONDS, self._sweep)


class _Connection:
    """One client. It is reading a head, sending a reply, or lingering after the last one."""

    def __init__(self, server: DeliveryServer, sock: socket.socket) -> None:
        self._server = server
        self._loop = server.loop
        self._sock = sock
        self._received = b""
        self._parsed = 0  # how much of it the parser has had
        self._unsent = b""
        self._file_fd = _NO_FILE
        self._file_offset = 0
        self._file_left = 0
        self._is_sending = False
        self._is_last = False  # the connection ends with this reply
        self._is_reading = True
        self._is_lingering = False
        self._is_closed = False
        self._may_discard = LINGER_BYTES
        self._queued_before: int | None = None
        self.deadline = self._loop.time() + IDLE_SECONDS
        self._parser = httptools.HttpRequestParser(self)
        self._await_head()
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # not a TCP socket, or reset already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop.add_reader(sock, self._on_readable)

    # ------------------------------------------------------------------ what the parser tells

    def on_url(self, piece: bytes) -> None:
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        used = _HEADERS_USED.get(name.lower())
        if used is not None:
            # Several of one name are one list: right for If-None-Match, and no range that we serve.
            before = self._headers.get(used)
            text = value.decode("latin-1").strip()
            self._headers[used] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        self._keep_alive = self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        self._has_body = False

    # ------------------------------------------------------------------ reading

    def _await_head(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._has_body = True
        self._keep_alive = False

    def _on_readable(self) -> None:
        if self._is_sending:  # one reply at a time: what the client sends meanwhile waits in its kernel
            self._is_reading = False
            self._loop.remove_reader(self._sock)
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
            self._discard(data)
        else:
            self._received = self._received + data if self._received else data.lstrip(b"\r\n")
            self._answer_received()

    def _answer_received(self) -> None:
        """Answer the requests received, one after the other, until one is incomplete or a reply has to wait."""
        while self._received and not self._is_sending:
            blank_line = self._received.find(b"\r\n\r\n", max(0, self._parsed - 3))
            end = blank_line + 4 if blank_line >= 0 else len(self._received)
            if end > MAX_HEAD_BYTES:
                in_first_line = b"\r\n" not in self._received[:MAX_HEAD_BYTES]
                self._send_last(URI_TOO_LONG if in_first_line else HEAD_TOO_LARGE)
            elif not self._parse(end):
                self._send_last(self._refusal())
            elif blank_line >= 0:
                self._answer(end)
            else:
                return

    def _parse(self, end: int) -> bool:
        """Give the parser the head up to `end`, and never a byte of what follows it."""
        if not self._parsed:
            self.deadline = self._loop.time() + HEAD_SECONDS
        try:
            self._parser.feed_data(self._received[self._parsed : end])
        except httptools.HttpParserUpgrade:  # to what we do not speak: answered as if it had not asked
            self._keep_alive = False
        except httptools.HttpParserError:
            return False
        self._parsed = end
        return True

    def _refusal(self) -> Reply:
        return METHOD_NOT_ALLOWED if _UNKNOWN_METHOD.match(self._received) else BAD_REQUEST

    def _answer(self, end: int) -> None:
        method, target = self._parser.get_method(), self._target
        # The parser forgives two spaces or no version. We do not: a signed URL can be written in one way only.
        if not self._received.startswith(b"%b %b HTTP/1." % (method, target)):
            self._send_last(BAD_REQUEST)
            return
        path, _, query = target.decode("latin-1").partition("?")
        request = Request(method.decode(), path, query, self._headers)
        # The body of a GET is nobody's next request: it is discarded with the connection.
        self._is_last = self._has_body or not self._keep_alive or self._server.stopping
        self._received = self._received[end:].lstrip(b"\r\n")
        self._parsed = 0
        self._await_head()
        self._send(self._server.respond(request))

    # ------------------------------------------------------------------ sending

    def _send_last(self, reply: Reply) -> None:
        self._is_last = True
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        body = reply.body
        if isinstance(body, FileSlice):
            if body.length <= READ_AT_ONCE_BYTES:
                reply, body = _read_at_once(reply, body)
            else:
                self._file_fd, self._file_offset, self._file_left = body.file.fd, body.offset, body.length
                body = b""
        persistence = "Connection: close\r\n\r\n" if self._is_last else "Connection: keep-alive\r\n\r\n"
        head = f"{_STATUS_LINES[reply.status]}{self._server.date_field}{reply.fields}{persistence}"
        self._unsent = head.encode("latin-1") + body
        self._is_sending = True
        self._push()
        if self._is_sending:
            self._loop.add_writer(self._sock, self._on_writable)

    def _on_writable(self) -> None:
        self._push()
        if self._is_sending or self._is_closed:
            return
        self._loop.remove_writer(self._sock)
        if not self._is_reading:
            self._is_reading = True
            self._loop.add_reader(self._sock, self._on_readable)
        self._answer_received()

    def _push(self) -> None:
        """Give the kernel as much of the reply as it takes now."""
        try:
            if self._unsent:
                sent = self._sock.send(self._unsent, _MORE_FOLLOWS if self._file_left else 0)
                self._unsent = self._unsent[sent:]
            if self._file_left and not self._unsent:
                sent = os.sendfile(self._sock.fileno(), self._file_fd, self._file_offset, self._file_left)
                if not sent:  # the file has become shorter: the client must not take this for the whole
                    self.close()
                    return
                self._file_offset += sent
                self._file_left -= sent
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.close()
            return
        if self._unsent or self._file_left:
            self._queued_before = None
            self.deadline = self._loop.time() + STALLED_SECONDS / 2
        else:
            self._reply_is_sent()

    def _reply_is_sent(self) -> None:
        self._is_sending = False
        self._close_file()
        if self._is_last:
            self._linger()
        else:
            self.deadline = self._loop.time() + IDLE_SECONDS

    # ------------------------------------------------------------------ ending

    def is_idle(self) -> bool:
        return not (self._received or self._is_sending or self._is_lingering or self._is_closed)

    def finish(self) -> None:
        """Answer what has already arrived, and close when nothing is under way."""
        if self.is_idle():
            self._on_readable()
        if self.is_idle():
            self.close()

    def time_is_up(self, now: float) -> None:
        if self._is_sending and self._is_draining():
            self.deadline = now + STALLED_SECONDS / 2
        else:
            self.close()

    def _is_draining(self) -> bool:
        """Whether a slow client still takes bytes: the kernel asks for more only after a good part of its buffer.

        The first look, half-way, has nothing to compare with.
        """
        before = self._queued_before
        self._queued_before = _bytes_queued(self._sock)
        return before is None or self._queued_before < before

    def _linger(self) -> None:
        self._is_lingering = True
        self._received = b""
        self.deadline = self._loop.time() + LINGER_SECONDS
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def _discard(self, data: bytes) -> None:
        self._may_discard -= len(data)
        if self._may_discard < 0:
            self.close()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._is_sending = False
        self._received = b""
        self._close_file()
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        del self._parser  # it refers to us: without this, only the cycle collector would free both
        self._server.forget(self)

    def _close_file(self) -> None:
        if self._file_fd != _NO_FILE:
            os.close(self._file_fd)
            self._file_fd = _NO_FILE
            self._file_left = 0


def _read_at_once(reply: Reply, part: FileSlice) -> tuple[Reply, bytes]:
    """Read a small file. One that cannot be read, or that has become shorter, is storage trouble."""
    try:
        content = os.pread(part.file.fd, part.length, part.offset)
    except OSError:
        content = b""
    finally:
        os.close(part.file.fd)
    return (
        (reply, content) if len(content) == part.length else (STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE.body)
    )


def _bytes_queued(sock: socket.socket) -> int:
    """Return how much of what was sent the other side has not acknowledged."""
    try:
        return int(struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0])
    except OSError:
        return 0
