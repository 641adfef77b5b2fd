"""Each drill, briefly. `make drill` runs the full series: a thousand kills, a million requests."""

import os
import random
from pathlib import Path

import pytest

from drills.compare import CompareDrill
from drills.kill import KillDrill
from drills.move import MoveDrill, running_movable_site
from drills.outbox import Commit, SlowForge, wrong_order
from drills.quota import SETTINGS as LIMITED
from drills.quota import QuotaDrill
from drills.requests import SETTINGS, RequestsDrill
from drills.sites import running_site
from drills.urls import prepared_drill
from drills.webhooks import SETTINGS as WITH_WEBHOOKS
from drills.webhooks import WebhooksDrill, hesitant_receiver, wrong_messages
from support.raw_requests import running_service
from support.webhook_receiver import Received

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

KILLS = {"embedded": 5, "shared": 10}
"""Each kind of process once."""

PAUSE_SECONDS = 1.0
"""Between two requests of a client, at most: most of the time goes into starting what was killed."""

COMPARISONS, OUTBOX_KILLS, QUOTA_KILLS = 2, 4, 4
SEED = 12
REQUESTS, URLS = 3_000, 5_000


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("KILL_SEED", "0")) or random.randrange(1, 10**9)
    print(f"KILL_SEED={seed}")  # pytest shows it when the test fails
    return seed


@pytest.mark.parametrize("engines", KILLS)
def test_kills_lose_nothing(engines: str, tmp_path: Path, seed: int) -> None:
    with running_site(engines, tmp_path) as site:
        assert len(set(site.kinds)) == KILLS[engines]
        site.pause_seconds = PAUSE_SECONDS
        result = KillDrill(site, KILLS[engines], seed).run(engines)
    assert result.violations == 0, result
    assert result.count == KILLS[engines]
    assert result.figures["uploads acknowledged"] > KILLS[engines]


def test_a_killed_comparison_is_repeated_or_says_that_it_failed(tmp_path: Path, seed: int) -> None:
    with running_site("embedded", tmp_path) as site:
        result = CompareDrill(site, COMPARISONS, seed).run("embedded")
    assert result.violations == 0, result
    assert result.figures["answers checked"] > COMPARISONS
    assert result.figures["of them halfway"] > 0


def test_a_killed_move_loses_nothing(tmp_path: Path, seed: int) -> None:
    with running_movable_site(tmp_path) as (site, postgresql, seaweedfs):
        site.pause_seconds = PAUSE_SECONDS
        drill = MoveDrill(site, postgresql, seaweedfs, images=60, kills=2, seed=seed)
        result = drill.run()
    assert drill.wrong == []
    assert result.count == 2
    assert result.figures["uploads acknowledged"] > 5


def test_killed_uploads_never_exceed_a_quota(tmp_path: Path, seed: int) -> None:
    with running_site("embedded", tmp_path, LIMITED) as site:
        result = QuotaDrill(site, QUOTA_KILLS, seed).run("embedded")
    assert result.violations == 0, result
    assert result.figures["exact fits"] > 0


RUNNING, TWO, ONE, DONE = (
    ("pending", "The comparison is still running"),
    ("pending", "2 screenshots to review"),
    ("pending", "1 screenshot to review"),
    ("success", "Nothing is left to review"),
)


def test_killed_processes_send_every_event_and_no_status_after_a_newer_one(tmp_path: Path, seed: int) -> None:
    with (
        running_site("embedded", tmp_path, WITH_WEBHOOKS) as site,
        SlowForge() as forge,
        hesitant_receiver() as receiver,
    ):
        result = WebhooksDrill(site, forge, OUTBOX_KILLS, seed, receiver=receiver).run("embedded")
    assert result.violations == 0, result
    assert result.figures["messages"] > OUTBOX_KILLS
    assert result.figures["statuses"] > OUTBOX_KILLS


def test_the_webhooks_drill_finds_a_message_with_two_bodies() -> None:
    received = [Received(name, "1", [], body, {}) for name, body in (("a", b"1"), ("b", b"2"), ("a", b"3"))]
    assert len(list(wrong_messages(received))) == 1


@pytest.mark.parametrize(
    ("arrived", "violations"),
    [
        ([("a", RUNNING), ("a", TWO), ("a", RUNNING), ("a", TWO), ("a", ONE), ("a", ONE), ("a", DONE)], 0),
        ([("a", RUNNING), ("b", DONE), ("b", DONE)], 0),
        ([("b", RUNNING), ("a", DONE)], 1),
        ([("a", ONE), ("a", TWO)], 1),
        ([("a", DONE), ("a", ONE), ("a", RUNNING)], 2),
    ],
)
def test_the_outbox_drill_finds_statuses_in_the_wrong_order(
    arrived: list[tuple[str, tuple[str, str]]], violations: int
) -> None:
    commits = [Commit("a", open=2), Commit("b", open=0)]
    found = wrong_order(commits, [(commit_sha, *status) for commit_sha, status in arrived])
    assert len(list(found)) == violations


def test_no_mutated_request_breaks_the_service(tmp_path: Path) -> None:
    with running_service(tmp_path, **SETTINGS) as service:
        drill = RequestsDrill(service, REQUESTS, SEED)
        result = drill.run()
    assert drill.violations == []
    assert result.count >= REQUESTS
    assert result.figures["2xx"] > REQUESTS / 20  # not only refusals


def test_delivery_accepts_no_altered_url(tmp_path: Path) -> None:
    with prepared_drill(tmp_path, URLS, SEED) as drill:
        result = drill.run()
    assert drill.violations == []
    assert result.count == URLS
    assert result.figures["issued URLs accepted between them"] > URLS / 50
