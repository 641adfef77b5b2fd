"""The web component passes requests to the API and replies back: complete, unchanged and as they arrive.

The API here is scripted by each test on a raw socket, so that the test sees each byte.
"""

import gzip
import http.client
import queue
import socket
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import structlog

from prshots.server.web.relay import outgoing_request
from support.free_ports import free_port
from support.web_component import FILES, OK, Peer, ScriptedApi, WebComponent, scripted_api

UPLOAD_BYTES = 5_000_000


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with scripted_api() as made:
        yield made


@pytest.fixture
def web(api: ScriptedApi, tmp_path: Path) -> Iterator[WebComponent]:
    with WebComponent(tmp_path, api.port, FILES) as made:
        yield made


@pytest.fixture
def client(web: WebComponent) -> Iterator[httpx.Client]:
    with web.client() as made:
        yield made


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: dash.test", *headers, "", ""]).encode()


def read_head(connection: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        piece = connection.recv(1)
        assert piece, f"closed after {found!r}"
        found += piece
    return found


def in_order(headers: Iterable[bytes]) -> list[bytes]:
    return sorted(header.lower() for header in headers)


# Requests


def test_a_request_is_relayed_unchanged_except_hop_by_hop_headers(
    web: WebComponent, api: ScriptedApi
) -> None:
    request = "DELETE /v1//x%2Fy/%7e/../z;a=1?q=%20+a&q=&%C3%A9='"
    kept = [
        "Cookie: a=1; b=2",
        "Authorization: Bearer msr_1",
        "X-Request-Id: the-callers.own_1",
        "X-Twice: 1",
        "X-Twice: 2",
        "Origin: https://dash.test",
        "Accept-Encoding: br",
    ]
    for_one_hop = [
        "Connection: keep-alive, X-Private",
        "X-Private: for one hop",
        "Keep-Alive: timeout=5",
        "Proxy-Authorization: Basic eDp5",
        "TE: trailers",
        "Upgrade: h2c",
    ]
    with web.connect() as connection:
        connection.sendall(head(request, *kept, *for_one_hop))
        assert read_head(connection).startswith(b"HTTP/1.1 200 ")
    line, *headers = api.head()
    assert line == f"{request} HTTP/1.1".encode()
    assert in_order(headers) == in_order(
        header.encode() for header in ["Host: dash.test", *kept, "X-Forwarded-For: 127.0.0.1"]
    )


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_request_body_is_streamed_to_the_api(web: WebComponent, api: ScriptedApi, framing: str) -> None:
    received: queue.Queue[int] = queue.Queue()
    half = bytes(UPLOAD_BYTES // 2)
    sizes = f"{len(half):x}\r\n".encode()
    piece = half if framing == "length" else sizes + half + b"\r\n"

    def act(peer: Peer) -> None:
        peer.read_head()
        for _ in range(2):
            received.put(len(peer.read(len(half))))
        peer.send(OK)

    api.act = act
    body = f"Content-Length: {2 * len(half)}" if framing == "length" else "Transfer-Encoding: chunked"
    with web.connect() as connection:
        connection.sendall(head("POST /v1/upload", body) + piece)
        assert received.get(timeout=60) == len(half)  # the rest is not sent yet
        connection.sendall(piece + (b"" if framing == "length" else b"0\r\n\r\n"))
        assert received.get(timeout=60) == len(half)
        assert read_head(connection).startswith(b"HTTP/1.1 200 ")


def test_web_answers_expect_100_continue_and_does_not_relay_it(web: WebComponent, api: ScriptedApi) -> None:
    def act(peer: Peer) -> None:
        peer.read_head()
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n", OK if peer.read(5) == b"hello" else b"")

    api.act = act
    with web.connect() as connection:
        connection.sendall(head("POST /v1/upload", "Expect: 100-Continue", "Content-Length: 5"))
        assert read_head(connection) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"hello")
        assert read_head(connection).startswith(b"HTTP/1.1 200 ")
    lines = api.head()
    assert b"content-length: 5" in lines
    assert not [line for line in lines if line.startswith(b"expect")]


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_an_incomplete_request_stays_incomplete_at_the_api(
    web: WebComponent, api: ScriptedApi, framing: str
) -> None:
    received: queue.Queue[bytes] = queue.Queue()

    def act(peer: Peer) -> None:
        peer.read_head()
        received.put(peer.read(1))
        received.put(peer.read(1000))

    api.act = act
    with web.connect() as connection:
        connection.sendall(head("POST /auth/link", framing) + b"5\r\nhello\r\n")
        received.get(timeout=60)
    rest = received.get(timeout=60)  # everything up to the end of the connection
    assert b"hello" in rest
    assert b"0\r\n" not in rest


# Replies


def test_a_reply_is_relayed_unchanged_except_hop_by_hop_headers(web: WebComponent, api: ScriptedApi) -> None:
    status, body = b"HTTP/1.1 429 Too Many Requests", gzip.compress(b"so it is")
    kept = [
        b"Retry-After: 60",
        b"Set-Cookie: a=1; Path=/; HttpOnly",
        b'ETag: W/"7"',
        b"Set-Cookie: b=2; Secure",
        b"Content-Encoding: gzip",
        b"Date: Mon, 01 Jan 2035 00:00:00 GMT",
        b"Server: the api",
        b"X-Request-Id: 0123456789abcdef",
        b"Content-Length: %d" % len(body),
    ]
    for_one_hop = [
        b"Connection: close, X-Private",
        b"X-Private: for one hop",
        b"Keep-Alive: timeout=5",
        b"Proxy-Authenticate: Basic",
        b"Trailer: X-Later",
    ]
    reply = b"\r\n".join([status, *kept, *for_one_hop, b"", b""]) + body
    api.act = lambda peer: peer.read_head() and peer.send(reply)
    with web.connect() as connection:
        connection.sendall(head("GET /v1/comment", "X-Request-Id: 0123456789abcdef"))
        line, *headers = read_head(connection).strip().split(b"\r\n")
        assert connection.recv(1000) == body
    assert (line, in_order(headers)) == (status, in_order(kept))


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        ("POST", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b'HTTP/1.1 304 Not Modified\r\nETag: "7"\r\n\r\n'),
        ("GET", b"HTTP/1.1 303 See Other\r\nLocation: /sign-in\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_a_reply_without_a_body_is_relayed_without_one(
    client: httpx.Client, api: ScriptedApi, method: str, reply: bytes
) -> None:
    def act(peer: Peer) -> None:
        while peer.read_head():
            peer.send(reply)

    api.act = act
    for _ in range(2):  # on one connection: the first reply must leave nothing for the second
        response = client.request(method, "/auth/x")
        assert response.status_code == int(reply.split()[1])
        assert response.content == b""
    sent = [line.split(b": ") for line in reply.lower().strip().split(b"\r\n")[1:]]
    assert {
        name.encode(): value.lower().encode() for name, value in response.headers.items()
    }.items() >= dict(sent).items()
    assert "transfer-encoding" not in response.headers


@pytest.mark.parametrize(
    "framing", ["Content-Length: 15", "Transfer-Encoding: chunked", "X: until it closes"]
)
def test_a_reply_body_is_streamed_to_the_client(web: WebComponent, api: ScriptedApi, framing: str) -> None:
    go_on = threading.Semaphore(0)

    def act(peer: Peer) -> None:
        peer.read_head()
        peer.send(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n".encode())
        for piece in (b"first", b"secnd", b"third"):
            assert go_on.acquire(timeout=60)
            peer.send(b"5\r\n" + piece + b"\r\n" if "chunked" in framing else piece)
        peer.send(b"0\r\n\r\n" if "chunked" in framing else b"")

    api.act = act
    with web.client() as client, client.stream("GET", "/v1/slow") as response:
        pieces = response.iter_raw()
        for expected in (b"first", b"secnd", b"third"):
            go_on.release()
            assert next(pieces) == expected
        assert next(pieces, None) is None


@pytest.mark.parametrize(
    "half",
    [
        b"Content-Length: 100\r\n\r\nhalf",
        b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"Content-Length: 100\r\n\r\n",
    ],
)
def test_an_incomplete_reply_stays_incomplete_for_the_client(
    web: WebComponent, api: ScriptedApi, half: bytes
) -> None:
    api.act = lambda peer: peer.read_head() and peer.send(b"HTTP/1.1 200 OK\r\n" + half)
    connection = http.client.HTTPConnection(*web.address, timeout=60)
    connection.request("GET", "/v1/comment")
    with pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()
    connection.close()


# Replies that do not wait for the body


def test_a_408_during_an_upload_reaches_the_client_immediately(web: WebComponent, api: ScriptedApi) -> None:
    reply = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nslow"
    api.act = lambda peer: peer.read_head() and peer.read(5) and peer.send(reply)
    with web.connect() as connection:
        connection.sendall(head("POST /v1/upload", "Content-Length: 1000") + b"hello")
        assert read_head(connection).startswith(b"HTTP/1.1 408 ")


def test_an_early_413_reaches_a_client_that_is_still_sending(client: httpx.Client, api: ScriptedApi) -> None:
    reply = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge"

    def act(peer: Peer) -> None:
        peer.read_head()
        peer.send(reply)
        peer.read(UPLOAD_BYTES)  # as servers do, until the client has the reply: a reset could overtake it

    api.act = act
    response = client.post("/v1/upload", content=bytes(UPLOAD_BYTES))
    assert (response.status_code, response.text) == (413, "large")


# Connections


def test_api_connections_are_reused_and_replaced_when_closed(client: httpx.Client, api: ScriptedApi) -> None:
    def act(peer: Peer) -> None:
        for _ in range(3):
            if peer.read_head():
                peer.send(OK)

    api.act = act
    assert [client.get("/v1/comment").text for _ in range(3)] == ["ok"] * 3
    assert api.connections == 1
    assert client.get("/v1/comment").text == "ok"  # on a new connection: the API has closed the first
    assert api.connections == 2


def test_a_get_on_a_lost_connection_is_retried(client: httpx.Client, api: ScriptedApi) -> None:
    def act(peer: Peer) -> None:
        peer.read_head()
        peer.send(OK)
        peer.read_head()  # no reply

    api.act = act
    assert client.get("/v1/comment").text == client.get("/v1/comment").text == "ok"
    assert api.connections == 2


@pytest.mark.parametrize("method", ["POST", "DELETE", "GET"])
def test_a_request_with_a_body_is_never_sent_twice(
    client: httpx.Client, api: ScriptedApi, method: str
) -> None:
    assert client.get("/v1/comment").status_code == 200
    api.act = lambda peer: peer.read_head() and None  # no reply
    response = client.request(method, "/v1/images/1", content=b"x")
    assert response.status_code == 502
    assert [api.head()[0].split()[1] for _ in range(2)] == [b"/v1/comment", b"/v1/images/1"]
    assert client.get("/v1/comment").status_code == 200  # on the first connection, which still works
    assert api.head()[0].split()[1] == b"/v1/comment"


def test_concurrent_requests_get_their_own_replies(web: WebComponent, api: ScriptedApi) -> None:
    def act(peer: Peer) -> None:
        while lines := peer.read_head():
            number = lines[0].split()[1].rpartition(b"/")[2]
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(number) + number)

    api.act = act
    numbers = [range(first, first + 20) for first in range(0, 8000, 1000)]

    def ask(some: range) -> list[str]:
        with web.client() as client:
            return [client.get(f"/v1/echo/{number}").text for number in some]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, numbers)) == [[str(number) for number in some] for some in numbers]
    assert api.connections <= 8


# When there is no API


def unavailable(response: httpx.Response) -> bool:
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-request-id"]
    return (response.status_code, response.json()) == (502, {"error": "api unavailable"})


@pytest.mark.parametrize("said", [b"", b"220 mail.test ESMTP\r\n\r\n"])
def test_an_api_that_closes_the_connection_or_does_not_speak_http_is_502(
    client: httpx.Client, api: ScriptedApi, said: bytes
) -> None:
    api.act = lambda peer: peer.read_head() and peer.send(said)
    assert unavailable(client.get("/auth/providers"))
    assert unavailable(client.post("/v1/upload", content=bytes(UPLOAD_BYTES)))


def test_replies_502_while_the_api_is_down(tmp_path: Path) -> None:
    port = free_port()
    with WebComponent(tmp_path, port, FILES) as web, web.client() as client:
        with structlog.testing.capture_logs() as logs:
            for _ in range(3):
                assert unavailable(client.get("/v1/comment"))
        assert unavailable(client.post("/v1/upload", content=bytes(UPLOAD_BYTES)))
        assert client.get("/").status_code == 200
        assert [line["event"] for line in logs] == ["api unavailable"]  # one line for the whole outage
        with scripted_api(port):
            assert client.get("/v1/comment").text == "ok"


@pytest.mark.slow
def test_an_api_that_accepts_no_connections_is_502(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port()), backlog=0) as listener:
        port = listener.getsockname()[1]
        with (
            socket.create_connection(
                ("127.0.0.1", port)
            ),  # fills the accept queue, so the next client gets no answer
            WebComponent(tmp_path, port, FILES) as web,
            web.client() as client,
        ):
            assert unavailable(client.get("/v1/comment"))


# Header rules, without a running server


LENGTH, CHUNKED = (b"content-length", b"7"), (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize(
    ("headers", "sent", "has_body"),
    [
        ([], [], False),
        ([(b"content-length", b"0")], [(b"content-length", b"0")], False),
        ([LENGTH], [LENGTH], True),
        ([LENGTH, CHUNKED], [CHUNKED], True),
        ([(b"connection", b"content-length"), LENGTH], [], False),
    ],
)
def test_an_outgoing_request_has_at_most_one_body_framing_header(
    headers: list[tuple[bytes, bytes]], sent: list[tuple[bytes, bytes]], has_body: bool
) -> None:
    host = (b"host", b"h")
    scope = {"method": "POST", "raw_path": b"/v1/\xc3\xa9", "query_string": b"", "headers": [host, *headers]}
    request, follows = outgoing_request(scope, b"/prefix")
    assert request.target == b"/prefix/v1/%C3%A9"
    assert list(request.headers) == [host, *sent]
    assert follows is has_body
