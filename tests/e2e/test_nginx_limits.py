"""What deploy/nginx/ limits, and how nginx refuses: in JSON, with the right method in the log and the right headers."""

import contextlib
import json
import re
import socket
from collections import Counter
from pathlib import Path

import httpx
import pytest

from support.free_ports import free_port
from support.nginx_front import NGINX, NGINX_VERSIONS, Nginx, hang_up, last_log, raw, running_nginx, started
from support.open_files import many_files  # noqa: F401 - a fixture
from support.service import MAX_BYTES, upload

pytestmark = pytest.mark.slow

ANOTHER_ADDRESS = "127.0.0.2"


@pytest.fixture(params=NGINX_VERSIONS)
def program(request: pytest.FixtureRequest) -> Path:
    return NGINX[request.param]


def silent_component() -> tuple[socket.socket, int]:
    """Return the listener of a component that accepts connections and never answers, and its port.

    Close it before nginx stops: nginx waits for the answers.
    """
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    return listener, listener.getsockname()[1]


def in_front_of(
    folder: Path, ports: list[int], program: Path, changes: dict[str, str] | None = None
) -> Nginx:
    return Nginx(folder / "nginx", ports, ports, ports, folder, program=program, changes=changes or {})


def request(method: str, path: str, body_bytes: int = 0) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {body_bytes}\r\n\r\n"
    return head.encode() + b"x" * body_bytes


def parsed(reply: bytes) -> tuple[int, dict[str, str], object]:
    head, _, body = reply.decode().partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(first.split()[1]), fields, json.loads(body)


def waiting(port: int, address: str = "127.0.0.1") -> socket.socket:
    """Send a request that is never answered, and return its connection."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0))
    connection.sendall(request("GET", "/v1/comment"))
    return connection


def answer(connection: socket.socket) -> tuple[int, dict[str, str], object]:
    return parsed(b"".join(iter(lambda: connection.recv(65536), b"")))


def test_a_large_body_is_413_in_json_and_does_not_reach_the_component(tmp_path: Path, program: Path) -> None:
    with (
        hang_up() as (port, requests),
        running_nginx(in_front_of(tmp_path, [port], program)) as front,
        httpx.Client(base_url=front.url, timeout=30) as client,
    ):
        for path in ("/v1/expire", "/auth/logout", "/", f"/i/{'0a' * 16}.png", "/i/x"):
            status, fields, body = parsed(raw(front.port, request("POST", path, 64 * 1024 + 1)))
            assert (status, body) == (413, {"error": "payload too large (max 64KB)"})
            assert (fields["content-type"], fields["cache-control"]) == ("application/json", "no-store")
            assert fields["connection"] == "close"
            assert f'"POST {path} HTTP/1.1" 413' in last_log(front, f"{path} ")
        assert requests == []
        for path, limit, maximum in [
            ("/v1/upload", 2 * MAX_BYTES + 1024**2, "5MB"),
            ("/v1/staged", 2 * MAX_BYTES + 1024**2, "5MB"),
            ("/v1/baseline", MAX_BYTES + 1024**2, "5MB"),
            ("/v1/put/0a1b2c", MAX_BYTES + 1024**2, "5MB"),
            ("/v1/baseline/known", 4 * 1024**2, "4MB"),
            ("/v1/upload/known", 4 * 1024**2, "4MB"),
        ]:
            requests.clear()
            assert client.post(path, content=bytes(limit)).status_code == 502  # the component's doing
            refused = client.post(path, content=bytes(limit + 1))
            assert refused.status_code == 413
            assert refused.json() == {"error": f"payload too large (max {maximum})"}
            assert len(requests) == 1
        assert "0a1b2c" not in front.logs


def test_requests_in_progress_are_limited_by_address_and_in_all(tmp_path: Path, program: Path) -> None:
    few = {
        "limit_conn prshots_client 200;": "limit_conn prshots_client 2;",
        "prshots_all 4000;": "prshots_all 3;",
    }
    silent, port = silent_component()
    front = in_front_of(tmp_path, [port], program, few)
    with running_nginx(front), silent, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(waiting(front.port))
        status, fields, body = answer(stack.enter_context(waiting(front.port)))
        assert (status, body) == (503, {"error": "too many requests at a time"})
        assert (fields["retry-after"], fields["content-type"]) == ("5", "application/json")

        stack.enter_context(waiting(front.port, ANOTHER_ADDRESS))  # the third of three
        refused = answer(stack.enter_context(waiting(front.port, ANOTHER_ADDRESS)))
        assert (refused[0], refused[2]) == (503, {"error": "too many requests at a time"})

        silent.setblocking(False)
        for _ in range(3):
            stack.enter_context(silent.accept()[0])
        with pytest.raises(BlockingIOError):  # the refused ones did not reach the component
            silent.accept()
        assert "limiting connections" not in front.logs  # an attack must not fill the error log


def test_images_have_their_own_limit(tmp_path: Path, program: Path) -> None:
    few = {"prshots_image_client 1000;": "prshots_image_client 1;"}
    silent, port = silent_component()
    front = in_front_of(tmp_path, [port], program, few)
    image = f"/i/{'0a' * 16}.png"
    with running_nginx(front), silent, contextlib.ExitStack() as stack:
        stack.enter_context(waiting(front.port))
        for first in (image, "/i/x"):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", front.port), timeout=60))
            connection.sendall(request("GET", first))
            status, fields, body = parsed(raw(front.port, request("GET", image)))
            assert (status, body) == (503, {"error": "too many requests at a time"})
            assert fields["retry-after"] == "5"
            connection.close()


def test_a_failed_post_says_close_and_a_half_sent_head_is_closed(tmp_path: Path, program: Path) -> None:
    """Nginx ends the half-sent head after client_header_timeout, here a second."""
    short = {"client_header_timeout 10s;": "client_header_timeout 1s;"}
    with running_nginx(in_front_of(tmp_path, [free_port()], program, short)) as front:
        # `raw` returns when nginx closes the connection: the reply must say that it does.
        status, fields, body = parsed(raw(front.port, request("POST", "/v1/expire", 1000)))
        assert (status, body) == (502, {"error": "api unavailable"})
        assert (fields["connection"], fields["retry-after"]) == ("close", "5")
        assert '"POST /v1/expire HTTP/1.1" 502' in last_log(front, "/v1/expire")
        assert raw(front.port, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ") == b""


def test_each_upload_is_tried_once_a_get_by_every_replica_and_forwarded_headers_are_replaced(
    tmp_path: Path, program: Path
) -> None:
    """Otherwise nginx answers "no live upstreams" for seconds after a moment in which all replicas failed."""
    false = {"X-Forwarded-For": "1.2.3.4", "X-Request-Id": "mine", "X-Forwarded-Proto": "https"}
    with (
        hang_up() as (one, requests),
        hang_up() as (other, other_requests),
        running_nginx(in_front_of(tmp_path, [one, other], program)) as front,
        httpx.Client(base_url=front.url, headers=false, timeout=30) as client,
    ):
        for _ in range(10):
            reply = upload(client)
            assert (reply.status_code, reply.json()) == (502, {"error": "api unavailable"})
        assert client.get("/").status_code == 502
        assert "no live upstreams" not in front.logs
        heads = [request.partition(b"\r\n\r\n")[0].decode() for request in requests + other_requests]
    assert Counter(head.partition(" ")[0] for head in heads) == {"POST": 10, "GET": 2}
    ours = "\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: 127.0.0.1\r\n"
    for head in heads:
        assert ours in head
        assert "1.2.3.4" not in head
        assert "mine" not in head
        assert re.search(r"\r\nX-Request-Id: [0-9a-f]{32}(\r\n|$)", head)


def test_a_get_goes_to_the_next_replica_if_one_hangs(tmp_path: Path, program: Path) -> None:
    hung, hung_port = silent_component()
    with (
        contextlib.closing(hung),
        hang_up() as (other, requests),
        running_nginx(
            in_front_of(
                tmp_path, [hung_port, other], program, {"proxy_read_timeout 10s": "proxy_read_timeout 300ms"}
            )
        ) as front,
    ):
        for _ in range(2):  # one of them goes to the hung replica first
            reply = httpx.get(f"{front.url}/i/x", timeout=30, trust_env=False)
            assert (reply.status_code, reply.json()) == (503, {"error": "delivery unavailable"})
    assert len(requests) == 2


@pytest.mark.usefixtures("many_files")
def test_two_thousand_idle_and_half_sent_requests_do_not_stop_the_others(
    tmp_path: Path, program: Path
) -> None:
    """With the number of connections that docs/run/behind-nginx.md asks for."""
    page = (Path(__file__).parents[2] / "docs/run/behind-nginx.md").read_text()
    [documented] = re.findall(r"`(worker_connections \d+;)`", page)
    front = in_front_of(tmp_path, [free_port()], program)
    server = front.server()
    main = front.folder / "nginx.conf"
    main.write_text(main.read_text().replace("worker_connections 256;", documented))
    with started(server), contextlib.ExitStack() as stack:
        for number in range(2000):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", front.port), timeout=60))
            if number % 2:
                connection.sendall(b"POST /v1/upload HTTP/1.1\r\nHost: x\r\nX-Half: ")
        reply = httpx.get(f"{front.url}/readyz", timeout=30, trust_env=False)
        assert (reply.status_code, reply.json()) == (404, {"error": "not found"})
