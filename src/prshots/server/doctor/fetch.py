"""Fetch one of our public URLs from the outside, and explain failures."""

import asyncio
import functools
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import httpx

REQUEST_SECONDS = 10.0


class FetchError(Exception):
    """The URL didn't answer. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: httpx.Headers
    body: bytes
    seconds: float
    clock_ahead: float | None
    """How many seconds the server's clock is ahead of ours, or None without a valid Date header."""

    @property
    def is_ok(self) -> bool:
        return self.status == httpx.codes.OK


async def fetch(
    url: str,
    headers: Mapping[str, str] | None = None,
    most_bytes: int = 64 * 1024,
    to_start: str = "prshots serve",
) -> Response:
    """Send one GET without cookies, redirects or a proxy, and read at most `most_bytes`. Raises FetchError.

    `to_start` names the program that should be running there.
    """
    started = time.time()
    client = httpx.AsyncClient(
        verify=_trusted(), trust_env=False, follow_redirects=False, timeout=REQUEST_SECONDS
    )
    try:
        async with (
            asyncio.timeout(REQUEST_SECONDS),
            client,
            client.stream("GET", url, headers=headers) as response,
        ):
            responded, body = time.time(), b""
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > most_bytes:
                    break
    except TimeoutError:
        raise FetchError(f"no answer within {REQUEST_SECONDS:.0f} s; {_CHECK_NETWORK}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchError(_explain(error, to_start)) from error
    ahead = _ahead(response.headers.get("Date"), (started + responded) / 2)
    return Response(response.status_code, response.headers, body, time.time() - started, ahead)


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Trust the system's certificate authorities, as browsers and an internal GitHub Enterprise do."""
    return ssl.create_default_context()


_CHECK_NETWORK = "check that the network and firewalls let the request through"


def _explain(error: Exception, to_start: str) -> str:
    causes = list(_causes(error))
    for kind, words in (
        (socket.gaierror, "unknown host name: check the URL and its DNS entry"),
        (
            ssl.SSLCertVerificationError,
            "its certificate is not valid for this name, or not from an authority that this machine trusts",
        ),
        (ssl.SSLError, "it does not speak TLS there: use http:// instead of https://, or another port"),
        (ConnectionRefusedError, f"nothing listens there: start {to_start}, or correct the URL"),
        (TimeoutError, f"no answer; {_CHECK_NETWORK}"),
        (httpx.TimeoutException, f"no answer within {REQUEST_SECONDS:.0f} s; {_CHECK_NETWORK}"),
        (
            httpx.RemoteProtocolError,
            "the server does not speak HTTP there: use https:// instead of http://, or another port",
        ),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return words
    return f"{type(error).__name__}; {_CHECK_NETWORK}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all its causes, because libraries wrap the one that explains the failure."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from _causes(one)
        error = error.__cause__ or error.__context__


def _ahead(date: str | None, now: float) -> float | None:
    try:
        return None if date is None else parsedate_to_datetime(date).timestamp() + 0.5 - now
    except ValueError:
        return None
