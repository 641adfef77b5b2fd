"""Delivery over real sockets: keep-alive, slow clients, shutdown and resource leaks."""

import asyncio
import contextlib
import json
import os
import resource
import secrets
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prshots.contract.object_names import origin_key
from prshots.server.adapters.objects.disk import DiskReader
from prshots.server.delivery import server as delivery_server
from support.delivery_sockets import EXP, RING, DeliveryInThread, RawConnection, get
from support.open_files import open_files

HOST = b"Host: localhost\r\n\r\n"


class ServedFromDisk(DeliveryInThread):
    """Delivery with a store to put images into."""

    def __init__(self, root: Path) -> None:
        super().__init__(DiskReader(root))
        self.root = root

    def store(self, content: bytes) -> str:
        """Put an image into the store, and return its signed target."""
        image_id = secrets.token_hex(16)
        path = self.root / origin_key(image_id, "png")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return RING.sign(image_id, "png", EXP, "k1")

    def file(self, target: str) -> Path:
        return self.root / origin_key(target[3:35], "png")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedFromDisk]:
    with ServedFromDisk(tmp_path) as served:
        yield served


@pytest.mark.parametrize("size", [1, 20_000, 300_000, 5_000_000])
def test_images_of_any_size_are_delivered_over_one_connection(served: ServedFromDisk, size: int) -> None:
    content = secrets.token_bytes(size)
    target = served.store(content)
    with served.client() as client:
        for _ in range(3):
            reply = client.get(target)
            assert reply.status_code == 200
            assert reply.content == content
            assert reply.headers["content-type"] == "image/png"
            assert reply.headers["date"]
        assert client.head(target).headers["content-length"] == str(size)
        either = [("If-None-Match", '"x"'), ("If-None-Match", reply.headers["etag"])]
        assert client.get(target, headers=either).status_code == 304
        part = client.get(target, headers={"Range": "bytes=-1"})
        assert (part.status_code, part.content) == (206, content[-1:])
        assert client.get(target, headers={"Range": f"bytes={size}-"}).status_code == 416
        assert client.post(target).json() == {"error": "method not allowed"}
    assert len(served.server._connections) <= 1


def test_an_error_has_the_id_of_its_request_and_an_image_has_none(served: ServedFromDisk) -> None:
    """Caches keep images. A client recognizes delivery's address by the missing id of other paths."""
    target, wrong = served.store(b"x"), served.store(b"x") + "0"
    ours = {"X-Request-Id": "from-a-proxy.1"}
    with served.client() as client:
        for path, headers, expected in (
            (wrong, ours, "from-a-proxy.1"),
            (wrong, {}, None),  # nothing is left of the request before
            (wrong, {"X-Request-Id": "short"}, None),
            (wrong, [("X-Request-Id", "from-a-proxy.1")] * 2, None),
            (target, ours, None),
            (target, ours, None),  # from the cache of heads, if it were in it
            ("/v1/upload", ours, None),
        ):
            assert client.get(path, headers=headers).headers.get("x-request-id") == expected


@pytest.mark.parametrize(
    ("version", "lines", "stays"),
    [
        ("1.1", [], True),
        ("1.1", ["Connection: close"], False),
        ("1.0", [], False),
        ("1.0", ["Connection: keep-alive"], True),
    ],
)
def test_keep_alive_follows_the_http_version_and_connection_header(
    served: ServedFromDisk, version: str, lines: list[str], stays: bool
) -> None:
    target = served.store(b"x" * 70_000)
    with served.exchange(get(target, *lines, version=version)) as wire:
        status, fields, _ = wire.reply()
        assert (status, fields["Connection"]) == (200, "keep-alive" if stays else "close")
        if stays:
            wire.sock.sendall(get("/healthz", *lines, version=version))
            assert wire.reply()[0] == 200
        else:
            assert wire.is_ended()


def test_pipelined_requests_are_answered_in_order(served: ServedFromDisk) -> None:
    sizes = [10, 3_000_000, 20_000, 0, 400_000, 1]
    targets = [served.store(secrets.token_bytes(size)) for size in sizes]
    requests = b"".join(get(target) for target in targets * 20) + get("/healthz", "Connection: close")
    with served.connect() as wire:
        sender = threading.Thread(target=wire.sock.sendall, args=(requests,))
        sender.start()
        assert [len(wire.reply()[2]) for _ in targets * 20] == sizes * 20
        assert wire.reply()[2] == b'{"status":"ok"}'
        assert wire.is_ended()
        sender.join()


def test_a_slow_client_that_half_closes_still_gets_its_reply(served: ServedFromDisk) -> None:
    content = secrets.token_bytes(3_000_000)
    target = served.store(content)
    with served.connect(receive_buffer=4096) as wire:
        wire.sock.sendall(get(target))
        wire.sock.shutdown(socket.SHUT_WR)
        assert wire.reply()[2] == content
        assert wire.is_ended()


def test_replies_to_slow_clients_are_not_buffered_in_memory(served: ServedFromDisk) -> None:
    target = served.store(secrets.token_bytes(4_000_000))
    with contextlib.ExitStack() as stack:
        served.exchange(get("/healthz")).sock.close()
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        wires = [stack.enter_context(served.connect(receive_buffer=4096)) for _ in range(20)]
        for wire in wires:
            wire.sock.sendall(get(target) + get(target) * 50)  # pipelined requests also wait
        served.settle(lambda: sum(one._is_sending for one in tuple(served.server._connections)) == 20)
        for wire in wires:
            wire.sock.recv(100_000)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
        assert wires[0].rest == b""


def test_an_abrupt_disconnect_leaves_no_file_or_socket_open(
    served: ServedFromDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # uvloop does not report a reset in the middle of a request head. The timeout ends that connection.
    monkeypatch.setattr(delivery_server, "HEAD_SECONDS", 0.1)
    target = served.store(bytes(4_000_000))
    with served.client() as client:
        client.get("/healthz")
        before = open_files()
        for sent in (
            b"",
            b"GET /",
            get(target),
            get(target) * 5,
            get(target, "Connection: close"),
            b"nonsense\r\n",
        ):
            for reset in (True, False):
                wire = served.connect(receive_buffer=4096)
                wire.sock.sendall(sent)
                if reset:  # the client sends a reset instead of closing
                    wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                if b"HTTP" in sent:
                    wire.sock.recv(1000)
                wire.sock.close()
        # Not their number: servers of other tests in this process may close connections meanwhile.
        served.settle(lambda: open_files() <= before)
        assert client.get("/healthz").status_code == 200


def test_a_file_truncated_while_it_is_sent_ends_the_connection(served: ServedFromDisk) -> None:
    target = served.store(bytes(8_000_000))
    with served.connect(receive_buffer=4096) as wire:
        wire.sock.sendall(get(target))
        wire.sock.recv(1000)
        os.truncate(served.file(target), 10)
        assert len(wire.read_to_end()) < 8_000_000


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (get(f"/i/{'0' * 32}.png?exp=1&token=k1.{'a' * 100_000}"), 414, "uri too long"),
        (get("/healthz", f"Cookie: {'c' * 100_000}"), 431, "request header fields too large"),
        (b"a" * 3_000_000, 400, "bad request"),
        (get("/healthz", "Transfer-Encoding: gzip"), 501, "transfer coding not supported"),
    ],
)
def test_a_refused_head_gets_a_readable_error_and_the_connection_closes(
    served: ServedFromDisk, sent: bytes, status: int, message: str
) -> None:
    with served.exchange(sent) as wire:
        got, fields, body = wire.reply()
        assert (got, fields["Connection"], json.loads(body)) == (status, "close", {"error": message})
        assert wire.is_ended()


def test_a_request_head_within_the_limit_is_served(served: ServedFromDisk) -> None:
    with served.client() as client:
        assert client.get("/healthz", headers={"Cookie": "c" * 15_000}).status_code == 200
        assert client.get("/" + "a" * 15_000).status_code == 404


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"GET ", b"/", b" HTTP/1.1", b"\r\n", b"\n", b": ", b"a"])).map(b"".join)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_server_survives_any_input(served: ServedFromDisk, sent: bytes) -> None:
    with served.exchange(sent) as wire:
        wire.sock.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: wire.sock.recv(65536), b""))
        assert not received or received.startswith(b"HTTP/1.1 4")
    with served.exchange(get("/healthz")) as wire:
        assert wire.reply()[0] == 200


def test_a_graceful_stop_finishes_replies_and_closes_idle_connections(served: ServedFromDisk) -> None:
    content = secrets.token_bytes(6_000_000)
    target = served.store(content)
    with served.connect() as idle, served.connect(receive_buffer=4096) as busy, served.connect() as asking:
        idle.sock.sendall(get("/healthz"))
        assert idle.reply()[0] == 200
        busy.sock.sendall(get(target) + get(target))
        busy.rest = busy.sock.recv(1000)
        asking.sock.sendall(b"GET /healthz HTTP/1.1\r\n")
        served.settle(lambda: any(one._received for one in tuple(served.server._connections)))
        stopped = asyncio.run_coroutine_threadsafe(served.server.stop(30), served.loop)
        assert idle.is_ended()
        asking.sock.sendall(HOST)
        assert asking.reply()[1]["Connection"] == "close"
        asking.sock.close()
        assert busy.reply()[2] == content
        assert busy.reply()[1]["Connection"] == "close"
        busy.sock.close()
        stopped.result(30)
    assert not served.server._connections


def test_a_stop_closes_connections_that_do_not_finish_in_time(served: ServedFromDisk) -> None:
    target = served.store(bytes(8_000_000))
    with served.connect(receive_buffer=4096) as wire:
        wire.sock.sendall(get(target))
        wire.sock.recv(100)
        [serving] = served.server._connections
        held = {str(Path(f"/proc/self/fd/{fd}").readlink()) for fd in (serving._fd, serving._file_fd)}
        assert str(served.file(target)) in held
        served.run(served.server.stop(0.1))
        assert not served.server._connections
        assert held.isdisjoint(open_files())


def test_the_server_recovers_after_running_out_of_file_descriptors(served: ServedFromDisk) -> None:
    target = served.store(bytes(100))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wires = [served.connect() for _ in range(3)]
    served.settle(lambda: len(served.server._connections) == 3)
    with structlog.testing.capture_logs() as logs:
        waiting = socket.socket()
        waiting.settimeout(30)
        highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
        fillers = []
        with contextlib.suppress(OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
            while True:
                fillers.append(os.dup(0))
        try:
            waiting.connect(served.address)
            served.settle(lambda: bool(logs))
            served.settle(lambda: not served.server._connections)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for filler in fillers:
                os.close(filler)
        with RawConnection(waiting) as wire:
            wire.sock.sendall(get(target))
            assert wire.reply()[0] == 200
    assert {entry["event"] for entry in logs} == {"cannot accept connections"}
    for wire in wires:
        wire.sock.close()


@pytest.mark.parametrize("limit", ["IDLE_SECONDS", "HEAD_SECONDS", "STALLED_SECONDS", "LINGER_SECONDS"])
def test_each_timeout_closes_the_connection(
    served: ServedFromDisk, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_server, limit, -1.0)
    target = served.store(bytes(8_000_000))
    sent = {
        "IDLE_SECONDS": b"",
        "HEAD_SECONDS": b"GET / HTTP/1.1\r\n",
        "STALLED_SECONDS": get(target),
        "LINGER_SECONDS": get("/healthz", "Connection: close"),
    }[limit]
    with served.connect(receive_buffer=4096) as wire:
        wire.sock.sendall(sent)
        if limit == "LINGER_SECONDS":
            assert wire.reply()[0] == 200
        served.settle(lambda: len(served.server._connections) > 0 or limit != "IDLE_SECONDS")
        served.settle(lambda: not served.server._connections)
