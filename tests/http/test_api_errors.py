"""Request ids, internal errors, and request bodies that are read to the end before a refusal."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import NoReturn

import pytest
import structlog
from starlette.exceptions import HTTPException
from structlog.contextvars import merge_contextvars

from prshots.contract import errors
from prshots.server.http import error_boundary
from prshots.server.http.error_boundary import ErrorBoundary, Message, Receive, Send, error_reply
from prshots.server.http.readiness import Readiness


class Client:
    """The server's side of one request: delivers a body piece by piece, and records the reply."""

    def __init__(self, pieces: list[bytes], *headers: tuple[bytes, bytes], stops_early: bool = False) -> None:
        self.unread, self.stops_early = pieces, stops_early
        self.scope = {"type": "http", "method": "POST", "path": "/", "headers": list(headers)}
        self.unread_at_reply: int | None = None
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        if not self.unread:
            await asyncio.sleep(3600)  # the client has stopped sending
        body = self.unread.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self.unread) or self.stops_early}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.start":
            self.unread_at_reply = len(self.unread)

    async def ask(self, edge: ErrorBoundary) -> None:
        async with asyncio.timeout(5):
            await edge(self.scope, self.receive, self.send)

    @property
    def reply(self) -> tuple[int, dict[str, str]]:
        return self.sent[0]["status"], json.loads(self.sent[1]["body"])


def refusing_with(status: int, *, after: int = 0) -> Callable[..., Awaitable[None]]:
    async def app(_: Message, receive: Receive, send: Send) -> None:
        for _ in range(after):
            await receive()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


LENGTH = (b"content-length", b"300")


@pytest.mark.parametrize("begun", [0, 1])
async def test_a_refused_body_is_read_to_the_end_before_the_reply(begun):
    client = Client([b"x" * 100] * 3, LENGTH)
    await client.ask(ErrorBoundary(refusing_with(413, after=begun)))
    assert client.unread_at_reply == 0


async def test_with_expect_100_continue_the_refusal_does_not_wait_for_the_body():
    client = Client([b"x" * 100] * 3, LENGTH, (b"expect", b"100-Continue"))
    await client.ask(ErrorBoundary(refusing_with(413)))
    assert client.unread_at_reply == 3


async def test_a_408_reply_does_not_wait_for_the_body_again():
    client = Client([b"x"], LENGTH, stops_early=True)
    await client.ask(ErrorBoundary(refusing_with(408, after=1)))
    assert client.unread_at_reply == 0


async def answered(edge: ErrorBoundary, *headers: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Send a request with these headers. Return the headers of the reply."""
    client = Client([], *headers)
    await client.ask(edge)
    return list(client.sent[0]["headers"])


@pytest.mark.parametrize("given", [b"8-chars.", b"A" * 64, b"0_9.z-Z-"])
async def test_a_valid_request_id_is_kept(given):
    assert await answered(ErrorBoundary(refusing_with(404)), (b"x-request-id", given)) == [
        (b"x-request-id", given),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
    ]


@pytest.mark.parametrize(
    "given",
    [
        [],
        [b"7-chars"],
        [b"A" * 65],
        [b"with space"],
        [b"\xc3\xa9" * 8],
        [b"twice-12"] * 2,
    ],
)
async def test_a_missing_or_invalid_request_id_is_replaced(given):
    seen: list[list[bytes]] = []

    async def app(scope, receive, send):
        seen.append([value for name, value in scope["headers"] if name == b"x-request-id"])
        await refusing_with(404)(scope, receive, send)

    ((name, value), *_) = await answered(ErrorBoundary(app), *((b"x-request-id", each) for each in given))
    assert (name, len(value)) == (b"x-request-id", 16)
    assert seen == [[value]]  # the app sees the same id


@pytest.mark.parametrize(
    ("given", "trace_id"),
    [
        (b"00-" + b"5e" * 16 + b"-" + b"7a" * 8 + b"-01", "5e" * 16),
        (b"cc-" + b"5e" * 16 + b"-" + b"7a" * 8 + b"-01-later-version", "5e" * 16),
        (b"00-" + b"5E" * 16 + b"-" + b"7a" * 8 + b"-01", None),
        (b"00-\n\x1b", None),
    ],
)
async def test_log_lines_name_the_trace(given, trace_id):
    async def app(*_):
        bound.append(structlog.contextvars.get_contextvars())

    bound: list[dict[str, str]] = []
    with contextlib.suppress(IndexError):
        await answered(ErrorBoundary(app), (b"traceparent", given))
    assert bound[0].get("trace_id") == trace_id


async def test_draining_closes_connections_and_fails_readiness():
    readiness = Readiness({})
    edge = ErrorBoundary(refusing_with(404), readiness)
    assert (b"connection", b"close") not in await answered(edge)
    edge.drain()
    assert (b"connection", b"close") in await answered(edge)
    assert (await readiness.report())[0] == 503


async def test_every_request_is_observed_once_even_when_it_is_cancelled():
    told: list[tuple[int, float]] = []

    async def goes_away(*_):
        raise asyncio.CancelledError

    for app in (refusing_with(404), goes_away):
        edge = ErrorBoundary(app, observe=lambda _: lambda *end: told.append(end))
        with contextlib.suppress(asyncio.CancelledError, IndexError):
            await answered(edge)
    assert [status for status, _ in told] == [404, 499]
    assert all(seconds >= 0 for _, seconds in told)


def kinds(base: type[errors.PrshotsError]) -> set[type[errors.PrshotsError]]:
    return {base}.union(*map(kinds, base.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(kinds(errors.PrshotsError), key=str))
def test_only_errors_meant_for_clients_expose_their_message(kind):
    told = (
        (errors.Refusal.LINK_USED, "said inside") if kind is errors.SignInRefusedError else ("said inside",)
    )
    status, message, _ = error_reply(kind(*told))
    is_for_clients = status < 500 or kind in {
        errors.BusyError,
        errors.ExpireFailedError,
        errors.QuotaReachedError,
    }
    assert ("said inside" in message) == is_for_clients


class Unspeakable(Exception):  # noqa: N818 - it only stands for an error that cannot be described
    def __str__(self) -> str:
        raise ZeroDivisionError


def failing_with(error: Exception) -> Callable[..., Awaitable[None]]:
    async def app(*_: object) -> NoReturn:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (errors.InvalidInputError("not \ud800"), 400, "not \\ud800"),
        (errors.StoreError("\udfff"), 503, "storage unavailable, retry later"),
        (ZeroDivisionError("a secret, \ud800"), 500, "internal error"),
        (Unspeakable(), 500, "internal error"),
        (HTTPException(404, detail="\ud800"), 404, "\\ud800"),
        (HTTPException(799), 500, "internal error"),
    ],
)
async def test_any_error_is_answered_and_logged(error: Exception, status: int, message: str) -> None:
    client = Client([])
    client.scope["path"] = "/\ud800"
    with structlog.testing.capture_logs(processors=[merge_contextvars]) as logged:
        await client.ask(ErrorBoundary(failing_with(error)))
    assert client.reply == (status, {"error": message})
    request_id = dict(client.sent[0]["headers"])[b"x-request-id"].decode()
    assert [(line["log_level"], line["request_id"]) for line in logged] == [("error", request_id)] * (
        status >= 500
    )


async def test_a_log_that_fails_does_not_stop_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_boundary, "_log", None)
    client = Client([])
    await client.ask(ErrorBoundary(failing_with(ZeroDivisionError())))
    assert client.reply == (500, {"error": "internal error"})
