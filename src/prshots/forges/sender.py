"""Retry failed requests, and wait for rate limits.

Calls to the service and to forges work the same way. After a dropped connection or a 5xx, this sends the
request again, with a pause that doubles each time. After a rate limit, all requests of this sender wait.
Uploads also wait if the service reports that none are left. Nothing waits past the command's
deadline (`deadline.py`).
"""

import email.utils
import errno
import json
import math
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

import httpx

from prshots.contract.errors import QUOTA_REACHED, CallError, RateLimitedError, UnreachableError
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.contract.redaction import redact
from prshots.contract.statements import message
from prshots.forges.deadline import current_deadline

TRIES = 5
"""How many times to send a request that gets no reply or a 5xx."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
LONGEST_LIMIT_SECONDS = 15 * 60.0
LIMITS = 60
"""How many times one request may be rate limited. Others share the limit, so its turn may take a while."""

MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 50

_TEMPORARY = {408, 500, 502, 503, 504, 507, *range(520, 531)}

_SECONDARY_LIMIT = re.compile(rb"secondary rate limit|abuse detection", re.IGNORECASE)
"""The words of GitHub, and of its older Enterprise Servers."""

_UNIX_TIME = re.compile(r"[0-9]{1,15}(?:\.[0-9]+)?")

_SAID_FROM_SECONDS = 1.0
"""A shorter wait for the limit isn't worth a line: near the limit, there is one every second."""

_Reply = httpx.Response | httpx.RequestError
"""The reply to a request, or the error that ended it."""

OnWait = Callable[[str], None]
"""Called from any thread with a sentence about a pause: its reason and its length."""


def ignore_wait(words: str) -> None:
    del words


class _Pace:
    """Paces uploads by the reported limit, to avoid refusals. Not thread-safe.

    The service may or may not have counted an upload in transit. So there is only room for another if more
    are left than are in transit. At the limit, one upload at a time tests whether there is room again.
    """

    def __init__(self) -> None:
        self.limit: RateLimit | None = None
        self._until = 0.0
        self._on_their_way = 0

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next upload may be sent, or None to wait for a reply first."""
        if self.limit is None or self.limit.remaining > self._on_their_way:
            return 0.0
        return None if self._on_their_way else max(0.0, self._until - now)

    def start(self) -> None:
        self._on_their_way += 1

    def end(self) -> None:
        self._on_their_way -= 1

    def update(self, limit: RateLimit | None, now: float) -> None:
        """Record the limit from a reply. None means that the service isn't counting uploads now.

        Replies may arrive out of order. Until the limit resets, the lowest number counts.
        """
        if limit is None:
            self.limit = None
        elif self.limit is None or limit.remaining <= self.limit.remaining or now >= self._until:
            self.limit, self._until = limit, now + limit.seconds


class Sender:
    """Sends requests, until the deadline of the command that creates it. Thread-safe."""

    def __init__(self, client: httpx.Client, on_wait: OnWait = ignore_wait) -> None:
        self._client = client
        client.headers["Accept-Encoding"] = "identity"
        client.event_hooks["response"].append(self._limit_body)
        self._on_wait = on_wait
        self._deadline = current_deadline()
        self._lock = threading.Lock()
        self._limited_until = 0.0
        self._pace = _Pace()
        self._pace_changed = threading.Condition()
        self._told: dict[str, float] = {}
        self._closed = threading.Event()

    def close(self) -> None:
        """Close the client. Waiting requests fail immediately."""
        self._closed.set()
        with self._pace_changed:
            self._pace_changed.notify_all()
        self._client.close()

    def send(
        self, make_request: Callable[[], httpx.Request], *, tries: int = TRIES, is_upload: bool = False
    ) -> httpx.Response:
        """Return the reply, which is only a 5xx if every attempt got one. Each attempt makes a new request.

        Raises UnreachableError, RateLimitedError.
        """
        tried = limits = 0
        while True:
            self._wait_for_the_limit()
            reply = self._send_paced(make_request) if is_upload else self._send_once(make_request())
            if isinstance(reply, httpx.Response):
                if (asked := limit_of(reply)) is not None:
                    limits += 1
                    self._note_limit(reply, asked, limits)
                    continue
                if reply.status_code not in _TEMPORARY or QUOTA_REACHED.encode() in reply.content:
                    return reply
            tried += 1
            if tried < tries:
                self._pause(reply, tried, tries)
            elif isinstance(reply, httpx.Response):
                return reply
            else:
                problem = no_reply_message(reply.request, reply)
                words = message("after_tries", problem=problem, tries=tried) if tried > 1 else problem
                raise UnreachableError(words) from reply

    def _send_paced(self, make_request: Callable[[], httpx.Request]) -> _Reply:
        """Send an upload as soon as the service has room for it."""
        self._wait_for_a_place()
        reply: _Reply | None = None
        try:
            reply = self._send_once(make_request())
        finally:
            with self._pace_changed:
                self._pace.end()
                if isinstance(reply, httpx.Response):
                    limit = RateLimit.of(reply.headers)
                    if limit or reply.is_success:
                        self._pace.update(limit, time.monotonic())
                self._pace_changed.notify_all()
        return reply

    def _send_once(self, request: httpx.Request) -> _Reply:
        """Return the reply, or the error if a retry may help."""
        left = max(self._deadline - time.monotonic(), 0.001)  # past the deadline, it times out
        limits = request.extensions["timeout"]
        request.extensions["timeout"] = {step: min(seconds, left) for step, seconds in limits.items()}
        try:
            return self._client.send(request)
        except httpx.RequestError as error:
            if self._closed.is_set() and time.monotonic() < self._deadline:
                raise UnreachableError(message("stopped")) from error
            if permanent := permanent_error(request, error):
                raise permanent from error
            return error
        except RuntimeError as error:  # httpx raises this if another thread has closed the client
            if self._closed.is_set():
                raise UnreachableError(message("stopped")) from error
            raise

    def _limit_body(self, reply: httpx.Response) -> None:
        reply.stream = _LimitedBody(reply, self._deadline)

    def _note_limit(self, reply: httpx.Response, asked: float, limits: int) -> None:
        limit = RateLimit.of(reply.headers)
        reason = _limit_message(limit) if limit else message("limits_the_rate", host=_place(reply.request))
        if limits == LIMITS or asked > LONGEST_LIMIT_SECONDS:
            error = RateLimitedError(message("asks_to_wait", reason=reason, seconds=f"{asked:.0f}"))
            error.retry_after = asked
            raise error
        asked = max(asked, FIRST_PAUSE_SECONDS)
        self._tell_wait(reason, asked)  # first: no request may wait for a limit that outlasts the deadline
        with self._lock:
            self._limited_until = max(self._limited_until, time.monotonic() + asked)

    def _wait_for_the_limit(self) -> None:
        while (left := self._limited_until - time.monotonic()) > 0:
            self._sleep(left)
        self._sleep(0)

    def _wait_for_a_place(self) -> None:
        while True:
            with self._pace_changed:
                seconds = self._pace.wait(time.monotonic())
                if seconds == 0:
                    self._pace.start()
                    return
                limit = self._pace.limit
                if seconds is None and not self._closed.is_set():
                    self._pace_changed.wait()
            if seconds and limit and seconds > _SAID_FROM_SECONDS:
                self._tell_wait(_limit_message(limit), seconds)
            self._sleep(seconds or 0)

    def _pause(self, reply: _Reply, tried: int, tries: int) -> None:
        if isinstance(reply, httpx.Response):
            reason = message("answered", who=_place(reply.request), status=reply.status_code)
            asked = min(retry_after(reply) or 0.0, LONGEST_PAUSE_SECONDS)
        else:
            reason, asked = no_reply_message(reply.request, reply), 0.0
        # The pause doubles each time. The jitter spreads out clients that failed at the same time.
        jitter = random.uniform(1.0, 1.5)  # noqa: S311 - not a secret
        seconds = max(FIRST_PAUSE_SECONDS * 2 ** (tried - 1) * jitter, asked)
        words = message("retrying", reason=reason, seconds=math.ceil(seconds), tried=tried, tries=tries)
        self._tell(reason, words, seconds)
        self._sleep(seconds)

    def _tell_wait(self, reason: str, seconds: float) -> None:
        self._tell(reason, message("waiting", reason=reason, seconds=math.ceil(seconds)), seconds)

    def _tell(self, reason: str, words: str, seconds: float) -> None:
        """Report a pause once, even if it affects many threads, and an equal one never again.

        Raises UnreachableError if the pause would outlast the deadline.
        """
        now = time.monotonic()
        if now + seconds > self._deadline:
            error = UnreachableError(message("gave_up", reason=reason))
            error.retry_after = seconds
            raise error
        with self._lock:
            is_news = now >= max(self._told.get(key, 0.0) for key in (reason, words))
            if is_news:
                self._told |= {reason: now + seconds, words: math.inf}
        if is_news and not self._closed.is_set():
            self._on_wait(words)

    def _sleep(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise UnreachableError(message("stopped"))


class _LimitedBody(httpx.SyncByteStream):
    """The body of a reply. Raises CallError instead of filling the memory, and ReadTimeout at the deadline.

    The timeouts of httpx are for each part of a reply, and it may arrive in many.
    """

    def __init__(self, reply: httpx.Response, deadline: float) -> None:
        self._body = cast("httpx.SyncByteStream", reply.stream)
        self._request, self._deadline = reply.request, deadline
        self._error = CallError(message("reply_too_large", host=_place(reply.request)))
        if reply.headers.get("content-encoding", "identity") != "identity":  # we asked for none
            raise self._error

    def __iter__(self) -> Iterator[bytes]:
        left = MAX_REPLY_BYTES
        for chunk in self._body:
            left -= len(chunk)
            if left < 0:
                raise self._error
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("", request=self._request)
            yield chunk

    def close(self) -> None:
        self._body.close()


def limit_of(reply: httpx.Response) -> float | None:
    """Return how long to wait before the next request, or None if the reply isn't a rate limit."""
    headers = reply.headers
    if reply.status_code not in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.FORBIDDEN):
        return None
    # Our service's Retry-After is always a minute; its RateLimit says when there is room again.
    asked = float(limit.seconds) if (limit := RateLimit.of(headers)) else retry_after(reply)
    if asked is None and headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining")) == "0":
        reset = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))
        if _UNIX_TIME.fullmatch(reset):
            asked = max(float(reset) - time.time(), 0.0) + 1
    if asked is None and (
        reply.status_code == httpx.codes.TOO_MANY_REQUESTS
        or _SECONDARY_LIMIT.search(reply.content)  # GitHub's 403 without further headers: wait a minute
    ):
        asked = LONGEST_PAUSE_SECONDS
    return asked


def retry_after(reply: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After header, which may also be a date."""
    given = reply.headers.get("retry-after", "").strip()
    if given.isascii() and given.isdigit():
        return float(given[:15])  # enough to see that it is too long, and never infinite
    with suppress(ValueError, OverflowError):  # the offset of a time zone may be any number
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    return None


def json_of(reply: httpx.Response) -> Any:  # noqa: ANN401 - any JSON value
    """Return the reply's JSON, or None if it is something else or nested too deeply to print."""
    try:
        value = json.loads(reply.content)
    except (ValueError, RecursionError):
        return None
    return None if _is_deeper(value, MAX_DEPTH) else value


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def json_object(reply: httpx.Response) -> dict[str, Any]:
    """Return the reply's JSON object, or an empty one if it is something else."""
    value = json_of(reply)
    return value if isinstance(value, dict) else {}


def permanent_error(request: httpx.Request, error: httpx.RequestError) -> CallError | None:
    """Return an error for a problem that no retry solves, or None if a retry may help."""
    if isinstance(error, httpx.LocalProtocolError):  # its message may show the token
        return CallError(f"cannot call {origin(request.url)}: a header has invalid characters")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects):
        return UnreachableError(f"cannot call {origin(request.url)}: {redact(str(error))}")
    cause = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = cause.verify_message.rstrip(".")
        return UnreachableError(
            f"the certificate of {origin(request.url)} is not trusted: {why}. If you use your own "
            "certificate authority, set SSL_CERT_FILE to the file with its certificate"
        )
    if cause is not None and cause.reason == "WRONG_VERSION_NUMBER":
        return UnreachableError(
            f"{origin(request.url)} does not speak TLS: does its address begin with http://?"
        )
    return None


def no_reply_message(request: httpx.Request, error: httpx.RequestError) -> str:
    """Return the reason for a missing reply, in plain words."""
    match error:
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return message("cannot_connect", host=_place(request), why=_connection_error(error))
        case httpx.ProxyError():
            return f"the proxy cannot connect to {_place(request)} ({redact(str(error))})"
        case httpx.TimeoutException():
            return message("no_answer", host=_place(request))
        case _:
            return message("lost_connection", host=_place(request))


def _connection_error(error: httpx.RequestError) -> str:
    for cause in _causes(error):
        match cause:
            case ConnectionRefusedError():
                return message("connection_refused")
            case socket.gaierror():
                return message("host_not_found")
            case TimeoutError() | httpx.TimeoutException():
                return message("timed_out")
            case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
                return message("network_unreachable")
            case ConnectionResetError() | ssl.SSLError():
                return "connection closed"
    return redact(str(error)) or "no connection"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _place(request: httpx.Request) -> str:
    return request.url.netloc.decode()


def origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def _limit_message(limit: RateLimit) -> str:
    is_projects = limit.policy is LimitPolicy.PROJECT
    whose = message("projects_own_limit") if is_projects else "PRSHOTS_UPLOADS_PER_MINUTE"
    return message("limit_of_uploads", quota=f"{limit.quota:,}", whose=whose)
