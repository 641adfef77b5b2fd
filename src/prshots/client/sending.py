"""Sending again what did not arrive, and waiting as long as a limit asks for.

The service and the forges are called alike: a dropped connection or a 5xx is tried again after a pause that
doubles; a rate limit says how long to wait, and then all that goes through this sender waits.
"""

import email.utils
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import httpx

from prshots.errors import RateLimitedError, UnreachableError

TRIES = 5
"""How often a request is sent that gets no answer or a 5xx."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
LONGEST_LIMIT_SECONDS = 15 * 60.0
LIMITS = 60
"""How often one request may find the limit used up: others share it, so its turn may take a while."""

_TEMPORARY = {408, 500, 502, 503, 504, 507, *range(520, 531)}

OnWait = Callable[[str, float], None]
"""Told why there is a pause, and how many seconds it takes."""


def no_words(reason: str, seconds: float) -> None:
    del reason, seconds


class Sender:
    """Sends requests from any number of threads."""

    def __init__(self, client: httpx.Client, on_wait: OnWait = no_words) -> None:
        self._client = client
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._limited_until = 0.0
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
            try:
                reply = self._client.send(request)
            except httpx.TransportError as error:
                tries += 1
                if tries == TRIES or isinstance(error, httpx.UnsupportedProtocol):
                    raise UnreachableError(_unreachable(request, error)) from error
                self._pause("connection lost", _pause_before(tries))
                continue
            if (asked := limit_of(reply)) is not None:
                limits += 1
                if limits == LIMITS or asked > LONGEST_LIMIT_SECONDS:
                    raise RateLimitedError(f"{request.url.host} limits the rate, and asks for {asked:.0f} s")
                self._limit(asked)
                continue
            if reply.status_code not in _TEMPORARY:
                return reply
            tries += 1
            if tries == TRIES:
                return reply
            asked = retry_after(reply) or 0.0
            pause = max(_pause_before(tries), min(asked, LONGEST_PAUSE_SECONDS))
            self._pause(f"{request.url.host} answered {reply.status_code}", pause)

    def _limit(self, seconds: float) -> None:
        with self._lock:
            until = time.monotonic() + seconds
            is_news = until > self._limited_until + 1
            self._limited_until = max(self._limited_until, until)
        if is_news:
            self._on_wait("rate limited", seconds)

    def _wait_for_the_limit(self) -> None:
        while (left := self._limited_until - time.monotonic()) > 0:
            self._sleep(left)
        if self._closed.is_set():
            raise UnreachableError("stopped")

    def _pause(self, reason: str, seconds: float) -> None:
        self._on_wait(reason, seconds)
        self._sleep(seconds)

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
    if asked is None and reply.status_code == httpx.codes.TOO_MANY_REQUESTS:
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


def _unreachable(request: httpx.Request, error: httpx.TransportError) -> str:
    address = f"{request.url.scheme}://{request.url.netloc.decode()}"
    return f"{address} cannot be reached: {error or type(error).__name__}"
