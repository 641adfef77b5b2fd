"""One request to the API or web and its reply, from the app's view: uvicorn's cycle, with our limits."""

import asyncio
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httptools
import structlog
from uvicorn._types import ASGI3Application, ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from prshots.contract.errors import RequestTimeoutError

SLOWEST_BYTES_PER_SECOND = 4 * 1024
SLOW_SECONDS = 15.0
"""Each time the app has waited this long for a body, the body must have arrived at this rate meanwhile."""

OLD_VERSION = "1.0"
_NOT_WAITING = float("inf")

_log = structlog.get_logger()


class _ReplyTransport:
    """The transport of a reply. Closing it makes the connection linger before it closes."""

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self.write, self.is_closing = transport.write, transport.is_closing
        self.close = linger


class RequestCycle(RequestResponseCycle):
    def __init__(
        self,
        connection: HttpToolsProtocol,
        method: str,
        version: str,
        *,
        close: Callable[[], None],
        linger: Callable[[], None],
        keep_alive: bool,
    ) -> None:
        url = httptools.parse_url(connection.url)
        path = url.path.decode("ascii")
        scope: Any = connection.scope | {
            "method": method,
            "http_version": version,
            "path": unquote(path) if "%" in path else path,
            "raw_path": url.path,
            "query_string": url.query or b"",
        }
        transport: Any = _ReplyTransport(connection.transport, linger)
        super().__init__(
            scope=scope,
            transport=transport,
            flow=connection.flow,
            logger=connection.logger,
            access_logger=connection.access_logger,
            access_log=False,
            default_headers=connection.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=connection.expect_100_continue and version != OLD_VERSION,
            keep_alive=keep_alive,
            on_response=connection.on_response_complete,
        )
        self.body: Any = b""  # adding to empty bytes copies nothing
        self._close = close
        self._is_told = False  # the app has received the end of the body
        self._has_left = False  # the client has stopped sending: it disconnected, or it only reads the reply
        self._is_too_slow = False
        self._ends_with_connection = False  # marks the end of the reply, because HTTP/1.0 has no chunks
        self._received_bytes, self._waited = 0, 0.0
        self._waits_since = _NOT_WAITING

    async def run_asgi(self, app: ASGI3Application) -> None:
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001 - nothing else would log it
            _log.exception("internal error")
        self.on_response = lambda: None
        if not self.response_complete:  # the client must notice that the reply is incomplete
            self._close()

    # The request

    def leave(self) -> None:
        """Record that the client has stopped sending, before or after the end of the body."""
        self._has_left = True
        self.message_event.set()

    async def receive(self) -> ASGIReceiveEvent:
        if self._has_left and (self._is_told or (self.more_body and not self.body)):
            return {"type": "http.disconnect"}
        self._waits_since = time.monotonic()
        try:
            message = await super().receive()
            self.body = self.body or b""
        finally:
            self._waited += time.monotonic() - self._waits_since
            self._waits_since = _NOT_WAITING
        if message["type"] != "http.request":
            return message
        if self._is_too_slow and message["more_body"]:
            raise RequestTimeoutError("request body timed out")
        if self._is_told or (message["more_body"] and not message["body"]):  # `leave` woke this task
            return {"type": "http.disconnect"}
        self._received_bytes += len(message["body"])
        self._is_told = not message["more_body"]
        return message

    def check_pace(self) -> None:
        """Give up on a body that arrives too slowly."""
        now = time.monotonic()
        waited = self._waited + max(0.0, now - self._waits_since)
        if not self.more_body or waited <= SLOW_SECONDS:
            return
        if self._received_bytes < waited * SLOWEST_BYTES_PER_SECOND:
            self._is_too_slow = True
            self.message_event.set()
        self._received_bytes, self._waited = 0, 0.0
        self._waits_since = max(self._waits_since, now)

    # The reply

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            if self.more_body:  # otherwise the rest of the body would look like the next request
                self.keep_alive = False
            names = {name for name, _ in message.get("headers", ())}
            if b"date" in names:
                self.default_headers = []
            if self.scope["http_version"] == OLD_VERSION and b"content-length" not in names:
                self._ends_with_connection, self.chunked_encoding = True, False
        elif message["type"] == "http.response.body" and self._ends_with_connection:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)
