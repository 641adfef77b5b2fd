"""Fetch from one of our own addresses, as a stranger would, and say in plain words why it did not work."""

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


class UnreachableError(Exception):
    """The address did not answer; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: httpx.Headers
    body: bytes
    seconds: float
    clock_ahead: float | None
    """By how many seconds the other clock is ahead of ours; None, where the reply has no date."""

    @property
    def is_ok(self) -> bool:
        return self.status == httpx.codes.OK


async def fetch(url: str, headers: Mapping[str, str] | None = None, most_bytes: int = 64 * 1024) -> Reply:
    """Ask once: no cookies, no redirects, no proxy, at most this much of a body. Raises UnreachableError."""
    started = time.time()
    client = httpx.AsyncClient(
        verify=_trusted(), trust_env=False, follow_redirects=False, timeout=REQUEST_SECONDS
    )
    try:
        async with (
            asyncio.timeout(REQUEST_SECONDS),
            client,
            client.stream("GET", url, headers=headers) as reply,
        ):
            came, body = time.time(), b""
            async for chunk in reply.aiter_raw():
                body += chunk
                if len(body) > most_bytes:
                    break
    except TimeoutError:
        raise UnreachableError(f"no answer within {REQUEST_SECONDS:.0f} s; {_LET_THROUGH}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnreachableError(_explained(error)) from error
    ahead = _ahead(reply.headers.get("Date"), (started + came) / 2)
    return Reply(reply.status_code, reply.headers, body, time.time() - started, ahead)


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Trust whom the system trusts, as GitHub Enterprise and the browsers of a company do."""
    return ssl.create_default_context()


_LET_THROUGH = "see that the network and firewalls on the way let it through"


def _explained(error: Exception) -> str:
    causes = list(_causes(error))
    for kind, words in (
        (socket.gaierror, "the name is not known: check the address and its DNS entry"),
        (
            ssl.SSLCertVerificationError,
            "its certificate is not valid for this name, or not from an authority that this machine trusts",
        ),
        (ssl.SSLError, "it does not speak TLS there: is it http:// instead of https://, or another port?"),
        (ConnectionRefusedError, "nothing listens there: start it (prshots serve), or correct the address"),
        (TimeoutError, f"no answer; {_LET_THROUGH}"),
        (httpx.TimeoutException, f"no answer within {REQUEST_SECONDS:.0f} s; {_LET_THROUGH}"),
        (
            httpx.RemoteProtocolError,
            "what answers there does not speak HTTP: is it https:// instead of http://?",
        ),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return words
    return f"{type(error).__name__}; {_LET_THROUGH}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Return an exception and all that it came from: libraries wrap the one that says what happened."""
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
