"""Delivery over real sockets: a server, and clients that see every byte."""

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Self

from prshots.server.adapters.keys import FixedKeys
from prshots.server.delivery.decision import Delivery
from prshots.server.delivery.server import DeliveryServer
from prshots.server.links import FileReader, Key, KeyRing, RemoteReader
from support.server_in_thread import ServerInThread
from support.waiting import wait_until

RING = KeyRing([Key("k1", b"1" * 32)])
EXP = int(time.time()) + 86_400


def get(target: str, *lines: str, method: str = "GET", version: str = "1.1") -> bytes:
    head = [f"{method} {target} HTTP/{version}", "Host: localhost", *lines]
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")


class DeliveryInThread(ServerInThread):
    """A delivery server in its own thread, and its clients."""

    def __init__(self, reader: FileReader | RemoteReader) -> None:
        super().__init__(lambda listener: DeliveryServer(Delivery(reader, FixedKeys(RING), 3600), listener))

    def connect(self, receive_buffer: int = 0) -> "RawConnection":
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(60)
        sock.connect(self.address)
        return RawConnection(sock)

    def exchange(self, sent: bytes) -> "RawConnection":
        wire = self.connect()
        wire.sock.sendall(sent)
        return wire

    def settle(self, is_settled: Callable[[], bool]) -> None:
        wait_until(is_settled, "it to settle")


class RawConnection:
    """A client that sees every byte."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def reply(self, *, has_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        while b"\r\n\r\n" not in self.rest:
            self.rest += self._received()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        length = int(fields.get("Content-Length", 0)) if has_body else 0
        body = bytearray(self.rest)
        while len(body) < length:
            body += self._received()
        self.rest = bytes(body[length:])
        return int(lines[0].split()[1]), fields, bytes(body[:length])

    def _received(self) -> bytes:
        data = self.sock.recv(1 << 20)
        assert data, f"closed after {self.rest[:200]!r}"
        return data

    def read_to_end(self) -> bytes:
        """Return everything until the server closes or resets the connection."""
        received = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while data := self.sock.recv(1 << 20):
                received += data
        return bytes(received)

    def is_ended(self) -> bool:
        """Whether the server closes the connection cleanly, without another byte."""
        return not self.rest and self.sock.recv(1) == b""
