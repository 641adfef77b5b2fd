"""The number that tells clients to post a new comment: a pair that nobody has seen came after a decision."""

import secrets
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.database.schema import quarantines
from prshots.server.adapters.sql.review.decisions import SqlReviews
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PairKey,
    PlannedShot,
    ShotBase,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.review.models import Decision, NewDecision
from support.contract_stores import Stores
from support.stores_and_records import NOW

BASE = "c" * 40


class PullRequest:
    """A pull request, whose shots are compared with the baseline's pixels `base`."""

    def __init__(self, stores: Stores, number: int = 7) -> None:
        self.stores, self.reviews, self.number = stores, SqlReviews(stores.database), number

    async def push(
        self,
        *names: str,
        verdict: Verdict = Verdict.CHANGED,
        state: ComparisonState = ComparisonState.COMPARED,
        is_listed: bool = True,
        commit: str = "",
        queued: Sequence[int] = (),
    ) -> str:
        """Compare images of a new commit, or of this one. A shot's name says which pixels it has: `cart=2`."""
        commit = commit or secrets.token_hex(20)
        shots = []
        for name in names:
            about = {"name": name.partition("=")[0], "pr_number": self.number, "commit_sha": commit}
            image = await self.stores.add(**about, sha256=name)
            base = ShotBase(await self.stores.add(branch="main", kind="baseline"), BASE, is_listed)
            result = ShotResult(verdict, pixels_before="base", pixels_after=name)
            shots.append(PlannedShot(image.shot, image, base, result))
        request = ComparisonRequest(
            self.stores.project.id, self.number, commit, "main", (BASE,), queued_pulls=queued
        )
        stored = StoredComparison(request, secrets.token_hex(8), state, BASE, 0, NOW, shots)
        assert await self.stores.comparisons.begin(stored)
        return commit

    async def decide(self, decision: Decision, name: str, user_id: str = "ann") -> None:
        shot = name.partition("=")[0], "1280x800", ""
        pair = PairKey(*shot, "base", name)
        new = NewDecision(decision, frozenset({pair}), by=user_id or "token ci", user_id=user_id)
        assert await self.reviews.decide(self.stores.project.id, self.number, new, NOW)

    async def quarantine(self, name: str, until: int) -> None:
        row = {"id": secrets.token_hex(16), "project_id": self.stores.project.id, "name": name}
        row |= {"viewport": "1280x800", "theme": "", "reason": "flaky", "created_by": "ann"}
        row |= {"created_at": NOW, "until": until}
        await self.stores.database.execute(sa.insert(quarantines).values(row))

    async def notice(self) -> int:
        return await self.reviews.notice(self.stores.project.id, self.number)


@pytest.fixture
def pull(stores: Stores) -> PullRequest:
    return PullRequest(stores)


async def test_notice_rises_once_for_unseen_pairs_after_a_decision(pull: PullRequest) -> None:
    await pull.push("cart=1", "home=1")
    await pull.push("cart=2")
    assert await pull.notice() == 0
    await pull.decide(Decision.APPROVED, "cart=2")
    await pull.push("cart=2", "home=1")  # seen before the decision
    assert await pull.notice() == 0
    await pull.push("cart=3")
    first = await pull.notice()
    assert first > 0
    await pull.push("cart=4", "home=2")
    await pull.push("cart=3")
    assert await pull.notice() == first
    await pull.decide(Decision.REJECTED, "cart=3")
    assert await pull.notice() == first
    await pull.push("cart=5")
    assert await pull.notice() > first


async def test_a_decision_that_does_not_stand_causes_no_notice(pull: PullRequest) -> None:
    await pull.push("cart=1")
    await pull.decide(Decision.APPROVED, "cart=1")
    await pull.decide(Decision.WITHDRAWN, "cart=1")
    await pull.decide(Decision.REJECTED, "cart=1", user_id="")
    await pull.push("cart=2")
    assert await pull.notice() == 0


async def test_pairs_that_need_no_decision_cause_no_notice(pull: PullRequest) -> None:
    old = await pull.push("cart=1", "home=1")
    await pull.decide(Decision.APPROVED, "cart=1")
    await pull.quarantine("home", until=NOW + 1)
    await pull.quarantine("about", until=NOW)
    await pull.push("home=2")
    await pull.push("gift=1", verdict=Verdict.NEW)
    await pull.push("cart=2", state=ComparisonState.RUNNING)
    await pull.push("late=1", commit=old)
    assert await pull.notice() == 0
    await pull.push("about=1", is_listed=False)
    assert await pull.notice() > 0


async def test_a_pair_that_cannot_be_compared_raises_the_notice_once(pull: PullRequest) -> None:
    await pull.push("cart=1")
    await pull.decide(Decision.APPROVED, "cart=1")
    await pull.push("home=torn", verdict=Verdict.FAILED)
    first = await pull.notice()
    assert first > 0
    await pull.decide(Decision.APPROVED, "home=torn")
    await pull.push("home=torn", verdict=Verdict.FAILED)
    assert await pull.notice() == first


async def test_a_pair_that_a_queued_pull_request_decided_raises_no_notice(
    pull: PullRequest, stores: Stores
) -> None:
    queued = PullRequest(stores, 8)
    for each in (queued, pull):
        await each.push("cart=1", "home=1")
    await queued.decide(Decision.REJECTED, "home=1")
    await queued.push("cart=2")
    await queued.decide(Decision.APPROVED, "cart=2")
    await pull.decide(Decision.APPROVED, "cart=1")
    await pull.push("cart=2", queued=[8])
    assert await pull.notice() == 0
    await pull.push("cart=2")
    assert await pull.notice() > 0
