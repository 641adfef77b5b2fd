"""The client of the drills notices a server that closes, hangs or answers only some of several requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from drills import exchange
from drills.exchange import ClosedError, HungError, KeptConnection, send_alone

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
REQUEST = (b"GET / HTTP/1.1\r\n\r\n", False)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_replies_are_read_in_order_over_one_connection() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for reply in (OK, CHUNKED, OK):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(reply)
        await reader.read()

    async with serving(serve) as port:
        connection = KeptConnection(port)
        replies = await connection.ask([REQUEST] * 3)
        await connection.close()
    assert [(reply.status, reply.body) for reply in replies] == [(200, b"ok"), (404, b"abc"), (200, b"ok")]
    assert connections == 1


async def test_requests_behind_a_closed_connection_are_sent_again() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))

    async with serving(serve) as port:
        assert [reply.status for reply in await KeptConnection(port).ask([REQUEST] * 3)] == [200] * 3


async def test_a_request_without_a_reply_is_named() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"bad" not in await reader.readuntil(b"\r\n\r\n"):
            writer.write(OK)
            await reader.readuntil(b"\r\n\r\n")

    async with serving(serve) as port:
        with pytest.raises(ClosedError) as caught:
            await KeptConnection(port).ask([REQUEST, (b"GET /bad HTTP/1.1\r\n\r\n", False), REQUEST])
    assert caught.value.number == 1


async def test_a_server_that_hangs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ANSWER_SECONDS", 0.2)
    is_over = asyncio.Event()

    async def serve(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await is_over.wait()

    async with serving(serve) as port:
        with pytest.raises(HungError):
            await KeptConnection(port).ask([REQUEST])
        with pytest.raises(HungError):
            await send_alone(port, b"GET / HTTP/1.1\r\n")
        is_over.set()
        await asyncio.sleep(0)  # the handlers end
