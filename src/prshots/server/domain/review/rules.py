"""Which shots need a decision, and whether the pull request passes. Pure: nothing computed here is stored."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from prshots.contract.replies import (
    NOT_COMPARED,
    ComparisonState,
    Gate,
    GateState,
    OutdatedNote,
    Review,
    ReviewState,
    Verdict,
)
from prshots.server.domain.comparison.models import ComparedPair, PairKey
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.models import Reviewed, ReviewFacts
from prshots.server.domain.review.noise import alternates

_UNDECIDED = Review(ReviewState.OPEN)


def review_pairs(
    state: ComparisonState, pairs: Collection[ComparedPair], needed: Collection[str], facts: ReviewFacts
) -> Reviewed:
    """Return the review of each shot, and the gate. `needed` are the verdicts that need a decision."""
    reviews = {pair.key.shot: _review(pair, needed, facts) for pair in pairs}
    failed = [reviews[pair.key.shot].state for pair in pairs if pair.verdict is Verdict.FAILED]
    if state is ComparisonState.COMPARED and ReviewState.OPEN in failed:
        state = ComparisonState.FAILED
    states = [review.state for review in reviews.values()]
    gate = NOT_COMPARED if facts.has_newer_commit else _gate(state, states)
    return Reviewed(reviews, gate, _outdated_notes(pairs, facts.decisions))


def _review(pair: ComparedPair, needed: Collection[str], facts: ReviewFacts) -> Review:
    key, verdict = pair.key, pair.verdict
    if verdict is Verdict.UNCHANGED:
        return Review(ReviewState.NOT_NEEDED)
    if key.shot in facts.quarantined:
        return Review(ReviewState.QUARANTINED)
    decided = facts.decisions.get(key) or facts.queued.get(key, _UNDECIDED)
    if decided.state is not ReviewState.OPEN:
        return decided
    if verdict in {None, Verdict.FAILED}:
        return _UNDECIDED
    if is_seen_before(key, facts.histories):
        return Review(ReviewState.SEEN_BEFORE)
    # A base from outside the pull request's history may differ for other reasons.
    is_needed = pair.is_listed and verdict in needed
    return _UNDECIDED if is_needed else Review(ReviewState.NOT_NEEDED)


def is_seen_before(key: PairKey, histories: Mapping[ShotKey, Sequence[str]]) -> bool:
    # A shot without an image on one side has empty pixels there, and a history has none of these.
    return alternates(histories.get(key.shot, ()), {key.pixels_before, key.pixels_after})


def _gate(state: ComparisonState, states: Sequence[ReviewState]) -> Gate:
    """Return the gate. A rejection counts even if the comparison lacks parts."""
    count = states.count(ReviewState.OPEN)
    if ReviewState.REJECTED in states and state is not ComparisonState.RUNNING:
        return Gate(GateState.REJECTED, count, "")
    if state is not ComparisonState.COMPARED:
        return Gate(GateState.BLOCKED, count, state)
    return Gate(GateState.WAITING if count else GateState.PASSED, count, "")


def _outdated_notes(pairs: Iterable[ComparedPair], decisions: Mapping[PairKey, Review]) -> list[OutdatedNote]:
    """Return the notes about pairs that are no longer there, oldest first."""
    current = {pair.key for pair in pairs}
    return [
        OutdatedNote(*key.shot, review.state, review.by, review.at or 0, review.note, review.pin)
        for key, review in decisions.items()
        if key not in current and review.note
    ]
