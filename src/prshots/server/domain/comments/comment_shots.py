"""The shots of a comment, and how many of them there are in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prshots.contract.replies import Verdict
from prshots.server.domain.comments.layout import Column
from prshots.server.domain.comments.markup import screenshots
from prshots.server.domain.comments.tables import Picture

FOLDED_ABOVE = 30
"""With more names than this, those with a common folder are folded. So is a list with more lines.

A choice: people scroll past thirty names, but not past hundreds.
"""


@dataclass(frozen=True, slots=True)
class CommentShot:
    """A shot in the comment. It has a verdict if it was compared, and no `pictures` if it gets only a line.

    It has one picture, or the one before (None for a new shot) and the one after. `note` is for its line.
    """

    name: str
    column: Column
    verdict: Verdict | None = None
    note: str = ""
    pictures: Sequence[Picture | None] = ()


def sums(counts: Mapping[Verdict | None, int]) -> str:
    """Return how many shots there are, such as "3 changed, 1 new". Zeros are left out."""
    return ", ".join(f"{count} {_noun(verdict, count)}" for verdict, count in counts.items() if count)


def _noun(verdict: Verdict | None, count: int) -> str:
    if verdict is None:
        return screenshots(count)
    return "could not be compared" if verdict is Verdict.FAILED else verdict.value
