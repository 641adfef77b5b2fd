"""A running web component and a scripted API behind it, over real sockets."""

import contextlib
import queue
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from prshots.server.http.app_server import AppServer
from prshots.server.web.app import Web
from support.http_server import QuietHandler, serving
from support.server_in_thread import ServerInThread

PAGE = '<!doctype html><html lang="en"><title>dashboard</title>' + "<!-- padding -->" * 20
FILES = {
    "index.html": PAGE.encode(),
    "favicon.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "assets/index-1a2b.js": b'document.querySelector("p").textContent = "after"\n' * 50,
    "assets/index-3c4d.css": b"p { color: teal }\n" * 50,
    "assets/dot-5e6f.png": b"\x89PNG\r\n\x1a\n" + bytes(500),
}


class WebComponent(ServerInThread):
    def __init__(self, folder: Path, api_port: int, files: dict[str, bytes]) -> None:
        self._api_url, self._files = f"http://127.0.0.1:{api_port}", folder / "dashboard"
        for name, content in files.items():
            path = self._files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        super().__init__(self._serve)

    def _serve(self, listener: socket.socket) -> AppServer:
        app = Web(
            files=self._files,
            api_url=self._api_url,
            base_url="https://api.test",
            web_url=self.url,
            img_url="https://img.test/shots",
            avatar_origins=["https://people.test"],
        )
        return AppServer(app, listener, most_connections=100, refuses_slow_bodies=False)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=30)


class Peer:
    """The API side of one connection."""

    def __init__(self, connection: socket.socket, heads: "queue.Queue[list[bytes]]") -> None:
        self._connection, self._heads = connection, heads
        self._unread = b""

    def read_head(self) -> list[bytes]:
        """Return the lines of a request's head, or an empty list if the other side has closed."""
        while b"\r\n\r\n" not in self._unread:
            piece = self._connection.recv(65536)
            if not piece:
                return []
            self._unread += piece
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        self._heads.put(head.split(b"\r\n"))
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


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer_ok(peer: Peer) -> None:
    while peer.read_head():
        peer.send(OK)


@dataclass
class ScriptedApi:
    """Run `act` on each connection, then close it."""

    port: int = 0
    act: Callable[[Peer], None] = answer_ok
    connections: int = 0
    heads: "queue.Queue[list[bytes]]" = field(default_factory=queue.Queue)

    def head(self) -> list[bytes]:
        """Return the lines of the next request's head."""
        return self.heads.get(timeout=60)


@contextlib.contextmanager
def scripted_api(port: int = 0) -> Iterator[ScriptedApi]:
    api = ScriptedApi()

    class Handler(QuietHandler):
        timeout = 30

        def handle(self) -> None:
            api.connections += 1
            with contextlib.suppress(OSError):  # the other side has closed
                api.act(Peer(self.connection, api.heads))

    with serving(Handler, port=port) as url:
        api.port = httpx.URL(url).port or 0
        yield api
