"""The HTTP server of the API and web, with a small app and raw sockets."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from prshots.contract.errors import RequestTimeoutError
from prshots.server.http import app_server, request_cycle, socket_server
from prshots.server.http.app_server import MAX_HEAD_BYTES, AppServer
from prshots.server.http.error_boundary import Message, Receive, Send
from support.waiting import HANGS_AFTER_SECONDS, eventually

GRACE_SECONDS = 20.0


class Echo:
    """Answers with what it received, or as the test's own handler does, as soon as it may."""

    def __init__(self) -> None:
        self.is_draining = self.is_closed = False
        self.may_begin = asyncio.Event()
        self.may_begin.set()
        self.handle: Callable[[Message, Receive, Send], Awaitable[None]] = self.echo

    def drain(self) -> None:
        self.is_draining = True

    async def close(self) -> None:
        self.is_closed = True

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self.may_begin.wait()
        await self.handle(scope, receive, send)

    async def echo(self, scope: Message, receive: Receive, send: Send) -> None:
        received, message = 0, {"more_body": True}
        while message.get("more_body"):
            message = dict(await receive())
            received += len(message.get("body", b""))
        seen: dict[str, Any] = {
            "method": scope["method"],
            "path": scope["path"],
            "raw_path": scope["raw_path"].decode(),
            "query": scope["query_string"].decode(),
            "headers": [f"{name.decode()}={value.decode()}" for name, value in scope["headers"]],
            "body": received,
            "end": message["type"],
        }
        headers = [(b"connection", b"close")] if self.is_draining else []
        await answer(send, json.dumps(seen).encode(), headers)


async def answer(send: Send, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    fields = [(b"content-length", str(len(body)).encode()), *(headers or [])]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": body})


class Reply:
    def __init__(self, head: bytes, body: bytes) -> None:
        line, *fields = head.decode("latin-1").split("\r\n")
        self.status = int(line.split(" ")[1])
        self.fields = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        self.body = body

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


class Peer:
    """A client that sends what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def reply(self, *, has_body: bool = True) -> Reply:
        async with asyncio.timeout(HANGS_AFTER_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n"))[:-4]
            reply = Reply(head, b"")
            if not has_body:
                return reply
            if reply.fields.get("transfer-encoding") == "chunked":
                while size := int(await self.reader.readline(), 16):
                    reply.body += (await self.reader.readexactly(size + 2))[:-2]
                await self.reader.readline()
            elif "content-length" in reply.fields:
                reply.body = await self.reader.readexactly(int(reply.fields["content-length"]))
            else:
                reply.body = await self.reader.read()
            return reply

    async def is_closed(self) -> bool:
        """Wait until the server closes."""
        async with asyncio.timeout(HANGS_AFTER_SECONDS):
            with contextlib.suppress(ConnectionResetError):
                return await self.reader.read() == b""
        return True


class Running:
    def __init__(self, server: AppServer, app: Echo, address: tuple[str, int]) -> None:
        self.server, self.app, self.address = server, app, address

    @contextlib.asynccontextmanager
    async def peer(self) -> AsyncIterator[Peer]:
        reader, writer = await asyncio.open_connection(*self.address)
        try:
            yield Peer(reader, writer)
        finally:
            writer.transport.abort()


@pytest.fixture
async def running(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    monkeypatch.setattr(socket_server, "TICK_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = Echo()
        server = AppServer(app, listener, getattr(request, "param", 1000), refuses_slow_bodies=True)
        server.start()
        yield Running(server, app, listener.getsockname())
        await server.stop(0)
        assert app.is_closed


def request(line: str, *fields: str, body: bytes = b"") -> bytes:
    return "\r\n".join([line, "Host: here", *fields, "", ""]).encode() + body


async def test_the_app_gets_the_whole_request(running: Running) -> None:
    async with running.peer() as peer:
        peer.send(request("POST /a%20b/%C3%BC?c=%20d HTTP/1.1", "X-Y: z", "Content-Length: 3", body=b"abc"))
        reply = await peer.reply()
    assert reply.json == {
        "method": "POST",
        "path": "/a b/ü",
        "raw_path": "/a%20b/%C3%BC",
        "query": "c=%20d",
        "headers": ["host=here", "x-y=z", "content-length=3"],
        "body": 3,
        "end": "http.request",
    }
    assert reply.status == 200
    assert {"date", "content-length"} == set(reply.fields)


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3_000_000])
async def test_bodies_of_any_size_arrive_whole_and_the_connection_stays(running: Running, size: int) -> None:
    async with running.peer() as peer:
        for _ in range(2):
            peer.send(request("POST / HTTP/1.1", f"Content-Length: {size}", body=bytes(size)))
            assert (await peer.reply()).json["body"] == size


async def test_requests_sent_at_once_are_answered_in_order(running: Running) -> None:
    async with running.peer() as peer:
        for number in range(200):  # more than are read ahead
            peer.send(
                request(f"GET /{number} HTTP/1.1", f"X: {'x' * 1000}")
                + request(f"POST /{number} HTTP/1.1", "Content-Length: 3", body=b"abc")
                + b"\r\n\r\n"  # some clients send blank lines after a body
            )
        replies = [(await peer.reply()).json for _ in range(400)]
    assert [(seen["path"], seen["body"]) for seen in replies] == [
        (f"/{number}", size) for number in range(200) for size in (0, 3)
    ]


async def test_a_chunked_body_ends_the_connection_and_trailers_are_ignored(running: Running) -> None:
    """What follows it could be a request that a proxy did not see."""
    smuggled = request("POST /smuggled HTTP/1.1", "Authorization: a", "Content-Length: 3", body=b"abc")
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n")
        await asyncio.sleep(0.01)
        peer.send(b"2\r\nde\r\n0\r\nAuthorization: trailer\r\n\r\n" + smuggled)
        reply = await peer.reply()
        assert (reply.json["path"], reply.json["body"], reply.json["end"]) == ("/", 5, "http.request")
        assert reply.json["headers"] == ["host=here", "transfer-encoding=chunked"]
        assert reply.fields["connection"] == "close"
        assert await peer.is_closed()


@pytest.mark.parametrize(
    ("fields", "body"),
    [(["Expect: 100-continue"], b""), ([], request("GET /smuggled HTTP/1.1"))],
    ids=["not sent", "sent"],
)
async def test_a_body_that_the_app_does_not_read_ends_the_connection(
    running: Running, fields: list[str], body: bytes
) -> None:
    running.app.handle = lambda _scope, _receive, send: answer(send, b"no")
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", "Content-Length: 300000", *fields, body=body))
        reply = await peer.reply()
        assert (reply.status, reply.body, reply.fields["connection"]) == (200, b"no", "close")
        peer.send(bytes(100_000))
        assert await peer.is_closed()


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("GET / HTTP/1.1", ["Connection: close"]),
        ("GET / HTTP/1.0", []),
        ("GET / HTTP/1.0", ["Connection: keep-alive"]),
        ("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket"]),
    ],
)
async def test_the_reply_says_that_the_connection_ends(
    running: Running, line: str, fields: list[str]
) -> None:
    async with running.peer() as peer:
        peer.send(request(line, *fields))
        assert (await peer.reply()).fields["connection"] == "close"
        assert await peer.is_closed()


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        (b"nonsense\r\n\r\n", 400, "bad request"),
        (b"GET /" + b"x" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n", 414, "uri too long"),
        (request("GET / HTTP/1.1", f"X: {'x' * MAX_HEAD_BYTES}"), 431, "request header fields too large"),
        (request("POST / HTTP/1.1", "Transfer-Encoding: gzip"), 501, "transfer coding not supported"),
    ],
)
async def test_a_refused_head_gets_a_readable_error_and_the_connection_closes(
    running: Running, data: bytes, status: int, message: str
) -> None:
    async with running.peer() as peer:
        peer.send(data)
        reply = await peer.reply()
        assert (reply.status, reply.fields["connection"], reply.json) == (status, "close", {"error": message})
        assert await peer.is_closed()


@pytest.mark.parametrize(("version", "encoding"), [("1.1", "chunked"), ("1.0", None)])
async def test_a_reply_of_unknown_length_is_chunked_or_ends_with_the_connection(
    running: Running, version: str, encoding: str | None
) -> None:
    async def stream(_scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in (b"a" * 1_000_000, b"", b"b"):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    running.app.handle = stream
    async with running.peer() as peer:
        peer.send(request(f"GET / HTTP/{version}"))
        reply = await peer.reply()
    assert reply.fields.get("transfer-encoding") == encoding
    assert reply.body == b"a" * 1_000_000 + b"b"


async def test_replies_to_head_and_304_have_no_body(running: Running) -> None:
    async def not_modified(_scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 304, "headers": [(b"etag", b"1")]})
        await send({"type": "http.response.body", "body": b""})

    async with running.peer() as peer:
        peer.send(request("HEAD / HTTP/1.1"))
        assert int((await peer.reply(has_body=False)).fields["content-length"]) > 0
        running.app.handle = not_modified
        peer.send(request("GET / HTTP/1.1"))
        reply = await peer.reply(has_body=False)
        assert (reply.status, "content-length" in reply.fields) == (304, False)
        running.app.handle = running.app.echo
        peer.send(request("GET /next HTTP/1.1"))
        assert (await peer.reply()).json["path"] == "/next"


async def test_an_app_that_streams_learns_that_the_client_has_left(running: Running) -> None:
    has_left = asyncio.Event()

    async def stream(_scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"1", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        has_left.set()
        await send({"type": "http.response.body", "body": b"2", "more_body": True})  # to nobody

    running.app.handle = stream
    async with running.peer() as peer:
        peer.send(request("GET / HTTP/1.1"))
        await peer.reader.readuntil(b"1\r\n1\r\n")
    await eventually(has_left.is_set, "the app to learn it")


async def test_a_reply_that_the_app_does_not_finish_is_cut_off(running: Running) -> None:
    async def fail(_scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        await send({"type": "http.response.body", "body": b"12", "more_body": True})
        raise RuntimeError("halfway")

    running.app.handle = fail
    async with running.peer() as peer:
        peer.send(request("GET / HTTP/1.1"))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await peer.reply()


async def test_a_header_with_a_line_break_is_never_sent(running: Running) -> None:
    running.app.handle = lambda _scope, _receive, send: answer(send, b"", [(b"x", b"1\r\nset-cookie: a=b")])
    async with running.peer() as peer:
        peer.send(request("GET / HTTP/1.1"))
        assert await peer.is_closed()


async def test_a_receive_that_was_cancelled_loses_nothing(running: Running) -> None:
    async def impatient(scope: Message, receive: Receive, send: Send) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await receive()
        await running.app.echo(scope, receive, send)

    running.app.handle = impatient
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", "Content-Length: 3"))
        await asyncio.sleep(0.2)
        peer.send(b"abc")
        assert (await peer.reply()).json["body"] == 3


async def test_a_body_is_read_only_as_fast_as_the_app_takes_it(running: Running) -> None:
    running.app.may_begin.clear()
    size = 50_000_000  # far more than the kernel's buffers take
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", f"Content-Length: {size}", body=bytes(size)))
        await asyncio.sleep(0.3)
        unsent = peer.writer.transport.get_write_buffer_size()
        assert unsent > size / 2
        running.app.may_begin.set()
        assert (await peer.reply()).json["body"] == size


@pytest.mark.parametrize("data", [b"", b"GET / HT", b"\r\n"])
async def test_a_client_that_sends_no_head_is_closed(
    running: Running, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_server, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(app_server, "IDLE_SECONDS", 0.1)
    async with running.peer() as peer:
        peer.send(data)
        assert await peer.is_closed()


async def test_a_client_that_stops_reading_is_closed(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_server, "STALLED_SECONDS", 0.1)
    running.app.handle = lambda _scope, _receive, send: answer(send, bytes(50_000_000))
    with socket.create_connection(running.address) as client:
        client.sendall(request("GET / HTTP/1.1"))
        await eventually(lambda: running.server._connections, "the connection")
        await eventually(lambda: not running.server._connections, "its end")


@pytest.mark.parametrize("running", [2], indirect=True)
async def test_more_connections_than_allowed_wait_until_one_closes(running: Running) -> None:
    async with running.peer() as first, running.peer() as second, running.peer() as third:
        for peer in (first, second, third):
            peer.send(request("GET / HTTP/1.1"))
        assert [(await peer.reply()).status for peer in (first, second)] == [200, 200]
        waiting = asyncio.create_task(third.reply())
        await asyncio.wait([waiting], timeout=0.3)
        assert not waiting.done()
        first.writer.close()
        assert (await waiting).status == 200


async def test_stopping_finishes_requests_in_progress_and_closes_idle_connections(running: Running) -> None:
    async with running.peer() as idle, running.peer() as busy:
        idle.send(request("GET / HTTP/1.1"))
        await idle.reply()
        running.app.may_begin.clear()
        busy.send(request("GET / HTTP/1.1"))
        await asyncio.sleep(0.1)
        stopping = asyncio.create_task(running.server.stop(GRACE_SECONDS))
        assert await idle.is_closed()
        assert not stopping.done()
        running.app.may_begin.set()
        assert (await busy.reply()).fields["connection"] == "close"
        busy.writer.close()
        await stopping


async def test_after_the_grace_period_the_rest_is_cut_off(running: Running) -> None:
    running.app.handle = lambda _scope, _receive, _send: asyncio.sleep(HANGS_AFTER_SECONDS)
    async with running.peer() as peer:
        peer.send(request("GET / HTTP/1.1"))
        await asyncio.sleep(0.1)
        await running.server.stop(0.1)
        assert await peer.is_closed()


@pytest.mark.parametrize("chunk", [b"a", b"1\r\na\r\n"], ids=["length", "chunked"])
async def test_a_body_that_becomes_too_slow_is_a_timeout(
    running: Running, chunk: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_cycle, "SLOW_SECONDS", 0.5)

    async def refuse(scope: Message, receive: Receive, send: Send) -> None:
        try:
            await running.app.echo(scope, receive, send)
        except RequestTimeoutError as error:
            await answer(send, str(error).encode())

    running.app.handle = refuse
    framing = "Content-Length: 1000000" if chunk == b"a" else "Transfer-Encoding: chunked"
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", framing))
        peer.send(chunk * 200_000 if chunk == b"a" else b"30d40\r\n" + b"a" * 200_000 + b"\r\n")
        reply = asyncio.create_task(peer.reply())
        while not reply.done():
            peer.send(chunk)
            await asyncio.sleep(0.05)
        assert ((await reply).body, (await reply).fields["connection"]) == (
            b"request body timed out",
            "close",
        )


async def test_the_time_that_the_app_takes_does_not_make_a_body_slow(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_cycle, "SLOW_SECONDS", 0.5)
    running.app.may_begin.clear()
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", "Content-Length: 3"))
        await asyncio.sleep(0.7)
        running.app.may_begin.set()
        await asyncio.sleep(0.1)
        peer.send(b"abc")
        assert (await peer.reply()).json["body"] == 3


async def test_trailers_without_an_end_are_given_up(running: Running) -> None:
    async with running.peer() as peer:
        peer.send(request("POST / HTTP/1.1", "Transfer-Encoding: chunked") + b"1\r\na\r\n0\r\nX: ")
        for _ in range(20):
            peer.send(b"x" * 4096)
            await asyncio.sleep(0)
        assert (await peer.reply()).json["end"] == "http.disconnect"
