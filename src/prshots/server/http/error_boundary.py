"""The outermost layer of the API and the web component: request ids, and the table of error replies."""

import asyncio
import contextlib
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import structlog
from starlette.exceptions import HTTPException

from prshots.contract import errors
from prshots.server.http.json_response import JSONResponse
from prshots.server.http.readiness import Readiness
from prshots.server.http.request_grammar import REQUEST_ID_VALUE

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Observe = Callable[[Message], Callable[[int, float], None]]
"""Called when a request begins. Returns what to call at its end, with its status and duration in seconds."""

STATUS: dict[type[errors.PrshotsError], int] = {
    errors.PrshotsError: 500,  # errors that a request should never cause
    errors.InvalidInputError: 400,
    errors.UnauthorizedError: 401,
    errors.ForbiddenError: 403,
    errors.SignInRefusedError: 403,
    errors.NotFoundError: 404,
    errors.RequestTimeoutError: 408,
    errors.ConflictError: 409,
    errors.PayloadTooLargeError: 413,
    errors.UnsupportedTypeError: 415,
    errors.RateLimitedError: 429,
    errors.BusyError: 503,
    errors.ExpireFailedError: 503,
    errors.KeysError: 503,
    errors.ProviderError: 503,
    errors.StoreError: 503,
    errors.StoreFullError: 507,
    errors.RecordsError: 503,
    errors.RecordsFullError: 507,
    errors.QuotaReachedError: 507,
}
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    429: {"Retry-After": "60"},
    503: {"Retry-After": "5"},
    507: {"Retry-After": "60"},
}
# Internal reasons go to the log. The client only learns what to do.
PUBLIC_MESSAGE: dict[type[errors.PrshotsError], str] = {
    errors.PrshotsError: "internal error",
    errors.KeysError: "signing keys unavailable, retry later",
    errors.ProviderError: "issuer unavailable, retry later",
    errors.StoreError: "storage unavailable, retry later",
    errors.StoreFullError: "storage full, retry later",
    errors.RecordsError: "database unavailable, retry later",
    errors.RecordsFullError: "storage full, retry later",
}

DRAIN_SECONDS = 2.0
"""How long to read the rest of a refused body. This is enough for a client that sends without pauses."""

NO_REPLY = 499
"""The status in metrics and logs if the client disconnects before the reply, as in nginx."""

MAX_PATH_CHARACTERS = 200
REQUEST_ID = b"x-request-id"

_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|\Z)")
_log = structlog.get_logger()


def error_reply(error: errors.PrshotsError) -> tuple[int, str, dict[str, str]]:
    """Return the status, message and headers that a client receives for a prshots error."""
    kind = next(base for base in type(error).__mro__ if base in STATUS)
    status = STATUS[kind]
    message = PUBLIC_MESSAGE.get(kind)
    if error.count_request:
        error.count_request()
    elif message:
        _log.error(message, status=status, reason=str(error))
    is_lasting = kind is errors.QuotaReachedError  # waiting frees no space
    return status, message or str(error), {} if is_lasting else HEADERS.get(status, {})


async def _nothing_to_close() -> None:
    pass


class ErrorBoundary:
    """Wraps an app: gives each request an id, turns errors into replies, and reads refused bodies to the end.

    Most clients send the whole body before they read anything. If the server replied early and closed the
    connection, they would get a broken pipe instead of the reply. A client with `Expect: 100-continue` hasn't
    sent its body yet, so it gets the reply immediately.
    """

    def __init__(
        self,
        app: App,
        readiness: Readiness | None = None,
        observe: Observe = lambda _scope: lambda _status, _seconds: None,
        close: Callable[[], Awaitable[None]] = _nothing_to_close,
        start: Callable[[], None] = lambda: None,
    ) -> None:
        """`start` begins the work that needs no request. Call it on the running event loop."""
        self._app, self._observe = app, observe
        self.close, self.start = close, start
        self._readiness = readiness or Readiness({})

    def drain(self) -> None:
        """Announce the shutdown: `/readyz` fails, and each reply closes its connection."""
        self._readiness.is_stopping = True

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        request_id = _take_request_id(scope)
        body = scope[_BODY] = _Body(scope, receive)
        added: list[tuple[bytes, bytes]] = []
        scope[_ADDED] = added
        status = 0
        end = self._observe(scope)

        async def send_finished(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status != STATUS[errors.RequestTimeoutError]:  # a timeout has already waited for the body
                    await body.drain(DRAIN_SECONDS)
                closing = [(b"connection", b"close")] if self._readiness.is_stopping else []
                secure = () if message.get("relayed") else _SECURITY_HEADERS  # the API has added its own
                others = (*added, (REQUEST_ID, request_id), *closing, *secure)
                message["headers"] = [*message.get("headers", ()), *others]
            await send(message)

        # Each request runs in its own task, so the bound ids apply only to this request.
        structlog.contextvars.bind_contextvars(request_id=request_id.decode(), **_trace(scope))
        scope["app"] = self  # makes the router raise 404 and 405 errors instead of replying in plain text
        try:
            await self._app(scope, body.receive, send_finished)
        except Exception as error:  # noqa: BLE001 - the only place that turns an error into a reply
            reply = _reply_to(error, scope)
            if not status:
                await reply(scope, body.receive, send_finished)
        finally:
            end(status or NO_REPLY, time.perf_counter() - began)


def _take_request_id(scope: Message) -> bytes:
    """Return the request's id.

    If it has none, create one and add it to the headers for the next component.
    """
    given = [value for name, value in scope["headers"] if name == REQUEST_ID]
    if len(given) == 1 and REQUEST_ID_VALUE.fullmatch(given[0]):
        return bytes(given[0])
    created = f"{random.getrandbits(64):016x}".encode()
    others = [header for header in scope["headers"] if header[0] != REQUEST_ID]
    scope["headers"] = [*others, (REQUEST_ID, created)]
    return created


def _trace(scope: Message) -> dict[str, str]:
    """Return the trace that the request belongs to, if its W3C `traceparent` names one."""
    parents = [value for name, value in scope["headers"] if name == b"traceparent"]
    found = _TRACEPARENT.match(parents[0]) if parents else None
    return {"trace_id": found[1].decode()} if found else {}


def path_for_log(scope: Message) -> str:
    """Return the percent-encoded path without the query, so clients can't inject log lines."""
    return quote(scope["path"][:MAX_PATH_CHARACTERS], errors="backslashreplace")


def _reply_to(error: Exception, scope: Message) -> JSONResponse:
    """Return the reply to an error. Never raises, because nothing else would reply or log the error."""
    try:
        return _describe(error, scope)
    except Exception as second:  # noqa: BLE001 - the last safeguard
        with contextlib.suppress(Exception):
            _log.error("internal error", error=type(error).__name__, while_replying=type(second).__name__)
        return JSONResponse({"error": "internal error"}, 500, {"Cache-Control": "no-store"})


def _describe(error: Exception, scope: Message) -> JSONResponse:
    headers: Mapping[str, str] | None
    match error:
        case errors.PrshotsError():
            status, message, headers = error_reply(error)
        case HTTPException():
            status, message, headers = error.status_code, error.detail, error.headers
            if message == HTTPStatus(status).phrase:  # such as "Not Found"
                message = message.lower()
        case _:
            _log.error("internal error", method=scope["method"], path=path_for_log(scope), exc_info=error)
            status, message, headers = 500, "internal error", None
    # A message may quote the client's input, and half of a surrogate pair can't be encoded.
    message = message.encode(errors="backslashreplace").decode()
    return JSONResponse({"error": message}, status, {"Cache-Control": "no-store", **(headers or {})})


class _Body:
    """Tracks whether the request's body has been read to the end."""

    def __init__(self, scope: Message, receive: Receive) -> None:
        headers = {name: value for name, value in scope["headers"] if name in _BODY_HEADERS}
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        self._receive = receive
        self.ended = not has_body
        self._asks_first = headers.get(b"expect", b"").lower() == b"100-continue"
        self._begun = False

    async def receive(self) -> Message:
        self._begun = True
        message = await self._receive()
        self.ended = not message.get("more_body")
        return message

    async def drain(self, seconds: float) -> None:
        if self.ended or (self._asks_first and not self._begun):
            return
        until = time.monotonic() + seconds  # a steady sender would never trigger the timeout
        try:
            async with asyncio.timeout(seconds):
                while not self.ended and time.monotonic() < until:
                    await self.receive()
        except TimeoutError:
            pass
        self.ended = True


def add_reply_headers(scope: Message, headers: Mapping[str, str]) -> None:
    """Send these headers with the reply to this request, even if it is an error."""
    scope[_ADDED] += [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def leave_body_unread(scope: Message) -> None:
    """Send the reply immediately, without reading the rest of the body."""
    body: _Body = scope[_BODY]
    body.ended = True


async def discard_body(scope: Message, seconds: float) -> None:
    """Read and discard the rest of the request's body."""
    body: _Body = scope[_BODY]
    await body.drain(seconds)


_SECURITY_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY"))
_BODY = "prshots.body"
_ADDED = "prshots.reply_headers"
_BODY_HEADERS = {b"content-length", b"transfer-encoding", b"expect"}
