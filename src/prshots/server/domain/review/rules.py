"""Which shots need a decision, and whether the pull request passes. Pure: nothing computed here is stored."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from prshots.contract.gates import STATUS_NAME, commit_state, describe_gate
from prshots.contract.natural_order import shot_key
from prshots.contract.replies import (
    NOT_COMPARED,
    CommitState,
    ComparisonState,
    Gate,
    GateState,
    GateStatus,
    OutdatedNote,
    Review,
    ReviewState,
    Verdict,
)
from prshots.contract.sizes import pluralize
from prshots.server.domain.comparison.models import ComparedPair, PairKey
from prshots.server.domain.review.models import Reviewed, ReviewFacts
from prshots.server.domain.review.noise import alternates

_UNDECIDED = Review(ReviewState.OPEN)
_WORST_FIRST = (GateState.REJECTED, GateState.BLOCKED, GateState.WAITING, GateState.PASSED)
MOST_NAMED = 3


def review_pairs(
    state: ComparisonState, pairs: Collection[ComparedPair], needed: Collection[str], facts: ReviewFacts
) -> Reviewed:
    """Return the review of each shot, and the gate. `needed` are the verdicts that need a decision."""
    reviews = {pair.key.shot: _review(pair, needed, facts) for pair in pairs}
    unread = [pair.key.shot for pair in pairs if is_unreadable(pair.verdict, reviews[pair.key.shot])]
    unreadable = describe_unreadable(unread) if unread else ""
    why_failed = "The comparison failed"
    if state is ComparisonState.COMPARED and unreadable:
        state, why_failed = ComparisonState.FAILED, unreadable
    states = [review.state for review in reviews.values()]
    gate = NOT_COMPARED if facts.has_newer_commit else _gate(state, states)
    words = why_failed if gate.reason == ComparisonState.FAILED else describe_gate(gate)
    notes = _outdated_notes(pairs, facts.decisions)
    approvals = {pair.key.shot: facts.approvals[pair.key] for pair in pairs if pair.key in facts.approvals}
    return Reviewed(reviews, gate, notes, words, unreadable, approvals)


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
    # A shot without an image on one side has empty pixels there, and a history has none of these.
    if alternates(facts.histories.get(key.shot, ()), {key.pixels_before, key.pixels_after}):
        return Review(ReviewState.SEEN_BEFORE)
    return _UNDECIDED if verdict in needed else Review(ReviewState.NOT_NEEDED)


def _gate(state: ComparisonState, states: Sequence[ReviewState]) -> Gate:
    """Return the gate. A rejection counts even if the comparison lacks parts."""
    count = states.count(ReviewState.OPEN)
    if ReviewState.REJECTED in states and state is not ComparisonState.RUNNING:
        return Gate(GateState.REJECTED, count, "")
    if state is not ComparisonState.COMPARED:
        return Gate(GateState.BLOCKED, count, state)
    return Gate(GateState.WAITING if count else GateState.PASSED, count, "")


def is_unreadable(verdict: Verdict | None, review: Review) -> bool:
    """Return whether a shot blocks the gate because it could not be compared."""
    return verdict is Verdict.FAILED and review.state is ReviewState.OPEN


def describe_unreadable(
    shots: Collection[Sequence[str]], write: Callable[[str], str] = str, *, names: int = MOST_NAMED
) -> str:
    """Return how many shots (name, viewport, theme) can't be compared, the first of them, and what to do."""
    ordered = sorted(shots, key=lambda shot: shot_key(*shot))
    named = [" ".join(map(write, filter(None, shot))) for shot in ordered[:names]]
    if named and (more := len(ordered) - len(named)):
        named.append(f"{more:,} more")
    words = f"{pluralize(len(ordered), 'screenshot')} can't be read"
    again = "Take it again." if len(ordered) == 1 else "Take them again."
    return f"{words}: {', '.join(named)}. {again}" if named else f"{words}. {again}"


def list_statuses(own: Reviewed, by_name: Mapping[str, Reviewed]) -> list[GateStatus]:
    """Return what to post on the commit. `by_name` has the pull request's projects, if there are several.

    The status of the pull request as a whole is the worst of its projects', and names those.
    """
    if not by_name:
        return [_status(STATUS_NAME, own.gate, own.words)]
    statuses = [_status(f"{STATUS_NAME}/{name}", each.gate, each.words) for name, each in by_name.items()]
    worst = min((each.gate.state for each in by_name.values()), key=_WORST_FIRST.index)
    if worst is GateState.PASSED:
        return [*statuses, _status(STATUS_NAME, own.gate, own.words)]
    holding = {name: each for name, each in by_name.items() if each.gate.state is worst}
    words = "; ".join(f"{name}: {each.words}" for name, each in holding.items())
    has_failure = any(each.state is CommitState.FAILURE for each in statuses)
    state = CommitState.FAILURE if has_failure else CommitState.PENDING
    return [*statuses, GateStatus(STATUS_NAME, state, words)]


def _status(context: str, gate: Gate, words: str) -> GateStatus:
    return GateStatus(context, commit_state(gate), words)


def _outdated_notes(pairs: Iterable[ComparedPair], decisions: Mapping[PairKey, Review]) -> list[OutdatedNote]:
    """Return the notes about pairs that are no longer there, oldest first."""
    current = {pair.key for pair in pairs}
    return [
        OutdatedNote(*key.shot, review.state, review.by, review.at or 0, review.note, review.pin)
        for key, review in decisions.items()
        if key not in current and review.note
    ]
