"""The contract of every `OutboxRecords` adapter: leases, causes that come while something is sent, and results."""

import asyncio
import time
from dataclasses import replace

import pytest
import sqlalchemy as sa

from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.database.schema import connections
from prshots.server.adapters.sql.outbox.causes import JOB_SECONDS, mark_due
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PlannedShot,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.outbox.models import (
    NO_CHECK,
    Attempt,
    Check,
    Claim,
    Connection,
    DeliveryKind,
    FailingDelivery,
)
from prshots.server.domain.projects.models import Project
from support.contract_stores import Stores
from support.stores_and_records import DAY, NOW, a_project

LEASE = 30
UNTIL = NOW + LEASE
STATUS, COMMENT = DeliveryKind
PULL = 7


@pytest.fixture
async def here(stores: Stores) -> Stores:
    """Return stores with a connected project and a pull request."""
    connection = Connection(
        stores.project.id, ForgeKind.GITEA, "https://git.example/api/v1", "acme/shop", "ann", NOW
    )
    await stores.connections.put(connection)
    await stores.add()
    return stores


async def cause(here: Stores, now: int = NOW, pr_number: int = PULL, comment_in: int = 0) -> None:
    project_id = here.project.id
    await here.database.write(
        lambda connection: mark_due(connection, project_id, pr_number, now, comment_in=comment_in)
    )


async def claim(here: Stores, holder: str = "one", now: int = NOW) -> Claim:
    claimed = await here.outbox.claim(here.project.id, PULL, holder, now, now + LEASE)
    assert claimed
    return claimed


async def due(here: Stores, now: int) -> set[int]:
    return {number for project, number in await here.outbox.due(now, [], 10) if project == here.project.id}


async def send(here: Stores, sent: str = "success", now: int = NOW) -> None:
    claimed = await claim(here, now=now)
    await here.outbox.finish(claimed, [Attempt(each, sent) for each in claimed.due], now)


async def compare(here: Stores, pr_number: int, commit_sha: str) -> None:
    """Record the comparison of a commit with the image that it has there."""
    found = await here.comparisons.images_at(here.project.id, pr_number, commit_sha)
    shots = [PlannedShot(image.shot, image, None, ShotResult(Verdict.NEW)) for image in found]
    request = ComparisonRequest(here.project.id, pr_number, commit_sha, "main", (), is_complete=True)
    state = ComparisonState.COMPARED
    assert await here.comparisons.begin(
        StoredComparison(request, commit_sha[:16], state, None, 0, NOW, shots)
    )


async def test_a_cause_is_due_for_connected_projects_only(here: Stores) -> None:
    await cause(here)
    assert await due(here, NOW - 1) == set()
    assert await due(here, NOW) == {PULL}
    assert (here.project.id, PULL) not in await here.outbox.due(NOW, [here.project.id], 10)
    waiting = await here.outbox.count_waiting()
    await here.connections.remove(here.project.id)
    assert await here.outbox.count_waiting() == waiting - 2
    await cause(here)
    assert await due(here, NOW) == set()


async def test_one_of_many_holders_gets_everything_about_a_pull_request(here: Stores) -> None:
    await cause(here)
    claims = await asyncio.gather(
        *(here.outbox.claim(here.project.id, PULL, str(holder), NOW, UNTIL) for holder in range(8))
    )
    (claimed,) = filter(None, claims)
    assert claimed.project == here.project
    assert [(each.kind, each.version, each.attempts, each.sent) for each in claimed.due] == [
        (STATUS, 1, 1, ""),
        (COMMENT, 1, 1, ""),
    ]
    await cause(here, NOW + 1)
    assert await due(here, UNTIL - 1) == set()
    assert await here.outbox.claim(here.project.id, PULL, "late", UNTIL - 1, UNTIL + LEASE) is None
    assert await here.outbox.claim(here.project.id, 8, "other", NOW, UNTIL)


async def test_what_was_sent_is_remembered_until_the_next_cause(here: Stores) -> None:
    await cause(here)
    await send(here, "success")
    assert await due(here, NOW + DAY) == set()
    await cause(here, NOW + 5)
    assert [(each.version, each.attempts, each.sent) for each in (await claim(here, now=NOW + 5)).due] == [
        (2, 1, "success"),
        (2, 1, "success"),
    ]


async def test_a_cause_during_an_attempt_stays_due_and_forgets_what_was_sent(here: Stores) -> None:
    await cause(here)
    claimed = await claim(here)
    await cause(here, NOW + 2)
    await here.outbox.finish(claimed, [Attempt(each, "old") for each in claimed.due], NOW + 3)
    assert await due(here, NOW + 3) == {PULL}
    again = await claim(here, "two", NOW + 3)
    assert [(each.version, each.attempts, each.sent) for each in again.due] == [(2, 1, ""), (2, 1, "")]


async def test_after_a_dead_holder_everything_is_due_and_nothing_counts_as_sent(here: Stores) -> None:
    await cause(here)
    await send(here, "success")
    await cause(here)
    await claim(here, "dead")
    assert await due(here, UNTIL - 1) == set()
    assert await due(here, UNTIL) == {PULL}
    again = await claim(here, "two", UNTIL)
    assert [(each.version, each.attempts, each.sent) for each in again.due] == [(2, 2, ""), (2, 2, "")]


async def test_a_holder_that_is_too_late_makes_everything_due_again(here: Stores) -> None:
    """The late holder may have sent an old state after its successor sent the new one."""
    await cause(here)
    late = await claim(here, "late")
    await send(here, "success", UNTIL)
    assert await due(here, UNTIL) == set()
    await here.outbox.finish(late, [Attempt(each, "old") for each in late.due], UNTIL + 1)
    assert await due(here, UNTIL + 1) == {PULL}
    assert {each.sent for each in (await claim(here, "two", UNTIL + 1)).due} == {""}


async def test_a_holder_that_lost_only_the_status_makes_everything_due_again(here: Stores) -> None:
    await cause(here)
    late = await claim(here, "late")
    await cause(here, NOW + 10, comment_in=LEASE)
    successor = await claim(here, "two", UNTIL)
    (status,) = successor.due
    assert status.kind is STATUS
    await here.outbox.finish(successor, [Attempt(status, "new")], UNTIL + 1)
    await here.outbox.finish(late, [Attempt(each, "old") for each in late.due], UNTIL + 2)
    again = await claim(here, "three", UNTIL + 2)
    assert [(each.kind, each.sent) for each in again.due] == [(STATUS, ""), (COMMENT, "")]


async def test_a_failed_attempt_is_shown_until_one_succeeds(here: Stores) -> None:
    await cause(here)
    status, comment = (claimed := await claim(here)).due
    failed = Attempt(status, error="refused", next_at=NOW + 60)
    await here.outbox.finish(claimed, [failed, Attempt(comment)], NOW)
    expected = FailingDelivery(PULL, STATUS, "refused", 1, NOW, NOW + 60)
    assert await here.outbox.failing(here.project.id, 10) == ([expected], 1)
    assert await here.outbox.of_pull(here.project.id, PULL) == (
        Check("failing", ForgeKind.GITEA, "refused", "", ""),
        [expected],
    )
    assert await due(here, NOW + 59) == set()

    (status,) = (claimed := await claim(here, now=NOW + 60)).due
    assert (status.attempts, status.first_due_at, status.sent) == (2, NOW, "")
    await here.outbox.finish(claimed, [Attempt(status, error="refused")], NOW + 60)
    assert await here.outbox.failing(here.project.id, 10) == (
        [expected._replace(attempts=2, next_at=None)],
        0,
    )
    assert await due(here, NOW + DAY) == set()

    await cause(here, NOW + DAY)
    status, _ = (await claim(here, now=NOW + DAY)).due
    assert (status.attempts, status.first_due_at) == (1, NOW + DAY)
    await send(here, now=NOW + DAY + LEASE)
    assert await here.outbox.failing(here.project.id, 10) == ([], 0)


async def test_statuses_go_before_the_comments_of_other_pull_requests(here: Stores) -> None:
    await cause(here)
    await cause(here, NOW + 1, pr_number=8)
    claimed = await claim(here, now=NOW + 1)
    assert [each.kind for each in claimed.due] == [STATUS]
    await here.outbox.finish(claimed, [Attempt(each) for each in claimed.due], NOW + 1)
    waiting = await here.outbox.due(NOW + 1, [], 10)
    assert [number for project, number in waiting if project == here.project.id] == [8, PULL, 8]
    other = await here.outbox.claim(here.project.id, 8, "two", NOW + 1, UNTIL)
    assert other
    assert [each.kind for each in other.due] == [STATUS, COMMENT]
    assert [each.kind for each in (await claim(here, now=NOW + 1)).due] == [COMMENT]  # the other is held


async def test_posted_status_is_known_until_the_next_cause(here: Stores) -> None:
    async def check() -> Check:
        return (await here.outbox.of_pull(here.project.id, PULL))[0]

    assert await check() == NO_CHECK
    await cause(here)
    assert await check() == Check("waiting", ForgeKind.GITEA, "", "", "")
    await send(here, f"{'a' * 40} success prshots/web: Nothing\n{'a' * 40} pending prshots: app: 2 to review")
    assert await check() == Check("sent", ForgeKind.GITEA, "", "pending", "app: 2 to review")
    await cause(here)
    assert (await check()).state == "waiting"
    await send(here, "")  # nothing was compared
    assert await check() == NO_CHECK


async def test_closing_makes_status_and_comment_due_and_marks_the_claim(here: Stores) -> None:
    await cause(here)
    assert not (await claim(here)).is_closed
    await here.records.close_pr(here.project.id, PULL, UNTIL, schedule=True)
    closed = await claim(here, now=UNTIL)
    assert ([each.kind for each in closed.due], closed.is_closed) == ([STATUS, COMMENT], True)
    await here.outbox.finish(closed, [Attempt(each) for each in closed.due], UNTIL)
    await here.records.close_pr(here.project.id, PULL, UNTIL + 1, schedule=True)  # the forge reports it twice
    assert await due(here, UNTIL + DAY) == set()


async def test_statuses_of_a_project_and_its_siblings_are_due_together(here: Stores) -> None:
    sibling = await connected_sibling(here)

    async def of_sibling(now: int = NOW) -> list[DeliveryKind]:
        claimed = await here.outbox.claim(sibling.id, PULL, "one", now, now + LEASE)
        assert claimed
        await here.outbox.finish(claimed, [Attempt(each) for each in claimed.due], now)
        return [each.kind for each in claimed.due]

    await cause(here)
    assert await of_sibling() == [STATUS]
    assert await of_sibling() == []
    await here.records.close_pr(here.project.id, PULL, NOW, schedule=True, deleted_by="ann")
    assert await of_sibling() == [STATUS]
    await here.add()
    await compare(here, PULL, "a" * 40)
    assert await of_sibling() == [STATUS]
    await here.change_project(name=f"renamed-{here.project.id}")
    assert await of_sibling() == [STATUS]
    await here.records.schedule(await here.of_pull(PULL), NOW)
    await here.records.remove_images(await here.scheduled())
    assert await here.records.remove_project(here.project.id)
    assert await of_sibling(int(time.time()) + 1) == [STATUS]


async def connected_sibling(here: Stores) -> Project:
    """Add a project of the same repository that takes part in the pull request."""
    await here.change_project(repository="https://git.example/acme/shop")
    sibling = await here.add_project(replace(a_project(), repository="https://git.example/Acme/shop"))
    await here.connections.put(
        Connection(sibling.id, ForgeKind.GITEA, "https://git.example/api/v1", "acme/shop", "ann", NOW)
    )
    await here.add(sibling, pr_number=PULL)
    return sibling


async def test_another_connection_sends_everything_again(here: Stores) -> None:
    await cause(here)
    await send(here, "to the old repository")
    connection = await here.connections.find(here.project.id)
    assert connection
    await here.connections.put(replace(connection, repository="acme/web"))
    assert await due(here, NOW + DAY) == set()
    await cause(here)
    assert {each.sent for each in (await claim(here)).due} == {""}


async def test_a_cause_from_before_the_connection_was_removed_is_dropped(here: Stores) -> None:
    await cause(here)
    await here.database.execute(sa.delete(connections).where(connections.c.project_id == here.project.id))
    assert await due(here, NOW) == {PULL}
    assert await here.outbox.claim(here.project.id, PULL, "one", NOW, UNTIL) is None
    assert await due(here, NOW) == set()


async def test_rows_without_a_recent_cause_are_removed(here: Stores) -> None:
    await cause(here)
    assert await here.outbox.discard_old(NOW + DAY, 10) == 0
    assert await due(here, NOW) == {PULL}
    await send(here)
    assert await here.outbox.discard_old(NOW - 1, 10) == 0
    assert await here.outbox.discard_old(NOW, 10) == 2
    await cause(here)
    await here.records.schedule(
        [image.id for image in await here.records.images_of_pr(here.project.id, PULL, 9)], NOW
    )
    await here.records.remove_images(await here.scheduled())
    assert await here.records.remove_project(here.project.id)
    assert await due(here, NOW) == set()


async def test_a_comparison_makes_the_status_due_at_once_and_the_comment_later(here: Stores) -> None:
    await compare(here, PULL, "a" * 40)
    assert [each.kind for each in (await claim(here)).due] == [STATUS]
    later = NOW + JOB_SECONDS
    assert [each.kind for each in (await claim(here, now=later)).due] == [STATUS, COMMENT]


async def test_other_review_verdicts_make_compared_pull_requests_due(here: Stores) -> None:
    await here.add(pr_number=8)
    await compare(here, PULL, "a" * 40)
    await send(here, now=NOW + JOB_SECONDS)
    await here.change_project(four_eyes=True)
    assert await due(here, NOW) == set()
    await here.change_project(review_verdicts="new")
    assert [each.kind for each in (await claim(here)).due] == [STATUS, COMMENT]
    assert await due(here, NOW) == set()


async def test_finds_the_newest_commit_that_was_never_compared(here: Stores) -> None:
    old, new = "a" * 40, "b" * 40
    for sha in (old, new):
        await here.add(commit_sha=sha, pr_number=8)
    assert await here.outbox.newer_commit(here.project.id, 8) is None
    await compare(here, 8, old)
    assert await here.outbox.newer_commit(here.project.id, 8) == new
    await here.add(commit_sha=old, pr_number=8)
    assert await here.outbox.newer_commit(here.project.id, 8) == new
    await compare(here, 8, new)
    assert await here.outbox.newer_commit(here.project.id, 8) is None
