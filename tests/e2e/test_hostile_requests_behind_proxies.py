"""Malformed and ambiguous requests through nginx and Caddy: what the proxy reads differently is still never executed."""

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.caddy_front import caddy, parts_of
from support.free_ports import free_port
from support.hostile_requests import HOSTILE, Hostile, smuggling
from support.nginx_front import Nginx, running_nginx, started
from support.service import Service, upload

SILENCE_SECONDS, LONG_SILENCE_SECONDS = 0.3, 5.0
"""A proxy keeps the connection open. After this long it has probably, or surely, nothing more to say."""
AT_ONCE = 16


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def port(
    request: pytest.FixtureRequest, shared_service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """Run a proxy in front of the shared service, and return its port."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "nginx":
        with running_nginx(Nginx.of(shared_service, folder / "nginx")) as front:
            yield front.port
        return
    port = free_port()
    with started(caddy(folder / "caddy", port, parts_of(shared_service))):
        yield port


def replies(port: int, raw: bytes, silence: float) -> int:
    """Send these bytes, and count the replies until the proxy closes or is silent for this long."""
    received = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
        contextlib.suppress(OSError),
    ):
        connection.sendall(raw)  # fails if it is refused before it was sent whole
        connection.settimeout(silence)
        while data := connection.recv(65536):
            received += data
    return received.count(b"HTTP/1.1 ")


@pytest.mark.slow
@pytest.mark.parametrize("path", [b"/healthz", b"/v1/limits", b"/i/x"], ids=["web", "api", "delivery"])
def test_what_the_proxy_takes_for_one_request_is_never_executed_as_two(
    shared_service: Service, port: int, path: bytes
) -> None:
    """Only if the proxy saw a second request too, and answers it, may that be executed."""
    token = shared_service.new_token(uploads_per_minute=10_000)

    def executed_unseen(cases: list[Hostile], silence: float) -> list[Hostile]:
        tried = list(threads.map(lambda one: try_to_smuggle(one, silence), cases))
        return [one for one, outcome in zip(cases, tried, strict=True) if is_unseen(*outcome)]

    def try_to_smuggle(one: Hostile, silence: float) -> tuple[str, int]:
        image = upload(client).json()
        raw = smuggling(one, image["id"], token).replace(b"/healthz", path)
        return image["view_url"], replies(port, raw, silence)

    def is_unseen(url: str, seen: int) -> bool:
        return seen < 2 and httpx.get(url, timeout=60, trust_env=False).status_code != 200

    with shared_service.client(token) as client, ThreadPoolExecutor(AT_ONCE) as threads:
        suspects = executed_unseen(HOSTILE, SILENCE_SECONDS)
        # The second reply may have come too late.
        assert [one.name for one in executed_unseen(suspects, LONG_SILENCE_SECONDS)] == []
