"""Decisions about parts of a pair, in each database."""

import asyncio
import secrets

import pytest

from prshots.contract.replies import ComparisonState, Region, ReviewState, Verdict
from prshots.server.adapters.sql.review.decisions import SqlReviews
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PairKey,
    Piece,
    PlannedShot,
    ShotBase,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.review.models import Decision, NewDecision, ReviewFacts
from prshots.server.domain.review.parts import NO_APPROVALS, PartApprovals, boxes_of
from support.contract_stores import Stores
from support.stores_and_records import NOW

BASE = "c" * 40
HEAD, BUTTON, GONE = (0, 0, 9, 9), (0, 50, 9, 9), (0, 0, 9, 9)
ALL = boxes_of([HEAD, BUTTON], [GONE])
PIECES = [Piece(HEAD, "changed"), Piece(BUTTON, "came"), Piece(GONE, "gone")]


class Pair:
    """A pair of a pull request with two regions, and one box that is gone."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.reviews = stores, SqlReviews(stores.database)

    async def push(self) -> None:
        commit = secrets.token_hex(20)
        image = await self.stores.add(name="cart", pr_number=7, commit_sha=commit, sha256="2")
        base = ShotBase(await self.stores.add(branch="main", kind="baseline"), BASE, is_listed=True)
        result = ShotResult(Verdict.CHANGED, pieces=PIECES, pixels_before="1", pixels_after="2")
        shots = [PlannedShot(image.shot, image, base, result)]
        request = ComparisonRequest(self.stores.project.id, 7, commit, "main", (BASE,))
        stored = StoredComparison(
            request, secrets.token_hex(8), ComparisonState.COMPARED, BASE, 0, NOW, shots
        )
        assert await self.stores.comparisons.begin(stored)
        self.key = PairKey(*image.shot, "1", "2")

    async def decide(
        self, decision: Decision, *regions: Region, gone: tuple[Region, ...] = (), by: str = "ann"
    ) -> bool:
        parts = {self.key: boxes_of(regions, gone)}
        new = NewDecision(decision, frozenset({self.key}), by, by, parts=parts)
        return await self.reviews.decide(self.stores.project.id, 7, new, NOW)

    async def approvals(self) -> tuple[ReviewState | None, PartApprovals]:
        facts: ReviewFacts = (await self.reviews.facts(self.stores.project.id, {7: [self.key.shot]}, NOW))[7]
        review = facts.decisions.get(self.key)
        state = review.state if review else None
        return state, facts.approvals.get(self.key, NO_APPROVALS)


@pytest.fixture
async def pair(stores: Stores) -> Pair:
    made = Pair(stores)
    await made.push()
    return made


async def test_parts_add_up_until_the_last_one_completes_the_pair(pair: Pair) -> None:
    assert await pair.decide(Decision.APPROVED, HEAD)
    await pair.push()
    assert await pair.decide(Decision.APPROVED, gone=(GONE,), by="bob")
    state, approvals = await pair.approvals()
    assert (state, approvals.cover(boxes_of([HEAD], [GONE])), approvals.cover(ALL)) == (
        *(ReviewState.OPEN, True),
        False,
    )
    assert await pair.decide(Decision.APPROVED, BUTTON, by="zoe")
    state, approvals = await pair.approvals()
    assert (state, sorted(approvals.by_box.values())) == (ReviewState.APPROVED, ["ann", "bob", "zoe"])
    assert await pair.decide(Decision.WITHDRAWN, BUTTON, by="zoe")
    state, approvals = await pair.approvals()
    assert (state, approvals.withdrawn) == (ReviewState.OPEN, boxes_of([BUTTON], []))
    assert await pair.decide(Decision.WITHDRAWN, HEAD, BUTTON, gone=(GONE,))
    assert await pair.approvals() == (ReviewState.OPEN, NO_APPROVALS)


async def test_parts_that_two_people_approve_at_once_are_both_kept(pair: Pair) -> None:
    done = await asyncio.gather(
        pair.decide(Decision.APPROVED, HEAD, gone=(GONE,)), pair.decide(Decision.APPROVED, BUTTON, by="bob")
    )
    assert done == [True, True]
    state, approvals = await pair.approvals()
    assert (state, approvals.cover(ALL)) == (ReviewState.APPROVED, True)


async def test_a_rejection_of_a_part_is_about_the_pair_until_all_of_it_is_approved(pair: Pair) -> None:
    assert await pair.decide(Decision.APPROVED, BUTTON)
    assert await pair.decide(Decision.REJECTED, HEAD)
    assert await pair.approvals() == (ReviewState.REJECTED, NO_APPROVALS)
    assert await pair.decide(Decision.APPROVED, HEAD, gone=(GONE,))
    assert (await pair.approvals())[0] is ReviewState.REJECTED
    assert await pair.decide(Decision.APPROVED, BUTTON)
    assert (await pair.approvals())[0] is ReviewState.APPROVED


async def test_boxes_that_the_pair_does_not_have_are_refused(pair: Pair) -> None:
    assert not await pair.decide(Decision.APPROVED, HEAD, (1, 1, 1, 1))
    assert not await pair.decide(Decision.APPROVED)
    assert not await pair.decide(Decision.REJECTED, gone=(BUTTON,))
    assert await pair.approvals() == (None, NO_APPROVALS)
