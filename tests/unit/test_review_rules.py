"""Which differences are noise, and what that means for a review and for the gate."""

import pytest

from prshots.contract.replies import ComparisonState, Gate, GateState, Review, ReviewState, Verdict
from prshots.server.domain.comparison.models import (
    ComparedPair,
    PairKey,
    PlannedShot,
    ShotBase,
    ShotResult,
)
from prshots.server.domain.images.models import Image, ShotKey
from prshots.server.domain.review.models import Reviewed, ReviewFacts
from prshots.server.domain.review.noise import (
    MAX_PICTURES,
    BranchHistory,
    BranchPicture,
    find_alternating,
    sort_by_commit,
)
from prshots.server.domain.review.rules import review_pairs

CART = ShotKey("cart", "1280x800", "")
REJECTED = {PairKey(*CART, "a", "b"): Review(ReviewState.REJECTED, "ann", 1)}
APPROVED = {PairKey(*CART, "a", "b"): Review(ReviewState.APPROVED, "bob", 2)}


def of_branch(shown: str, commits: str = "") -> BranchHistory:
    """Return the history of a branch that showed these pictures at these commits."""
    commits = commits or "".join(str(number % 10) for number in range(len(shown)))
    pairs = zip(shown, commits, strict=True)
    return BranchHistory(CART, "main", [BranchPicture(pixels, "", commit, 0) for pixels, commit in pairs])


def review(pair: str, facts: ReviewFacts, verdict: Verdict | None = Verdict.CHANGED) -> tuple[str, Gate]:
    """Return the state of a shot that shows the second picture where its base shows the first."""
    before, after = (each.strip() for each in pair)
    compared = ComparedPair(PairKey(*CART, before, after), verdict)
    found = review_pairs(ComparisonState.COMPARED, [compared], {"changed", "removed", "new"}, facts)
    return found.reviews[CART].state, found.gate


@pytest.mark.parametrize(
    ("history", "pair", "expected"),
    [
        ("abab", "ab", "seen_before"),
        ("abab", "ba", "seen_before"),
        ("aabbaabb", "ab", "seen_before"),
        ("acbcacbc", "ab", "seen_before"),
        ("aba", "ab", "open"),  # a revert, or the second try of a reverted change
        ("", "ab", "open"),
        ("abab", "ac", "open"),
        ("abab", "cb", "open"),
        ("acac", "ab", "open"),
        ("aaaa", "aa", "open"),
        ("abab", "a ", "open"),
        ("abab", " b", "open"),
    ],
)
def test_a_difference_is_seen_before_if_the_branch_alternated_between_both_pictures(
    history: str, pair: str, expected: str
) -> None:
    state, gate = review(pair, ReviewFacts(histories={CART: history}))
    is_open = expected == "open"
    assert (state, gate.state, gate.open) == (
        expected,
        GateState.WAITING if is_open else GateState.PASSED,
        int(is_open),
    )


@pytest.mark.parametrize(
    ("facts", "expected", "blocks"),
    [
        (ReviewFacts(), "open", True),
        (ReviewFacts(histories={CART: "abab"}), "open", True),  # nobody knows what it shows
        (ReviewFacts(quarantined=frozenset({CART})), "quarantined", False),
        (ReviewFacts(APPROVED), "approved", False),
        (ReviewFacts(queued=APPROVED), "approved", False),
    ],
)
def test_a_shot_that_cannot_be_compared_blocks_until_somebody_decides(
    facts: ReviewFacts, expected: str, *, blocks: bool
) -> None:
    state, gate = review("ab", facts, Verdict.FAILED)
    assert state == expected
    assert gate == (Gate(GateState.BLOCKED, 1, "failed") if blocks else Gate(GateState.PASSED, 0, ""))


def review_several(
    state: ComparisonState = ComparisonState.COMPARED, facts: ReviewFacts | None = None, **verdicts: Verdict
) -> Reviewed:
    keys = {name: PairKey(name, "390x844", "dark", "a", name) for name in verdicts}
    pairs = [ComparedPair(keys[name], verdict) for name, verdict in verdicts.items()]
    return review_pairs(state, pairs, {"changed"}, facts or ReviewFacts())


def test_the_gate_names_the_shots_that_cannot_be_read() -> None:
    failed = dict.fromkeys(("login", "cart"), Verdict.FAILED)
    words = "2 screenshots can't be read: cart 390x844 dark, login 390x844 dark. Take them again."
    found = review_several(home=Verdict.CHANGED, **failed)
    assert (found.gate, found.words, found.unreadable) == (
        Gate(GateState.BLOCKED, 3, "failed"),
        words,
        words,
    )
    six = review_several(**{f"step {number}": Verdict.FAILED for number in (10, 9, 2, 1, 3, 4)})
    assert six.words.startswith(
        "6 screenshots can't be read: step 1 390x844 dark, step 2 390x844 dark, step 3"
    )
    assert six.words.endswith("step 3 390x844 dark, 3 more. Take them again.")
    one = review_several(cart=Verdict.FAILED).words
    assert one == "1 screenshot can't be read: cart 390x844 dark. Take it again."
    assert review_several(cart=Verdict.CHANGED).unreadable == ""


def test_words_name_a_failed_comparison_only_if_it_failed() -> None:
    stopped = review_several(ComparisonState.FAILED, cart=Verdict.FAILED, home=Verdict.CHANGED)
    assert (stopped.gate.reason, stopped.words) == ("failed", "The comparison failed")
    assert stopped.unreadable.startswith("1 screenshot can't be read: cart")
    lacking = review_several(ComparisonState.INCOMPLETE, cart=Verdict.FAILED)
    assert (lacking.gate.reason, lacking.words) == ("incomplete", "Some screenshots are missing in this run")
    newer = review_several(facts=ReviewFacts(has_newer_commit=True), cart=Verdict.FAILED)
    assert (newer.gate.reason, newer.words) == ("not_compared", "The newest commit is not compared yet")
    assert lacking.unreadable == newer.unreadable == stopped.unreadable


def test_a_rejection_counts_beside_a_shot_that_cannot_be_read() -> None:
    facts = ReviewFacts({PairKey("home", "390x844", "dark", "a", "home"): Review(ReviewState.REJECTED)})
    found = review_several(facts=facts, cart=Verdict.FAILED, home=Verdict.CHANGED)
    assert (found.gate, found.words) == (Gate(GateState.REJECTED, 1, ""), "Changes were rejected")
    assert found.unreadable.startswith("1 screenshot can't be read: cart")


def test_decisions_about_queued_pull_requests_count_unless_the_pull_request_has_its_own() -> None:
    assert review("ab", ReviewFacts(queued=REJECTED))[1].state is GateState.REJECTED
    assert review("ab", ReviewFacts(APPROVED, REJECTED))[0] == "approved"
    assert review("ba", ReviewFacts(queued=REJECTED))[0] == "open"
    withdrawn = {pair: Review(ReviewState.OPEN) for pair in REJECTED}
    assert review("ab", ReviewFacts(withdrawn, REJECTED))[0] == "open"


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_difference_needs_a_decision_whichever_base_it_was_compared_with(*, is_listed: bool) -> None:
    image = Image("1", "project", 7, CART.name, "b" * 40, CART.viewport, "png", 1, 0, "kid")
    result = ShotResult(Verdict.CHANGED, pixels_before="a", pixels_after="b")
    shot = PlannedShot(CART, image, ShotBase(image, "a" * 40, is_listed), result)
    assert review_pairs(ComparisonState.COMPARED, [shot.pair], {"changed"}, ReviewFacts()).gate == Gate(
        GateState.WAITING, 1, ""
    )


def test_a_decision_counts_even_if_the_difference_was_seen_before() -> None:
    facts = ReviewFacts(REJECTED, histories={CART: "abab"})
    assert review("ab", facts)[1].state is GateState.REJECTED
    assert review("ba", facts)[0] == ReviewState.SEEN_BEFORE


@pytest.mark.parametrize("verdict", [*Verdict, None])
def test_a_quarantined_shot_never_gates(verdict: Verdict | None) -> None:
    state, gate = review("ab", ReviewFacts(REJECTED, quarantined=frozenset({CART})), verdict)
    assert state == ("not_needed" if verdict is Verdict.UNCHANGED else "quarantined")
    assert gate == Gate(GateState.PASSED, 0, "")


@pytest.mark.parametrize(
    ("shown", "commits", "listed", "sorted_shown"),
    [
        ("abab", "1324", "4321", "aabb"),  # 2 arrived late
        ("abab", "1324", "21", "aabb"),  # and the pull request branched off before 3
        ("abab", "0123", "321", "abab"),  # 0 is older than the list
        ("abab", "1234", "", "abab"),
        ("abab", "1234", "987", "abab"),
    ],
)
def test_a_history_is_in_the_order_of_the_branch_as_far_as_known(
    shown: str, commits: str, listed: str, sorted_shown: str
) -> None:
    assert "".join(sort_by_commit(of_branch(shown, commits), listed)) == sorted_shown


def test_the_alternating_pictures_of_a_history_leave_out_the_others() -> None:
    def found(shown: str) -> str:
        return "".join(each.pixels for each in find_alternating(of_branch(shown)))

    assert found("cabad") == ""
    assert found("cabdabe") == "ab"
    assert found("abcabc") == "abc"
    many = "".join(chr(500 + number) for number in range(3000))
    assert len(found(many * 2)) == MAX_PICTURES
