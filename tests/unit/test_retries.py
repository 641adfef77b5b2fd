"""When the client retries, how long it waits, and when it gives up: the rules that both clients share.

The replies come from an in-memory transport and the clock is fake, so no test waits. Retries over HTTP are tested in
`test_sending.py`.
"""

import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from prshots.client import sending
from prshots.client.sending import Sender, limit_of, retry_after
from prshots.client.shots import ShotFile
from prshots.client.uploading import upload_all
from prshots.contract.errors import (
    CallError,
    InvalidInputError,
    RateLimitedError,
    UnauthorizedError,
    UnreachableError,
)
from prshots.contract.replies import Uploaded
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

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if seconds:
            self.waits.append(seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(vectors("retries")["now"])
    monkeypatch.setattr(sending, "time", SimpleNamespace(time=lambda: made.now, monotonic=lambda: made.now))
    monkeypatch.setattr(Sender, "_sleep", lambda _self, seconds: made.sleep(seconds))
    return made


def reply_of(case: dict[str, Any]) -> httpx.Response:
    return httpx.Response(case["status"], headers=case.get("headers"), text=case.get("body", ""))


def trouble(fault: str) -> httpx.RequestError:
    """Return the error that httpx raises for this fault."""
    if fault == "invalid header":
        return httpx.LocalProtocolError("Illegal header value b'secret'")
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


@pytest.mark.parametrize("case", cases("retries", "limits"))
def test_a_rate_limited_reply_says_how_long_to_wait(case: dict[str, Any]) -> None:
    assert limit_of(reply_of(case)) == case["seconds"]


@pytest.mark.parametrize("case", cases("retries", "sent"))
def test_a_request_is_retried_with_the_expected_waits_and_result(case: dict[str, Any], clock: Clock) -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        reply = case["replies"][min(len(requests), len(case["replies"])) - 1]
        if "fault" in reply:
            raise trouble(reply["fault"])
        return reply_of(reply)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        sender = Sender(client)
        if case["ends"] in ERRORS:
            with pytest.raises(ERRORS[case["ends"]]) as caught:
                sender.send(lambda: client.build_request("GET", "https://forge.example/"))
            assert "secret" not in str(caught.value)
        else:
            reply = sender.send(lambda: client.build_request("GET", "https://forge.example/"))
            assert reply.status_code == case["ends"]
    assert len(requests) == case["requests"]
    assert_waits(clock.waits, case["waits"])


def assert_waits(waits: list[float], expected: list[list[float]]) -> None:
    """Check that each wait is in its range: `[least, most]`, or `[least, most, times]`."""
    ranges = [wait[:2] for wait in expected for _ in range(int(wait[2]) if len(wait) > 2 else 1)]
    assert len(waits) == len(ranges)
    for seconds, (least, most) in zip(waits, ranges, strict=True):
        assert least - 0.001 <= seconds <= most + 0.001


@pytest.mark.parametrize("case", cases("retries", "uploads"))
def test_an_error_skips_one_upload_or_stops_the_run(case: dict[str, Any]) -> None:
    tried: list[str] = []

    class Service:
        def limits(self) -> None:
            return None

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
