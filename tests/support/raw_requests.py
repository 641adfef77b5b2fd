"""Raw HTTP requests, and tools to watch the server while it handles them."""

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.processes import completed
from support.service import SHA, Service, png
from support.service_processes import memory_samples, supervisor_pid, wait_for_first_sweep

BOUNDARY = "0f1e2d3c4b5a"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
TEXTS = {"name": "checkout/cart", "pr_number": "7", "commit_sha": SHA, "viewport": "1280x800"}


def part(disposition: str, body: bytes, *headers: str) -> bytes:
    lines = [f"--{BOUNDARY}", f"Content-Disposition: {disposition}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body + b"\r\n"


def text_part(name: str, value: str | bytes) -> bytes:
    return part(f'form-data; name="{name}"', value.encode() if isinstance(value, str) else value)


def image_part(image: bytes | None = None, content_type: str = "image/png") -> bytes:
    body = png() if image is None else image
    return part('form-data; name="image"; filename="shot.png"', body, f"Content-Type: {content_type}")


def image_head() -> bytes:
    """Return the start of a body, up to the first byte of the image."""
    return image_part(b"").removesuffix(b"\r\n")


def text_parts(*without: str) -> list[bytes]:
    return [text_part(name, value) for name, value in TEXTS.items() if name not in without]


def body_of(parts: Iterable[bytes], end: bytes = f"--{BOUNDARY}--\r\n".encode()) -> bytes:
    return b"".join(parts) + end


@contextlib.contextmanager
def running_service(folder: Path, **settings: str) -> Iterator[Service]:
    """Run a service with these settings, and always stop it."""
    service = Service(folder, settings)
    try:
        yield service.start()
    finally:
        if service.process is not None:
            service.stop()


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"])


def connect(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.api_port), timeout=60)


def request_head(token: str, *headers: str, line: str = "POST /v1/upload HTTP/1.1") -> bytes:
    return "\r\n".join([line, "Host: localhost", f"Authorization: Bearer {token}", *headers, "", ""]).encode()


def read_reply(connection: socket.socket) -> Reply:
    with contextlib.closing(http.client.HTTPResponse(connection)) as response:
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, response.read())


def send(service: Service, *raw: bytes) -> Reply:
    """Send these bytes over a new connection, and return the reply."""
    with connect(service) as connection:
        for piece in raw:
            connection.sendall(piece)
        return read_reply(connection)


def post_body(service: Service, token: str, body: bytes, content_type: str = MULTIPART) -> Reply:
    head = request_head(token, f"Content-Type: {content_type}", f"Content-Length: {len(body)}")
    return send(service, head, body)


def curl(url: str, token: str, *options: str) -> tuple[int, str]:
    """Send a request with curl, and return the status and text of the reply."""
    ask = ("curl", "-sS", "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {token}")
    done = completed([*ask, *options, url])
    assert done.returncode == 0, done.stderr
    text, status = done.stdout.rsplit("\n", 1)
    return int(status), text


@contextlib.contextmanager
def watched_memory(service: Service) -> Iterator[Callable[[], int]]:
    """Watch a service's memory while the block runs. Return a function that tells the peak above the start."""
    wait_for_first_sweep(service)  # until then, processes still start
    with memory_samples(supervisor_pid(service)) as samples:
        yield lambda: max(samples) - samples[0]
