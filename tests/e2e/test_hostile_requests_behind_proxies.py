"""Malformed and ambiguous requests through nginx and Caddy: what the proxy reads differently is still never executed."""

import contextlib
import socket
from collections.abc import Iterator

import httpx
import pytest

from support.caddy_front import caddy, parts_of
from support.free_ports import free_port
from support.hostile_requests import HOSTILE, smuggling
from support.nginx_front import Nginx, running_nginx
from support.service import Service, upload

SILENCE_SECONDS, LONG_SILENCE_SECONDS = 0.1, 5.0
"""A proxy keeps the connection open. After this long it has probably, or surely, nothing more to say."""


@pytest.fixture(params=["nginx", "caddy"])
def front(service: Service, request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a proxy in front of a service. Return its address."""
    if request.param == "nginx":
        made = Nginx.of(service, service.folder / "nginx")
        service.settings |= dict.fromkeys(("BASE_URL", "IMG_URL", "WEB_URL"), made.url)
        service.start()
        with running_nginx(made):
            yield made.url
        return
    port = free_port()
    service.settings |= dict.fromkeys(("BASE_URL", "IMG_URL", "WEB_URL"), f"http://127.0.0.1:{port}")
    service.start()
    server = caddy(service.folder / "caddy", port, parts_of(service))
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


def read(connection: socket.socket, seconds: float) -> bytes:
    """Read until the proxy closes, or is silent for so long."""
    connection.settimeout(seconds)
    received = b""
    with contextlib.suppress(OSError):
        while data := connection.recv(65536):
            received += data
    return received


@pytest.mark.slow
@pytest.mark.parametrize("path", [b"/healthz", b"/v1/limits", b"/i/x"], ids=["web", "api", "delivery"])
def test_what_the_proxy_takes_for_one_request_is_never_executed_as_two(
    service: Service, front: str, path: bytes
) -> None:
    token, port = service.new_token(), int(front.rpartition(":")[2])
    with service.client(token, front) as client:
        image = upload(client).json()
        for one in HOSTILE:
            raw = smuggling(one, image["id"], token).replace(b"/healthz", path)
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                with contextlib.suppress(OSError):  # refused before it was sent whole
                    connection.sendall(raw)
                received = read(connection, SILENCE_SECONDS)
                if httpx.get(image["view_url"], timeout=60, trust_env=False).status_code != 200:
                    # Only if the proxy saw a second request too, and answers it.
                    received += read(connection, LONG_SILENCE_SECONDS)
                    assert received.count(b"HTTP/1.1 ") > 1, one.name
                    image = upload(client).json()
