"""Connections that take only so much processor time.

httpx skips any number of interim responses and joins chunks of any size. A server that never stops sending
them would keep a processor busy until the deadline.
"""

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore


class BoundedBackend(httpcore.SyncBackend):
    """For one thread, which may work this long from now on."""

    def __init__(self, seconds: float) -> None:
        self._until = time.thread_time() + seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        connected = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _BoundedStream(connected, self._until)


class _BoundedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream, self._until = stream, until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if time.thread_time() > self._until:
            raise httpcore.ReadError("the answer takes too much work to read")
        return self._stream.read(max_bytes, timeout)

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
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._until)
