"""A request means the same however its head is split: every request, split after three bytes and after every other."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from prshots.contract.object_names import origin_key
from prshots.server.adapters.keys import FixedKeys
from prshots.server.adapters.objects.disk import DiskReader
from prshots.server.delivery.decision import Delivery
from prshots.server.delivery.server import DeliveryServer
from prshots.server.http.app_server import AppConnection, AppServer
from prshots.server.http.error_boundary import Message, Receive, Send
from support.delivery_sockets import EXP, RING
from support.hostile_requests import HOSTILE

HOST = "Host: localhost\r\nUser-Agent: a client\r\n"
LONGEST = 2000
"""The longest request to split, in bytes. The few of 40 KB test a size limit, and splitting them takes a minute."""

TURNS = 100
"""How often the event loop may turn until a small app has answered."""


class Recorder:
    """An app that answers with all that it was told."""

    def drain(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body, message = b"", {"more_body": True}
        while message.get("more_body"):
            message = dict(await receive())
            body += message.get("body", b"")
        told = {
            name: str(scope[name]) for name in ("method", "path", "query_string", "headers", "http_version")
        }
        answer = json.dumps(told | {"body": str(body), "end": message["type"]}).encode()
        head = [(b"content-length", str(len(answer)).encode()), (b"date", b"today")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": answer})


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_ended = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def write_eof(self) -> None:
        self.is_ended = True

    close = abort = write_eof

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading

    def get_write_buffer_size(self) -> int:
        return 0


def ordinary() -> list[bytes]:
    """Return requests as clients send them, without a body and with each kind of body."""
    secret = "Authorization: Bearer prs_0123456789\r\nCookie: a=b; c=d\r\n"
    length = "Content-Type: application/json\r\nContent-Length: 2\r\n"
    chunked = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"
    # The server once read this as a DELETE, if it came in three pieces.
    requests = [f"GET /v1/images/{'0' * 32} HTTP/1.1\r\n{HOST}X: DELETE y\r\n\r\n".encode()]
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
        line = f"{method} /v1/images/{'0' * 32}?c=%20d HTTP/1.1\r\n"
        requests += [f"{line}{HOST}{secret}\r\n".encode(), f"{line}{HOST}{length}\r\n{{}}".encode()]
        requests += [f"{line}{HOST}{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n".encode()]
    return requests


def hostile() -> list[bytes]:
    return [one.raw for one in HOSTILE if len(one.raw) <= LONGEST]


def pieces(raw: bytes, at: int) -> list[bytes]:
    first = min(at, len("GET"))
    return [piece for piece in (raw[:first], raw[first:at], raw[at:]) if piece]


def ends_of_heads(raw: bytes) -> int:
    """Return up to where a request is split: a little beyond its head."""
    return min(len(raw), raw.find(b"\r\n\r\n") + 8) if b"\r\n\r\n" in raw else len(raw)


@pytest.mark.parametrize("requests", [ordinary, hostile])
def test_api_and_web_read_a_split_head_as_a_whole_one(requests: Callable[[], list[bytes]]) -> None:
    async def replies(server: AppServer, raw: bytes, at: int) -> tuple[bytes, bool]:
        connection, wire = AppConnection(server, server._config, server._state), Wire()
        connection.connection_made(wire)
        for piece in pieces(raw, at):
            connection.data_received(piece)
        connection.eof_received()
        for _ in range(TURNS):
            if not connection.in_progress:
                break
            await asyncio.sleep(0)
        return wire.written, wire.is_ended

    async def compare() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = AppServer(Recorder(), listener, 10, refuses_slow_bodies=False)
            server.start()
            server._state.default_headers = []
            server._timers["tick"].cancel()  # or it would set the date again
            server.date_field = ""
            for raw in requests():
                whole = await replies(server, raw, 0)
                for at in range(1, ends_of_heads(raw)):
                    assert await replies(server, raw, at) == whole, (raw[:at], raw[at:])
            await server.stop(0)

    uvloop.run(compare())


def signed(folder: Path) -> list[bytes]:
    """Return requests for an image, which is in the folder."""
    image_id = "00112233445566778899aabbccddeeff"
    path = folder / origin_key(image_id, "png")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"image")
    target = RING.sign(image_id, "png", EXP, "k1")
    fields = ["", "Range: bytes=1-2\r\n", f'If-None-Match: "{image_id}"\r\n', "Connection: close\r\n"]
    lines = [f"GET {target} HTTP/1.{minor}\r\n" for minor in (0, 1)]
    others = [f"{method} {target} HTTP/1.1\r\n{HOST}\r\n".encode() for method in ("HEAD", "DELETE")]
    return [*others, *(f"{line}{HOST}{field}\r\n".encode() for line in lines for field in fields)]


@pytest.mark.parametrize("requests", [signed, lambda _: hostile()], ids=["signed", "hostile"])
def test_delivery_reads_a_split_head_as_a_whole_one(
    tmp_path: Path, requests: Callable[[Path], list[bytes]]
) -> None:
    def replies(server: DeliveryServer, raw: bytes, at: int) -> tuple[bytes, bool]:
        ours, theirs = socket.socketpair()
        connection = server.connect(ours)
        server.loop.remove_reader(ours)  # the test says when it reads
        for piece in pieces(raw, at):
            theirs.sendall(piece)
            connection._on_readable()
        theirs.setblocking(False)
        received, is_last = b"", connection._is_lingering
        with contextlib.closing(theirs), contextlib.suppress(BlockingIOError):
            received = theirs.recv(65536)
        connection.close()
        return received, is_last

    async def compare() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = DeliveryServer(Delivery(DiskReader(tmp_path), FixedKeys(RING), 3600), listener)
            server.start()
            server._timers["tick"].cancel()  # or it would set the date again
            server.date_field = ""
            for raw in requests(tmp_path):
                whole = replies(server, raw, 0)
                for at in range(1, ends_of_heads(raw)):
                    assert replies(server, raw, at) == whole, (raw[:at], raw[at:])
            await server.stop(0)

    uvloop.run(compare())
