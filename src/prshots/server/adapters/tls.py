"""TLS for connections to other servers."""

import ssl
from functools import cache

import httpx


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context that verifies servers. Making it takes 45 ms, so there is only one."""
    return httpx.create_ssl_context()
