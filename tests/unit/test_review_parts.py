"""What decisions about parts of a shot mean for its parts and for the shot."""

import pytest

from prshots.contract.replies import Review, ReviewState, ShotPart
from prshots.server.domain.comparison.models import Piece, ShotResult
from prshots.server.domain.review.parts import (
    NO_APPROVALS,
    PairBox,
    PartApprovals,
    PartDecision,
    boxes_of,
    find_approvals,
    review_parts,
)

HEAD, BUTTON, GONE = PairBox(False, (0, 0, 9, 9)), PairBox(False, (0, 50, 9, 9)), PairBox(True, (0, 0, 9, 9))
RESULT = ShotResult(
    pieces=[Piece(HEAD.region, "changed"), Piece(BUTTON.region, "came"), Piece(GONE.region, "gone")]
)
PARTS = [ShotPart("head", [0], [0], None), ShotPart("button", [1], [], None)]
OPEN = Review(ReviewState.OPEN)
APPROVED, REJECTED = (Review(state, "zoe", 1) for state in (ReviewState.APPROVED, ReviewState.REJECTED))


def said(seq: int, words: str, *boxes: PairBox) -> PartDecision:
    """Return what a person said, as in "ann approved"."""
    by, decision = words.split()
    return PartDecision(seq, decision == "approved", frozenset(boxes), by)


def states(review: Review, approvals: PartApprovals) -> list[tuple[str, list[str]]]:
    found = review_parts(RESULT, PARTS, review, approvals)
    return [(part.review.value, [*part.by]) for part in found]


def test_boxes_of_both_images_differ() -> None:
    assert boxes_of([HEAD.region], [GONE.region]) == {HEAD, GONE}
    assert len(boxes_of([HEAD.region], [HEAD.region])) == 2


@pytest.mark.parametrize(
    ("decisions", "head", "button"),
    [
        ([], ("open", []), ("open", [])),
        ([said(1, "ann approved", HEAD)], ("open", []), ("open", [])),  # half of the part
        ([said(1, "ann approved", HEAD, GONE)], ("approved", ["ann"]), ("open", [])),
        (
            [said(1, "ann approved", HEAD), said(2, "bob approved", GONE, BUTTON)],
            ("approved", ["ann", "bob"]),
            ("approved", ["bob"]),
        ),
        ([said(1, "ann approved", BUTTON), said(2, "bob withdrew", BUTTON)], ("open", []), ("open", [])),
        (
            [said(1, "ann withdrew", BUTTON), said(2, "bob approved", BUTTON)],
            ("open", []),
            ("approved", ["bob"]),
        ),
    ],
)
def test_a_part_is_approved_if_people_approved_all_its_boxes(
    decisions: list[PartDecision], head: tuple[str, list[str]], button: tuple[str, list[str]]
) -> None:
    approvals = find_approvals(None, 0, decisions, is_whole=True)
    assert states(OPEN, approvals) == [head, button]


def test_a_decision_about_the_shot_replaces_those_about_its_parts() -> None:
    before, after = said(1, "ann approved", HEAD, GONE), said(3, "bob withdrew", BUTTON)
    assert find_approvals(REJECTED, 2, [before], is_whole=True) == NO_APPROVALS
    assert find_approvals(OPEN, 2, [before], is_whole=True) == NO_APPROVALS
    approvals = find_approvals(APPROVED, 2, [before], is_whole=True)
    assert states(APPROVED, approvals) == [("approved", ["zoe"])] * 2
    withdrawn = find_approvals(APPROVED, 2, [before, after], is_whole=True)
    assert withdrawn.withdrawn == {BUTTON}
    assert states(OPEN, withdrawn) == [("approved", ["zoe"]), ("open", [])]


def test_the_part_that_completes_a_shot_keeps_who_approved_the_others() -> None:
    parts = [said(1, "ann approved", HEAD, GONE), said(2, "zoe approved", BUTTON)]
    approvals = find_approvals(APPROVED, 2, parts, is_whole=False)
    assert states(APPROVED, approvals) == [("approved", ["ann"]), ("approved", ["zoe"])]
    undone = find_approvals(APPROVED, 2, [*parts, said(3, "zoe withdrew", BUTTON)], is_whole=False)
    assert states(OPEN, undone) == [("approved", ["ann"]), ("open", [])]
    again = find_approvals(
        APPROVED,
        2,
        [*parts, said(3, "zoe withdrew", BUTTON), said(4, "bob approved", BUTTON)],
        is_whole=False,
    )
    assert again.withdrawn == frozenset()


def test_a_rejection_is_about_each_part() -> None:
    approvals = find_approvals(REJECTED, 1, [said(2, "ann approved", BUTTON)], is_whole=True)
    assert states(REJECTED, approvals) == [("rejected", ["zoe"])] * 2


def test_share_links_show_no_names() -> None:
    approvals = PartApprovals({HEAD: "ann", GONE: "ann"}, others="bob", withdrawn=frozenset({BUTTON}))
    assert states(Review(ReviewState.OPEN), approvals.without_people()) == [("approved", []), ("open", [])]
