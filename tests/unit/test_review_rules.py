"""Which differences are noise, and what that means for a review and for the gate."""

import pytest

from prshots.contract.replies import ComparisonState, Gate, GateState, Review, ReviewState, Verdict
from prshots.server.domain.comparison.models import ComparedPair, PairKey
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.models import ReviewFacts
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
