"""A running web component and a scripted API behind it, over real sockets."""

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from support.free_ports import free_port

PAGE = (
    '<!doctype html><html lang="en"><title>dashboard</title><link rel="icon" href="/favicon.svg">'
    '<script>document.title = "inline"</script><p>before</p><script src="/assets/index-1a2b.js"></script>'
    '<img src="/assets/dot-5e6f.png">' + "<!-- padding -->" * 20
)
FILES = {
    "index.html": PAGE.encode(),
    "favicon.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "assets/index-1a2b.js": b'document.querySelector("p").textContent = "after"\n' * 50,
    "assets/index-3c4d.css": b"p { color: teal }\n" * 50,
    "assets/dot-5e6f.png": b"\x89PNG\r\n\x1a\n" + bytes(500),
}


@dataclass
class WebComponent:
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)


@contextlib.contextmanager
def running_web(folder: Path, api_port: int, files: dict[str, bytes]) -> Iterator[WebComponent]:
    for name, content in files.items():
        path = folder / "dashboard" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    web = WebComponent(free_port(), folder / "web.log")
    command = [sys.executable, Path(__file__).with_name("web_process.py")]
    arguments = [str(web.port), folder / "dashboard", f"http://127.0.0.1:{api_port}"]
    with web.log.open("wb") as log:
        process = subprocess.Popen([*command, *arguments], stdout=log, stderr=log)
    try:
        _wait_until_up(web, process)
        yield web
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert "Traceback" not in web.log.read_text()


def _wait_until_up(web: WebComponent, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            web.connect().close()
            return
        time.sleep(0.02)
    raise AssertionError(f"the web component did not come up:\n{web.log.read_text()}")


class Peer:
    """The API side of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def read_head(self) -> list[bytes]:
        """Return the lines of a request's head, or an empty list if the other side has closed."""
        while b"\r\n\r\n" not in self._unread:
            piece = self._connection.recv(65536)
            if not piece:
                return []
            self._unread += piece
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        return head.split(b"\r\n")

    def read(self, count: int) -> bytes:
        """Return `count` bytes, or fewer if the other side closes."""
        while len(self._unread) < count and (piece := self._connection.recv(65536)):
            self._unread += piece
        found, self._unread = self._unread[:count], self._unread[count:]
        return found

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._connection.sendall(piece)


@dataclass
class ScriptedApi:
    """Run `act` on each connection, then close it."""

    listener: socket.socket
    act: Callable[[Peer], None] = lambda _: None
    connections: int = 0
    _open: set[socket.socket] = field(default_factory=set)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed when the test ends
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def start_anew(self) -> None:
        """Close all connections, so that a new `act` applies to every connection."""
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections = 0

    def _handle(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        self._open.add(connection)
        with connection, contextlib.suppress(OSError):  # the other side has closed
            self.act(Peer(connection))
        self._open.discard(connection)


@contextlib.contextmanager
def scripted_api() -> Iterator[ScriptedApi]:
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        api = ScriptedApi(listener)
        thread = threading.Thread(target=api.serve, daemon=True)
        thread.start()
        yield api
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
