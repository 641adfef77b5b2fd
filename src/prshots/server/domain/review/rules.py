"""Which shots need a decision, and whether the pull request passes. Pure: nothing computed here is stored."""

from collections.abc import Collection, Iterable, Mapping

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
from prshots.server.domain.review.models import Decision, PairDecision, Reviewed, ReviewFacts
from prshots.server.domain.review.noise import alternates

_STATES = {Decision.APPROVED: ReviewState.APPROVED, Decision.REJECTED: ReviewState.REJECTED}
_UNDECIDED = Review(ReviewState.OPEN)


def review_pairs(
    state: ComparisonState, pairs: Collection[ComparedPair], needed: Collection[str], facts: ReviewFacts
) -> Reviewed:
    """Return the review of each shot, and the gate. `needed` are the verdicts that need a decision."""
    own, queued = ({each.pair: each for each in some} for some in (facts.decisions, facts.queued))
    newest = queued | own
    reviews = {pair.key.shot: _review(pair, newest.get(pair.key), needed, facts) for pair in pairs}
    return Reviewed(reviews, _gate(state, pairs, reviews, facts), _outdated_notes(pairs, own))


def _review(
    pair: ComparedPair, decided: PairDecision | None, needed: Collection[str], facts: ReviewFacts
) -> Review:
    key, verdict = pair.key, pair.verdict
    if verdict is Verdict.UNCHANGED:
        return Review(ReviewState.NOT_NEEDED)
    if key.shot in facts.quarantined:
        return Review(ReviewState.QUARANTINED)
    if decided and decided.decision in _STATES:
        return Review(_STATES[decided.decision], decided.by, decided.at, decided.note, decided.pin)
    if verdict in {None, Verdict.FAILED}:
        return _UNDECIDED
    # A shot without an image on one side has empty pixels there, and a history has none of these.
    if alternates(facts.histories.get(key.shot, ()), {key.pixels_before, key.pixels_after}):
        return Review(ReviewState.SEEN_BEFORE)
    # A base from outside the pull request's history may differ for other reasons.
    is_needed = pair.is_listed and verdict in needed
    return _UNDECIDED if is_needed else Review(ReviewState.NOT_NEEDED)


def _gate(
    state: ComparisonState,
    pairs: Iterable[ComparedPair],
    reviews: Mapping[ShotKey, Review],
    facts: ReviewFacts,
) -> Gate:
    """Return the gate. A rejection counts even if the comparison lacks parts."""
    if facts.has_newer_commit:
        return NOT_COMPARED
    states = [review.state for review in reviews.values()]
    count = states.count(ReviewState.OPEN)
    if state is ComparisonState.RUNNING:
        return Gate(GateState.BLOCKED, count, state)
    if ReviewState.REJECTED in states:
        return Gate(GateState.REJECTED, count, "")
    if state is not ComparisonState.COMPARED:
        return Gate(GateState.BLOCKED, count, state)
    if any(_has_failed(pair, reviews[pair.key.shot]) for pair in pairs):
        return Gate(GateState.BLOCKED, count, ComparisonState.FAILED)
    return Gate(GateState.WAITING if count else GateState.PASSED, count, "")


def _has_failed(pair: ComparedPair, review: Review) -> bool:
    return pair.verdict is Verdict.FAILED and review.state is ReviewState.OPEN


def _outdated_notes(
    pairs: Iterable[ComparedPair], newest: Mapping[PairKey, PairDecision]
) -> list[OutdatedNote]:
    """Return the notes about pairs that are no longer there, oldest first."""
    current = {pair.key for pair in pairs}
    return [
        OutdatedNote(*key.shot, _STATES[each.decision], each.by, each.at, each.note, each.pin)
        for key, each in newest.items()
        if key not in current and each.decision in _STATES and each.note
    ]
