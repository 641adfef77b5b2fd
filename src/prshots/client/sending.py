"""Sending again what did not arrive, and waiting as long as a limit asks for.

The service and the forges are called alike: a dropped connection or a 5xx is tried again after a pause that
doubles; a rate limit says how long to wait, and then all that goes through this sender waits.
"""

import email.utils
import random
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import httpx

from prshots.contract.errors import CallError, RateLimitedError, UnreachableError
from prshots.contract.redaction import redact

TRIES = 5
"""How often a request is sent that gets no answer or a 5xx."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
LONGEST_LIMIT_SECONDS = 15 * 60.0
LIMITS = 60
"""How often one request may find the limit used up: others share it, so its turn may take a while."""

_TEMPORARY = {408, 500, 502, 503, 504, 507, *range(520, 531)}

OnWait = Callable[[str, float], None]
"""Told why there is a pause, and how many seconds it takes; from whichever thread."""


def no_words(reason: str, seconds: float) -> None:
    del reason, seconds


class Sender:
    """Sends requests from any number of threads."""

    def __init__(self, client: httpx.Client, on_wait: OnWait = no_words) -> None:
        self._client = client
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._limited_until = 0.0
        self._told: dict[str, float] = {}
        self._closed = threading.Event()

    def close(self) -> None:
        """Have whoever waits give up at once."""
        self._closed.set()
        self._client.close()

    def send(self, make_request: Callable[[], httpx.Request]) -> httpx.Response:
        """Return the reply, read whole; a 5xx only when it stayed one. The request is made anew each time.

        Raises UnreachableError, RateLimitedError.
        """
        tries = limits = 0
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
            tries += 1
            if tries < TRIES:
                self._pause(request, reply, tries)
            elif isinstance(reply, httpx.Response):
                return reply
            else:
                raise UnreachableError(_unreachable(request, reply)) from reply

    def _reply_to(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        """Return the reply, or what went wrong on the way, if another try may go better."""
        try:
            return self._client.send(request)
        except httpx.RequestError as error:
            if self._closed.is_set():
                raise UnreachableError("stopped") from error
            if refusal := _lasting(request, error):
                raise refusal from error
            return error
        except RuntimeError as error:  # what httpx says of a client that another thread has closed
            if self._closed.is_set():
                raise UnreachableError("stopped") from error
            raise

    def _limit(self, request: httpx.Request, asked: float, limits: int) -> None:
        if limits == LIMITS or asked > LONGEST_LIMIT_SECONDS:
            raise RateLimitedError(f"{request.url.host} limits the rate, and asks for {asked:.0f} s")
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
        """Say it once, however many threads meet the same."""
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
    """Return how long to wait before the next request, if this reply says that there were too many."""
    headers = reply.headers
    if reply.status_code not in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.FORBIDDEN):
        return None
    asked = retry_after(reply)
    if asked is None and headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining")) == "0":
        with suppress(ValueError):  # when it begins anew, as a Unix time
            reset = float(headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", "")))
            asked = max(reset - time.time(), 0.0) + 1
    if asked is None and (
        reply.status_code == httpx.codes.TOO_MANY_REQUESTS
        or "secondary rate limit" in reply.text.lower()  # GitHub's 403 that says no more: wait a minute
    ):
        asked = LONGEST_PAUSE_SECONDS
    return asked


def retry_after(reply: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After, which may also be a date."""
    given = reply.headers.get("retry-after", "").strip()
    if given.isascii() and given.isdigit():
        return float(given)
    with suppress(ValueError):
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    return None


def _pause_before(tries: int) -> float:
    """Return a pause that doubles each time, and differs between those who were cut off together."""
    return float(FIRST_PAUSE_SECONDS * 2 ** (tries - 1) * random.uniform(1.0, 1.5))  # noqa: S311 - no secret


def _lasting(request: httpx.Request, error: httpx.RequestError) -> CallError | None:
    """Return what to say of trouble that no other try would end."""
    if isinstance(error, httpx.LocalProtocolError):  # whose own words would show the header, maybe the token
        return CallError(f"{_address(request)} cannot be called: a header has characters that none may have")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects):
        return UnreachableError(_unreachable(request, error))
    if isinstance(cause := _tls_trouble(error), ssl.SSLCertVerificationError):
        return UnreachableError(
            f"{_address(request)} has a certificate that is not trusted: {cause.verify_message}. If it is of "
            "an authority of your own, name the file with that authority's certificate in SSL_CERT_FILE"
        )
    if cause is not None and cause.reason == "WRONG_VERSION_NUMBER":
        return UnreachableError(f"{_address(request)} does not speak TLS: is its address http:// …?")
    return None


def _tls_trouble(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _unreachable(request: httpx.Request, error: httpx.RequestError) -> str:
    return f"{_address(request)} cannot be reached: {redact(str(error)) or type(error).__name__}"


def _address(request: httpx.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"
