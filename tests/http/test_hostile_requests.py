"""Malformed and ambiguous requests get the expected reply, and nothing in them runs as another request."""

import contextlib
import re
import socket

import httpx
import pytest

from support.hostile_requests import HOSTILE, smuggling
from support.service import Service, upload
from support.service_processes import fetch

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


def statuses(port: int, raw: bytes) -> tuple[int, ...]:
    """Send these bytes and nothing more. Return the statuses of all replies."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        with contextlib.suppress(OSError):  # refused before it was sent whole
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
        replies = b"".join(iter(lambda: connection.recv(65536), b""))
    return tuple(map(int, _STATUS.findall(replies)))


@pytest.mark.parametrize("component", ["api", "web", "img"])
def test_hostile_requests_are_refused_and_never_executed(shared_service: Service, component: str) -> None:
    token, port = shared_service.new_token(), getattr(shared_service, f"{component}_port")
    with shared_service.client(token) as client:
        image = upload(client).json()
    got = {one.name: statuses(port, smuggling(one, image["id"], token)) for one in HOSTILE}
    expected = {one.name: one.of_delivery if component == "img" else one.statuses for one in HOSTILE}
    assert {name: got[name] for name in got if got[name] != expected[name]} == {}
    assert fetch(image["view_url"]).status_code == 200
    assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=60, trust_env=False).status_code == 200
