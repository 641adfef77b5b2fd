"""Decisions about parts of a shot: which of its boxes people approved, and what that means for the shot.

A part approves the boxes that the page showed, not a group: groups change with every push.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prshots.contract.replies import Region, Review, ReviewState, ShotPart
from prshots.server.domain.comparison.models import ShotResult


class PairBox(NamedTuple):
    """A region of the after image or, if it is gone, of the before image."""

    is_gone: bool
    region: Region


Boxes = frozenset[PairBox]
"""The boxes of a pair, or of a part of it."""


def boxes_of(regions: Iterable[Region], gone: Iterable[Region]) -> Boxes:
    return frozenset([*(PairBox(False, each) for each in regions), *(PairBox(True, each) for each in gone)])


@dataclass(frozen=True, slots=True)
class PartApprovals:
    """Who approved which boxes of a pair.

    `others` is who approved the pair itself, apart from the boxes that were `withdrawn` since. None: nobody.
    """

    by_box: Mapping[PairBox, str] = field(default_factory=dict)
    others: str | None = None
    withdrawn: Boxes = frozenset()

    def approver(self, box: PairBox) -> str | None:
        return self.by_box.get(box, None if box in self.withdrawn else self.others)

    def cover(self, boxes: Iterable[PairBox]) -> bool:
        return all(self.approver(box) is not None for box in boxes)

    def approve(self, boxes: Boxes, by: str) -> "PartApprovals":
        by_box = {**self.by_box, **dict.fromkeys(sorted(boxes), by)}
        return replace(self, by_box=by_box, withdrawn=self.withdrawn - boxes)

    def withdraw(self, boxes: Boxes) -> "PartApprovals":
        by_box = {box: by for box, by in self.by_box.items() if box not in boxes}
        withdrawn = self.withdrawn if self.others is None else self.withdrawn | boxes
        return replace(self, by_box=by_box, withdrawn=withdrawn)

    def without_people(self) -> "PartApprovals":
        others = None if self.others is None else ""
        return replace(self, by_box=dict.fromkeys(self.by_box, ""), others=others)


NO_APPROVALS = PartApprovals()


class PartDecision(NamedTuple):
    """What somebody decided about boxes of a pair. `seq` is its place among all decisions."""

    seq: int
    is_approved: bool
    boxes: Boxes
    by: str


def find_approvals(
    newest: Review | None, newest_seq: int, parts: Sequence[PartDecision], *, is_whole: bool
) -> PartApprovals:
    """Return who approved what, given the newest review of the pair itself and the decisions about parts.

    If not `is_whole`, that review is of the part that completed the pair. Then the decisions about parts
    before it still say who approved which of them.
    """
    approvals = NO_APPROVALS
    if not is_whole:
        approvals = _apply(approvals, [part for part in parts if part.seq <= newest_seq])
    if newest is not None and newest.state is ReviewState.APPROVED:
        approvals = replace(approvals, others=newest.by)
    return _apply(approvals, [part for part in parts if part.seq > newest_seq])


def _apply(approvals: PartApprovals, parts: Iterable[PartDecision]) -> PartApprovals:
    for part in parts:
        is_approved, boxes = part.is_approved, part.boxes
        approvals = approvals.approve(boxes, part.by) if is_approved else approvals.withdraw(boxes)
    return approvals


def review_parts(
    result: ShotResult, parts: Iterable[ShotPart], review: Review, approvals: PartApprovals
) -> list[ShotPart]:
    """Return the parts with their reviews. A part of an open shot is approved if all its boxes are."""
    regions, gone = result.regions, result.gone
    found = []
    for part in parts:
        boxes = boxes_of([regions[index] for index in part.regions], [gone[index] for index in part.gone])
        state, by = review.state, [review.by]
        if state in {ReviewState.OPEN, ReviewState.APPROVED} and boxes and approvals.cover(boxes):
            state, by = ReviewState.APPROVED, [approvals.approver(box) or "" for box in sorted(boxes)]
        found.append(replace(part, review=state, by=[*dict.fromkeys(filter(None, by))]))
    return found
