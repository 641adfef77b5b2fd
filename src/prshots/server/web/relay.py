"""Streams requests from the web component to the API, and the replies back.

The relay uses h11, because httpx sends the whole body before it reads the reply. If the API refuses an upload
halfway, the relay needs the reply at that moment.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

import h11
import structlog
from starlette.exceptions import HTTPException

from prshots.server.http.client_address import FORWARDED_FOR
from prshots.server.http.error_boundary import REQUEST_ID, Message, Receive, Send, leave_body_unread
from prshots.server.observability.outages import Outage

CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 150.0
"""How long the API may be silent. It waits up to 120 s for a slow body."""

IDLE_SECONDS, MAX_IDLE = 5.0, 32
"""How long to keep idle connections, and how many. The API closes them after 10 s."""

PIECE_BYTES = 64 * 1024
MAX_HEAD_BYTES = 64 * 1024
REPEATABLE = {b"GET", b"HEAD"}

HOP_BY_HOP = {
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}

Headers = list[tuple[bytes, bytes]]

_NOT_IN_A_TARGET = re.compile(rb"[^!-~]")
_log = structlog.get_logger()


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers without the hop-by-hop ones. Names must be lower case."""
    headers = list(headers)
    named = {
        token.strip().lower()
        for name, value in headers
        if name == b"connection"
        for token in value.split(b",")
    }
    return [(name, value) for name, value in headers if name not in HOP_BY_HOP | named]


def outgoing_request(scope: Message, prefix: bytes = b"") -> tuple[h11.Request, bool]:
    """Return the request for the API, and whether a body follows. Raises h11.LocalProtocolError."""
    chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
    # The web component's own server has already answered `Expect: 100-continue`.
    headers = [header for header in end_to_end(scope["headers"]) if header[0] != b"expect"]
    if chunked:  # a Content-Length is then meaningless
        headers = [header for header in headers if header[0] != b"content-length"]
        headers.append((b"transfer-encoding", b"chunked"))
    if scope.get("client"):
        headers.append((FORWARDED_FOR, scope["client"][0].encode()))
    has_body = chunked or any(name == b"content-length" and value != b"0" for name, value in headers)
    target = prefix + scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    # Some clients send bytes that are invalid in a target. Percent-encode them.
    target = _NOT_IN_A_TARGET.sub(lambda found: b"%%%02X" % ord(found[0]), target)
    return h11.Request(method=scope["method"], target=target, headers=headers), has_body


class Relay:
    """An ASGI app that forwards requests to the API. Its `receive` must be safe to cancel."""

    def __init__(self, api_url: str) -> None:
        address = urlsplit(api_url)
        self._tls = address.scheme == "https"
        self._address = address.hostname, address.port or (443 if self._tls else 80)
        self._prefix = address.path.encode()
        self._idle: list[_Connection] = []
        self._outage = Outage("api unavailable", "api is back")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            request, has_body = outgoing_request(scope, self._prefix)
        except h11.LocalProtocolError as error:
            raise HTTPException(400, f"bad request: {error}") from error
        try:
            connection, response = await self._ask(request, receive if has_body else None)
        except (OSError, h11.RemoteProtocolError) as error:
            self._outage.note_failure("request", str(error) or type(error).__name__)
            self._outage.count_request()
            raise HTTPException(502, "api unavailable", {"Cache-Control": "no-store"}) from error
        self._outage.note_success("request")
        leave_body_unread(scope)  # the API has already waited for it
        # The API uses the request id from web, and the error boundary adds it to the reply.
        headers = [header for header in end_to_end(response.headers) if header[0] != REQUEST_ID]
        start = {"status": response.status_code, "headers": headers, "relayed": True}
        try:
            await send({"type": "http.response.start", **start})
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # flushes the head
            async for piece in connection.body():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except (OSError, h11.RemoteProtocolError) as error:
            # The reply stays incomplete, so the server also closes the client's connection.
            _log.warning("the api aborted a reply", reason=str(error))
            return
        finally:
            self._keep_or_close(connection)
        await send({"type": "http.response.body", "body": b""})

    async def check(self) -> None:
        """Raise OSError if the API doesn't respond."""
        host = ("Host", self._address[0] or "")
        request = h11.Request(method="GET", target=self._prefix + b"/healthz", headers=[host])
        try:
            connection, response = await self._ask(request, None)
            try:
                async for _ in connection.body():
                    pass
            finally:
                self._keep_or_close(connection)
        except h11.RemoteProtocolError as error:
            raise ConnectionError(f"the api's address does not speak HTTP: {error}") from error
        if response.status_code != HTTPStatus.OK:
            raise ConnectionError(f"the api's /healthz returned {response.status_code}")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _ask(self, request: h11.Request, body: Receive | None) -> tuple["_Connection", h11.Response]:
        """Send the request and return the reply's head. Raises OSError, h11.RemoteProtocolError."""
        # The API may close an idle connection just as we use it. The relay then repeats the request if that
        # is safe. All other requests get a new connection from the start.
        if body is None and request.method in REPEATABLE and (idle := self._idle_connection()):
            with contextlib.suppress(ConnectionError, h11.RemoteProtocolError):
                return idle, await idle.exchange(request, None)
        fresh = await self._connect()
        return fresh, await fresh.exchange(request, body)

    async def _connect(self) -> "_Connection":
        async with asyncio.timeout(CONNECT_SECONDS):
            streams = await asyncio.open_connection(*self._address, ssl=self._tls or None, limit=PIECE_BYTES)
        return _Connection(*streams)

    def _idle_connection(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    def _keep_or_close(self, connection: "_Connection") -> None:
        if len(self._idle) < MAX_IDLE and connection.is_ready_for_another():
            self._idle.append(connection)
        else:
            connection.close()


class _Connection:
    """A connection to the API that can read the reply while it sends the body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._idle_since = 0.0

    async def exchange(self, request: h11.Request, body: Receive | None) -> h11.Response:
        """Send until the reply starts. After that, the API doesn't need the rest of the body."""
        sending = asyncio.create_task(self._send_all(request, body))
        try:
            while not isinstance(event := await self._next_event(), h11.Response):
                pass  # skip informational replies
        except BaseException:
            self.close()
            raise
        finally:
            sending.cancel()
            await asyncio.wait([sending])
        return event

    async def body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next_event(), h11.Data):
            yield bytes(event.data)

    def is_usable(self) -> bool:
        return not self._reader.at_eof() and time.monotonic() - self._idle_since < IDLE_SECONDS

    def is_ready_for_another(self) -> bool:
        if {self._http.our_state, self._http.their_state} != {h11.DONE}:
            return False
        self._http.start_next_cycle()
        self._idle_since = time.monotonic()
        return True

    def close(self) -> None:
        self._writer.transport.abort()

    async def _send_all(self, request: h11.Request, body: Receive | None) -> None:
        with contextlib.suppress(ConnectionError):  # the API's reply says why it stopped reading
            await self._send(request)
            more = body is not None
            while body is not None and more:
                message = await body()
                if message["type"] == "http.disconnect":
                    self._break_off()
                    return
                await self._send(h11.Data(message["body"]))
                more = message.get("more_body", False)
            await self._send(h11.EndOfMessage())

    def _break_off(self) -> None:
        """End the request where the client ended it, but keep reading: it may have closed only its half."""
        if self._writer.can_write_eof():
            self._writer.write_eof()
        else:
            self.close()

    async def _send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            async with asyncio.timeout(SILENCE_SECONDS):
                self._http.receive_data(await self._reader.read(PIECE_BYTES))
        return event
