"""Connections that read only so many bytes.

httpx skips interim responses, however many. A server that sends them without an end would keep a processor
busy until the deadline.
"""

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore


class BoundedBackend(httpcore.SyncBackend):
    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        connected = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _BoundedStream(connected, self._most)


class _BoundedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, left: int) -> None:
        self._stream, self._left = stream, left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if not self._left:
            raise httpcore.ReadError("the answer is too long")
        found = self._stream.read(min(max_bytes, self._left), timeout)
        self._left -= len(found)
        return found

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as in the base class
        return self._stream.get_extra_info(info)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._left)
