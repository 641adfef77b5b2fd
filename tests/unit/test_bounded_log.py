"""Log lines that anyone can cause are bounded, and the rest is counted."""

import structlog

from prshots.server.domain.people.bounded_log import LINES, MOST_KINDS, SECONDS, BoundedLog


def test_each_kind_is_bounded_and_the_next_line_has_the_count() -> None:
    now = 0.0
    log = BoundedLog("refused", lambda: now)
    with structlog.testing.capture_logs() as lines:
        for number in range(500):
            log.note("github", "expired", number=number)
        log.note("gitlab", "expired", number=0)
    assert [line["number"] for line in lines] == [*range(LINES), 0]
    assert {line["event"] for line in lines} == {"refused"}
    assert "only counted" in lines[LINES - 1]["more"]
    assert [line for line in lines if "suppressed" in line] == []
    now = SECONDS
    with structlog.testing.capture_logs() as lines:
        log.note("github", "expired", number=0)
        log.note("github", "expired", number=1)
        log.note("gitlab", "expired", number=0)
    assert [line.get("suppressed") for line in lines] == [500 - LINES, None, None]


def test_invented_kinds_share_one_bound() -> None:
    log = BoundedLog("refused", lambda: 0.0)
    with structlog.testing.capture_logs() as lines:
        for number in range(10_000):
            log.note(str(number))
    assert len(lines) == MOST_KINDS + LINES


def test_counts_of_suppressed_lines_are_kept_for_one_period() -> None:
    now = 0.0
    log = BoundedLog("refused", lambda: now)
    with structlog.testing.capture_logs() as lines:
        for _ in range(LINES + 1):
            log.note("first")
        for number in range(3):
            now += SECONDS
            for _ in range(LINES + 1):
                log.note(str(number))
        now += SECONDS
        log.note("2")
    assert log._suppressed == {}
    assert lines[-1]["suppressed"] == 1
