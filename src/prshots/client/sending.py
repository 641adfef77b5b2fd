"""Retry failed requests, and wait for rate limits.

The service and the forges are called in the same way. After a dropped connection or a 5xx, the request is
sent again, with a pause that doubles each time. After a rate limit, all requests of this sender wait.
"""

import email.utils
import random
import re
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import httpx

from prshots.contract.errors import CallError, RateLimitedError, UnreachableError
from prshots.contract.redaction import redact

TRIES = 5
"""How often a request is sent if it gets no reply or a 5xx."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
LONGEST_LIMIT_SECONDS = 15 * 60.0
LIMITS = 60
"""How often one request may be rate limited. Others share the limit, so its turn may take a while."""

_TEMPORARY = {408, 500, 502, 503, 504, 507, *range(520, 531)}

_SECONDARY_LIMIT = re.compile("secondary rate limit|abuse detection", re.IGNORECASE)
"""GitHub's words, and those of its older Enterprise Servers."""

OnWait = Callable[[str, float], None]
"""Called with the reason for a pause and its seconds, from any thread."""


def ignore_wait(reason: str, seconds: float) -> None:
    del reason, seconds


class Sender:
    """Sends requests. Thread-safe."""

    def __init__(self, client: httpx.Client, on_wait: OnWait = ignore_wait) -> None:
        self._client = client
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._limited_until = 0.0
        self._told: dict[str, float] = {}
        self._closed = threading.Event()

    def close(self) -> None:
        """Close the client. Requests that are waiting fail immediately."""
        self._closed.set()
        self._client.close()

    def send(self, make_request: Callable[[], httpx.Request], *, tries: int = TRIES) -> httpx.Response:
        """Return the reply, which is a 5xx only if every attempt got one. Each attempt makes a new request.

        Raises UnreachableError, RateLimitedError.
        """
        tried = limits = 0
        while True:
            self._wait_for_the_limit()
            request = make_request()
            reply = self._reply_to(request)
            if isinstance(reply, httpx.Response):
                if (asked := limit_of(reply)) is not None:
                    limits += 1
                    self._limit(request, asked, limits)
                    continue
                if reply.status_code not in _TEMPORARY:
                    return reply
            tried += 1
            if tried < tries:
                self._pause(request, reply, tried)
            elif isinstance(reply, httpx.Response):
                return reply
            else:
                raise UnreachableError(_unreachable(request, reply)) from reply

    def _reply_to(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        """Return the reply, or the error if a retry may help."""
        try:
            return self._client.send(request)
        except httpx.RequestError as error:
            if self._closed.is_set():
                raise UnreachableError("stopped") from error
            if permanent := _permanent(request, error):
                raise permanent from error
            return error
        except RuntimeError as error:  # httpx raises it if another thread has closed the client
            if self._closed.is_set():
                raise UnreachableError("stopped") from error
            raise

    def _limit(self, request: httpx.Request, asked: float, limits: int) -> None:
        if limits == LIMITS or asked > LONGEST_LIMIT_SECONDS:
            raise RateLimitedError(f"{request.url.host} limits the rate and asks to wait {asked:.0f} s")
        asked = max(asked, FIRST_PAUSE_SECONDS)
        with self._lock:
            self._limited_until = max(self._limited_until, time.monotonic() + asked)
        self._tell("rate limited", asked)

    def _wait_for_the_limit(self) -> None:
        while (left := self._limited_until - time.monotonic()) > 0:
            self._sleep(left)
        self._sleep(0)

    def _pause(self, request: httpx.Request, reply: httpx.Response | httpx.RequestError, tries: int) -> None:
        if isinstance(reply, httpx.Response):
            reason = f"{request.url.host} answered {reply.status_code}"
            asked = min(retry_after(reply) or 0.0, LONGEST_PAUSE_SECONDS)
        else:
            reason, asked = "connection lost", 0.0
        seconds = max(_pause_before(tries), asked)
        self._tell(reason, seconds)
        self._sleep(seconds)

    def _tell(self, reason: str, seconds: float) -> None:
        """Report a pause once, even if many threads run into it."""
        now = time.monotonic()
        with self._lock:
            is_news = now >= self._told.get(reason, 0.0) and not self._closed.is_set()
            if is_news:
                self._told[reason] = now + seconds
        if is_news:
            self._on_wait(reason, seconds)

    def _sleep(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise UnreachableError("stopped")


def limit_of(reply: httpx.Response) -> float | None:
    """Return how long to wait before the next request; None if the reply is not a rate limit."""
    headers = reply.headers
    if reply.status_code not in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.FORBIDDEN):
        return None
    asked = retry_after(reply)
    if asked is None and headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining")) == "0":
        with suppress(ValueError):  # the reset is a Unix time
            reset = float(headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", "")))
            asked = max(reset - time.time(), 0.0) + 1
    if asked is None and (
        reply.status_code == httpx.codes.TOO_MANY_REQUESTS
        or _SECONDARY_LIMIT.search(reply.text)  # GitHub's 403 without further headers: wait a minute
    ):
        asked = LONGEST_PAUSE_SECONDS
    return asked


def retry_after(reply: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After header, which may also be a date."""
    given = reply.headers.get("retry-after", "").strip()
    if given.isascii() and given.isdigit():
        return float(given)
    with suppress(ValueError):
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    return None


def _pause_before(tries: int) -> float:
    """Return a pause that doubles each time. The jitter spreads clients that failed at the same moment."""
    return float(FIRST_PAUSE_SECONDS * 2 ** (tries - 1) * random.uniform(1.0, 1.5))  # noqa: S311 - not a secret


def _permanent(request: httpx.Request, error: httpx.RequestError) -> CallError | None:
    """Return an error for a problem that no retry solves; None if a retry may help."""
    if isinstance(error, httpx.LocalProtocolError):  # its message may show the token
        return CallError(f"cannot call {_address(request)}: a header has invalid characters")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects):
        return UnreachableError(_unreachable(request, error))
    if isinstance(cause := _tls_error(error), ssl.SSLCertVerificationError):
        return UnreachableError(
            f"the certificate of {_address(request)} is not trusted: {cause.verify_message}. If you use your "
            "own certificate authority, set SSL_CERT_FILE to the file with its certificate"
        )
    if cause is not None and cause.reason == "WRONG_VERSION_NUMBER":
        return UnreachableError(f"{_address(request)} does not speak TLS: try http:// instead of https://")
    return None


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _unreachable(request: httpx.Request, error: httpx.RequestError) -> str:
    return f"cannot reach {_address(request)}: {redact(str(error)) or type(error).__name__}"


def _address(request: httpx.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"
