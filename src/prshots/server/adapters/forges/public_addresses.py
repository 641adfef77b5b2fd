"""Connect to public addresses only.

Owners of projects type in a forge's address, and our network may have servers that trust us. We resolve a
name once and connect to the address that we checked, because the next answer may differ.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from prshots.contract.errors import ForgeError
from prshots.forges.deadline import current_deadline
from prshots.server.adapters.tls import tls_context
from prshots.server.config.values import Networks, is_in

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # an IPv4 address in its last four bytes
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")  # includes the metadata server of a cloud
_UNICAST = ipaddress.ip_network("2000::/3")

BUSY_SECONDS = 2.0
"""Twenty times what reading 8 MB takes."""


class PublicTransport(httpx.HTTPTransport):
    """Raises ForgeError for an address on a private network that isn't among the `allowed` ones.

    With `only_https`, plain http is for allowed networks only. `setting` is the one that allows them.
    All requests are for one thread, and reading their answers may take `busy_seconds` of processor time.
    """

    def __init__(
        self,
        allowed: Networks = (),
        *,
        only_https: bool = False,
        setting: str = "PRSHOTS_FORGE_HOSTS",
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self._allowed, self._only_https, self._setting = allowed, only_https, setting
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls_context(),
            # The pool knows connections by address, and another host there has another certificate.
            max_keepalive_connections=0,
            network_backend=_BoundedBackend(busy_seconds),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.raw_host.decode()
        addresses = self.check(host, request.url.netloc.decode(), is_https=request.url.scheme == "https")
        if time.monotonic() > current_deadline():  # looking up the name took too long
            raise httpx.ConnectTimeout("the name server did not answer in time")
        to_address = httpx.Request(
            request.method,
            request.url.copy_with(host=addresses[0]),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return super().handle_request(to_address)

    def check(self, host: str, shown: str, *, is_https: bool) -> list[str]:
        """Return the host's addresses. Raises ForgeError, or ConnectError if it has none."""
        addresses = _resolve(host)
        others = [address for address in addresses if not is_in(self._allowed, address)]
        if not all(map(_is_public, others)):
            raise ForgeError(
                f"{shown} is on a private network: the operator can allow it with {self._setting}"
            )
        if others and self._only_https and not is_https:
            raise ForgeError(f"the address uses http, which anyone on the way can read: use https://{shown}")
        return addresses


class _BoundedBackend(httpcore.SyncBackend):
    """Connections for one thread, which may work this long from now on.

    httpx skips any number of interim responses and joins chunks of any size. A server that never stops
    sending them would keep a processor busy until the deadline.
    """

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


def transport_to(api_url: str, allowed_hosts: Collection[str]) -> PublicTransport | None:
    """Return a transport for this address, or None if the operator allows its host.

    httpx then uses its own transport, and the proxy in the environment. An allowed host without a port allows
    all its ports.
    """
    parts = urlsplit(api_url.lower())
    is_allowed = not {parts.netloc, parts.hostname}.isdisjoint(allowed_hosts)
    return None if is_allowed else PublicTransport()


def _resolve(host: str) -> list[str]:
    """Return the addresses, reachable ones first."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(str(error)) from error
    return [str(entry[4][0]) for entry in found]


def _is_public(text: str) -> bool:
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        in_nat64 = ipaddress.IPv4Address(address.packed[-4:]) if address in _NAT64 else None
        inner = address.ipv4_mapped or in_nat64 or address.sixtofour
        if inner is None and address not in _UNICAST:  # such as site-local, or an old form of an IPv4 address
            return False
        address = inner or address
    is_assigned = address not in _PROTOCOLS  # Python 3.11 calls some of these global
    return address.is_global and is_assigned and not address.is_multicast
