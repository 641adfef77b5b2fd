"""When the client retries, how long it waits, and when it gives up: the rules that both clients share.

The replies come from an in-memory transport and the clock is fake, so no test waits. Retries over HTTP are tested in
`test_sending.py`.
"""

import asyncio
import errno
import math
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from prshots.client import service
from prshots.client.service import Client
from prshots.client.shots import ShotFile
from prshots.client.upload import upload_all
from prshots.contract.errors import (
    CallError,
    InvalidInputError,
    RateLimitedError,
    UnauthorizedError,
    UnreachableError,
)
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.contract.replies import Uploaded
from prshots.contract.statements import called
from prshots.forges import deadline, sender
from prshots.forges.deadline import deadline_after
from prshots.forges.sender import Sender, limit_of, no_reply_message, retry_after
from prshots.server.adapters.counters.memory import MemoryCounter
from support.stores_and_records import a_project
from support.vectors import cases, vectors

ERRORS: dict[str, type[Exception]] = {
    "failed": CallError,
    "invalid": InvalidInputError,
    "rate limited": RateLimitedError,
    "unauthorized": UnauthorizedError,
    "unreachable": UnreachableError,
}


class Clock:
    """A clock that advances only when a request sleeps."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.waits: list[float] = []
        self._lock = threading.Lock()

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds
        if seconds:
            self.waits.append(seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(vectors("retries")["now"])
    time = SimpleNamespace(time=lambda: made.now, monotonic=lambda: made.now)
    for module in (sender, deadline):
        monkeypatch.setattr(module, "time", time)
    monkeypatch.setattr(Sender, "_sleep", lambda _self, seconds: made.sleep(seconds))
    return made


def reply_of(case: dict[str, Any]) -> httpx.Response:
    headers = dict(case.get("headers", {}))
    if "limit" in case:
        policy, *numbers = case["limit"]
        headers |= RateLimit(LimitPolicy(policy), *numbers).fields()
    return httpx.Response(case["status"], headers=headers, text=case.get("body", ""))


def trouble(fault: str) -> httpx.RequestError:
    """Return the error that httpx raises for this fault."""
    if fault == "invalid header":
        return httpx.LocalProtocolError("Illegal header value b'secret'")
    if fault == "lost":
        return httpx.RemoteProtocolError("Server disconnected without sending a response.")
    error = httpx.ConnectError(fault)
    if fault == "certificate":
        error.__cause__ = ssl.SSLCertVerificationError(1, "self-signed certificate")
        error.__cause__.verify_message = "self-signed certificate"
    if fault == "plain http":
        error.__cause__ = ssl.SSLError(1, "wrong version number")
        error.__cause__.reason = "WRONG_VERSION_NUMBER"
    return error


@pytest.mark.parametrize("case", cases("retries", "retry_after"))
def test_the_retry_after_header_is_parsed(case: dict[str, Any]) -> None:
    assert retry_after(httpx.Response(503, headers={"Retry-After": case["header"]})) == case["seconds"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "9" * 400},
        {"Retry-After": "Mon, 01 Jan 2026 00:00:00 +99999999999999"},
        *({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset} for reset in ("nan", "inf", "9" * 400)),
    ],
)
def test_no_reply_asks_to_wait_for_an_infinite_time(headers: dict[str, str]) -> None:
    asked = limit_of(httpx.Response(429, headers=headers))
    assert asked is not None
    assert math.isfinite(asked)


@pytest.mark.parametrize("case", cases("retries", "limits"))
def test_a_rate_limited_reply_says_how_long_to_wait(case: dict[str, Any]) -> None:
    assert limit_of(reply_of(case)) == case["seconds"]


@pytest.mark.parametrize("case", cases("retries", "sent"))
def test_a_request_is_retried_with_the_expected_waits_and_result(case: dict[str, Any], clock: Clock) -> None:
    made: list[httpx.Request] = []
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        reply = case["replies"][min(len(requests), len(case["replies"])) - 1]
        if "fault" in reply:
            raise trouble(reply["fault"])
        return reply_of(reply)

    def make() -> httpx.Request:
        made.append(client.build_request("GET", "https://forge.example/"))
        return made[-1]

    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as client,
        deadline_after(case.get("timeout", math.inf)),
    ):
        said: list[str] = []
        sender = Sender(client, said.append)
        if case["ends"] in ERRORS:
            with pytest.raises(ERRORS[case["ends"]]) as caught:
                sender.send(make)
            assert "secret" not in str(caught.value)
            error = case.get("error", str(caught.value)).replace("{--timeout}", called("--timeout"))
            assert str(caught.value) == error.format(host="forge.example")
        else:
            reply = sender.send(make)
            assert reply.status_code == case["ends"]
    assert len(made) == case["requests"]
    left = case.get("timeout", math.inf)
    assert all(seconds <= left for request in requests for seconds in request.extensions["timeout"].values())
    assert_waits(clock.waits, case["waits"])
    if "says" in case:
        assert len(said) == len(case["says"])
        for words, expected in zip(said, case["says"], strict=True):
            pattern = re.escape(expected.replace("{host}", "forge.example")).replace(r"\*", r"\d+")
            assert re.fullmatch(pattern, words)


def test_no_request_waits_for_a_limit_that_outlasts_the_timeout(clock: Clock) -> None:
    limited = httpx.Response(429, headers={"Retry-After": "60"})
    with httpx.Client(transport=httpx.MockTransport(lambda _: limited)) as client, deadline_after(30):
        sender = Sender(client)
        for _ in range(2):
            with pytest.raises(UnreachableError, match="gave up") as raised:
                sender.send(lambda: client.build_request("GET", "https://forge.example/"))
            assert raised.value.retry_after == 60
    assert clock.waits == []


def test_no_reply_outlasts_the_timeout(clock: Clock) -> None:
    def drip() -> Iterator[bytes]:
        for _ in range(100):
            clock.sleep(1)
            yield b" "

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=drip()))
    with (
        httpx.Client(transport=transport) as client,
        deadline_after(30),
        pytest.raises(UnreachableError, match=r"no answer from forge\.example \(timed out\); gave up"),
    ):
        Sender(client).send(lambda: client.build_request("GET", "https://forge.example/"))


# The error that httpx raises, and the one that it wraps.
FAULTS: dict[str, tuple[httpx.RequestError, Exception]] = {
    "refused": (httpx.ConnectError("x"), ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")),
    "unknown name": (httpx.ConnectError("x"), socket.gaierror(-2, "Name or service not known")),
    "connect timeout": (httpx.ConnectTimeout("x"), TimeoutError("timed out")),
    "no network": (httpx.ConnectError("x"), OSError(errno.ENETUNREACH, "Network is unreachable")),
    "no route": (httpx.ConnectError("x"), OSError(errno.EHOSTUNREACH, "No route to host")),
    "reply timeout": (httpx.ReadTimeout("x"), TimeoutError("timed out")),
    "reset": (httpx.ReadError("x"), ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")),
    "closed": (httpx.RemoteProtocolError("x"), EOFError()),
}


@pytest.mark.parametrize("case", cases("retries", "unanswered"))
def test_a_request_without_a_reply_is_explained_in_plain_words(case: dict[str, Any]) -> None:
    error, cause = FAULTS[case["fault"]]
    error.__cause__ = cause
    assert no_reply_message(httpx.Request("POST", "http://localhost:8081/v1/upload"), error) == case["words"]


@pytest.mark.parametrize("case", cases("retries", "paced"))
def test_uploads_are_paced_by_the_rate_limit_of_the_replies(case: dict[str, Any], clock: Clock) -> None:
    replies, said = iter(case["replies"]), list[str]()
    with httpx.Client(transport=httpx.MockTransport(lambda _: reply_of(next(replies)))) as client:
        sender = Sender(client, said.append)
        for upload in case["replies"][: case.get("uploads")]:
            sender.send(
                lambda: client.build_request("POST", "https://prshots.example/"),
                is_upload=upload.get("is_upload", True),
            )
    assert clock.waits == case["waits"]
    assert said == case["says"]
    assert next(replies, None) is None


def test_the_client_paces_its_uploads_and_nothing_else(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    uploaded = {"id": "0" * 32, "view_url": "https://img.example/i", "markdown": "![x](y)"}
    limit = RateLimit(LimitPolicy.UPLOADS, 120, 0, 23).fields()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=uploaded, headers=limit))
    monkeypatch.setattr(service, "_open_client", lambda url: httpx.Client(base_url=url, transport=transport))
    with Client("https://prshots.example", f"msr_{'0' * 64}") as client:
        waits = []
        for _ in range(2):
            client.upload(
                b"x", name="cart", pr_number=7, commit_sha="0" * 40, viewport="1x1", content_type="image/png"
            )
            client.delete("0" * 32)
            waits.append(clock.waits.copy())
    assert waits == [[], [23]]


def assert_waits(waits: list[float], expected: list[list[float]]) -> None:
    """Check that each wait is in its range: `[least, most]`, or `[least, most, times]`."""
    ranges = [wait[:2] for wait in expected for _ in range(int(wait[2]) if len(wait) > 2 else 1)]
    assert len(waits) == len(ranges)
    for seconds, (least, most) in zip(waits, ranges, strict=True):
        assert least - 0.001 <= seconds <= most + 0.001


def test_concurrent_uploads_never_run_into_the_limit(clock: Clock) -> None:
    counter, lock, project = MemoryCounter(10, lambda: clock.now), threading.Lock(), a_project()

    def answer(_: httpx.Request) -> httpx.Response:
        with lock:
            hit = asyncio.run(counter.hit(project.id, project.uploads_per_minute))
        assert hit.is_counted
        limit = RateLimit(LimitPolicy.UPLOADS, hit.limit, hit.remaining, math.ceil(hit.free_in))
        return httpx.Response(200, headers=limit.fields())

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        sender = Sender(client)

        def upload(_: int) -> int:
            request = client.build_request("POST", "https://prshots.example/")
            return sender.send(lambda: request, is_upload=True).status_code

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(upload, range(95))) == [200] * 95
    assert sum(clock.waits) > 0


@pytest.mark.parametrize("case", cases("retries", "uploads"))
def test_an_error_skips_one_upload_or_stops_the_run(case: dict[str, Any]) -> None:
    tried: list[str] = []

    class Service:
        def limits(self) -> None:
            return None

        def missing_images(self, _number: int, _commit: str, shots: list[Any]) -> list[Any]:
            return shots

        def upload(self, *_: object, **fields: object) -> Uploaded:
            result = case["results"][len(tried)]
            tried.append(result)
            if result != "ok":
                raise ERRORS[result](f"{fields['name']}: {result}")
            return Uploaded("id", "https://img.example/id.png", "")

    shots = [
        ShotFile(Path("x.png"), str(number), "1x1", "image/png", 1) for number in range(len(case["results"]))
    ]
    outcomes = upload_all(Service(), shots, pr_number=7, commit_sha="0" * 40, concurrency=1)  # type: ignore[arg-type]
    assert len(tried) == case["tried"]
    assert sum(outcome.uploaded is not None for outcome in outcomes) == tried.count("ok")
