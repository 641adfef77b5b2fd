"""Fits a comment into its limit: pictures in tables, lines without pictures, and a count of the rest.

The most important shots come first and get pictures. The next ones get a line, and the last are only counted.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prshots.contract.comments import Marker
from prshots.contract.replies import SizedComment
from prshots.server.domain.comments.comment_shots import CommentShot
from prshots.server.domain.comments.lines import ShotLines
from prshots.server.domain.comments.markup import STYLES, room_for_pictures, size
from prshots.server.domain.comments.pictures import ShotPictures

LINK_SHARE = 8
"""The dashboard's URL takes at most 1/8 of a comment. It appears twice: above the pictures and at the end.
That leaves three quarters, even in the shortest comment (`MIN_COMMENT_BYTES`)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A comment's destination and size limit in bytes."""

    pr_number: int
    dashboard_url: str
    limit: int
    marker: Marker

    @property
    def dashboard(self) -> str:
        """The word "dashboard", as a link if the comment has room for the URL."""
        fits = size(self.dashboard_url) <= self.limit // LINK_SHARE
        return f"[dashboard]({self.dashboard_url})" if fits else "dashboard"


def fit_comment(frame: Frame, heading: str, lead: str, shots: Sequence[CommentShot]) -> SizedComment:
    """Build the comment with this heading and the paragraphs below it, within the frame's limit.

    `shots` must be sorted: the most important first, and shots with pictures before shots without.
    """
    style = STYLES[frame.marker]
    head = f"{frame.marker.line(frame.pr_number)}{style.after_marker}{heading}\n\n{lead}\n"
    pictures = ShotPictures(shots, frame.marker, frame.limit)
    lines = ShotLines(shots, style, frame.dashboard)
    shown, listed_lines = _share_room(frame.limit - size(head), pictures, lines)
    listed = sum(line.shots for line in lines.after(shown)[:listed_lines])
    omitted = len(shots) - shown - listed
    text = head + pictures.text(shown) + lines.text(shown, listed_lines)
    return SizedComment(frame.pr_number, text, heading, len(shots), shown, listed, omitted)


def _share_room(room: int, pictures: ShotPictures, lines: ShotLines) -> tuple[int, int]:
    """Return how many pictures and how many lines fit.

    Show as many pictures as leave a line for every other shot that isn't unchanged. If that costs too many
    pictures, they keep their share of the room.
    """

    def fits(shown: int, count: int, room: int = room) -> bool:
        return pictures.fit(shown, room - size(lines.text(shown, count)))

    def leaves_lines(shown: int) -> bool:
        # All lines together can be shorter than some lines plus the note about the omitted ones.
        return fits(shown, lines.count_changes_after(shown)) or fits(shown, len(lines.after(shown)))

    shown = _find_most(pictures.most, leaves_lines)
    at_least = room_for_pictures(room)
    if shown < pictures.most and fits(shown + 1, 0, at_least):
        shown = _find_most(pictures.most, lambda shown: fits(shown, 0, at_least))
    return shown, _find_most(len(lines.after(shown)), lambda count: fits(shown, count))


def _find_most(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `upper` that fits. Zero always fits."""
    # The whole can be shorter than a part, because it needs no note about a rest.
    return upper if fits(upper) else bisect_left(range(1, upper), True, key=lambda number: not fits(number))
