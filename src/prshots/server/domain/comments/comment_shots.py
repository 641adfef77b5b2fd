"""The shots in a comment, and their counts in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prshots.contract.replies import ReviewState, Verdict
from prshots.server.domain.comments.layout import Column
from prshots.server.domain.comments.markup import screenshots
from prshots.server.domain.comments.tables import CommentImage

FOLDED_ABOVE = 30
"""Above this many names, the comment folds names that share a folder. Longer lists are folded as well.

The number is a choice: people scroll past thirty names, but not past hundreds.
"""


@dataclass(frozen=True, slots=True)
class CommentShot:
    """A shot in the comment. It has a verdict if it was compared. Without `images`, it gets only a line.

    `images` holds one image, or a before image and an after image. `note` goes on the shot's line. `group`
    counts from 0: a group's first shot has images below its `caption`, and the others are folded below them.
    A `settled` shot needs nobody's attention: it gets a line in a folded list.
    """

    name: str
    column: Column
    verdict: Verdict | None = None
    note: str = ""
    images: Sequence[CommentImage] = ()
    group: int | None = None
    caption: str = ""
    settled: ReviewState | None = None


def sums(counts: Mapping[Verdict | None, int]) -> str:
    """Return the counts in words, such as "3 changed, 1 new". Omits zeros."""
    return ", ".join(f"{count} {_noun(verdict, count)}" for verdict, count in counts.items() if count)


def _noun(verdict: Verdict | None, count: int) -> str:
    if verdict is None:
        return screenshots(count)
    return "could not be compared" if verdict is Verdict.FAILED else verdict.value
