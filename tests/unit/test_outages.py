"""What an outage writes to the log."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from prshots.contract.errors import RecordsError, StoreError
from prshots.server.http.error_boundary import error_reply
from prshots.server.observability.outages import QUIET_SECONDS, Outage


class Watched(Outage):
    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__("storage unavailable", "storage is back", lambda: self.now)

    def fails(self, operation: str = "put", requests: int = 1) -> None:
        for _ in range(requests):
            with pytest.raises(StoreError) as raised, self.watch(operation):
                raise StoreError("no answer")
            error_reply(raised.value)

    def succeeds(self, operation: str = "put") -> None:
        with self.watch(operation):
            pass


@pytest.fixture
def outage() -> Watched:
    return Watched()


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as logs:
        yield logs


AWAY = {"event": "storage unavailable", "reason": "no answer", "log_level": "error"}


def back(seconds: float, requests: int) -> dict[str, Any]:
    return {
        "event": "storage is back",
        "seconds": seconds,
        "failed_requests": requests,
        "log_level": "info",
    }


def test_an_outage_of_7000_requests_is_two_lines(outage: Watched, lines: list[Any]) -> None:
    outage.succeeds()
    outage.fails(requests=7000)
    outage.now += 61.25
    outage.succeeds()
    outage.succeeds()
    assert lines == [AWAY, back(61.2, 7000)]


def test_an_operation_that_never_failed_does_not_end_an_outage(outage: Watched, lines: list[Any]) -> None:
    """On a full disk, reads succeed between the uploads that fail."""
    for _ in range(100):
        outage.fails("put")
        outage.succeeds("get")
    assert lines == [AWAY]
    outage.succeeds("put")
    assert lines == [AWAY, back(0, 100)]


def test_an_operation_that_is_not_used_again_does_not_keep_an_outage_open(
    outage: Watched, lines: list[Any]
) -> None:
    outage.fails("list")
    outage.fails("put")
    outage.succeeds("put")
    assert lines == [AWAY]
    outage.now += QUIET_SECONDS
    outage.succeeds("put")
    assert lines == [AWAY, back(QUIET_SECONDS, 2)]


def test_a_store_where_every_second_call_fails_does_not_flood_the_log(
    outage: Watched, lines: list[Any]
) -> None:
    for _ in range(1000):
        outage.now += 1
        outage.fails()
        outage.succeeds()
    assert lines[:3] == [AWAY, back(0, 1), AWAY]
    assert len(lines) == 3
    outage.now += QUIET_SECONDS
    outage.succeeds()
    assert lines[3:] == [back(998 + QUIET_SECONDS, 999)]
    outage.now += QUIET_SECONDS
    outage.fails()
    outage.succeeds()
    assert lines[4:] == [AWAY, back(0, 1)]


def test_an_error_outside_of_an_outage_is_one_line_per_request(lines: list[Any]) -> None:
    for _ in range(2):
        error_reply(RecordsError("rejected data"))
    assert [line["event"] for line in lines] == ["database unavailable, retry later"] * 2
