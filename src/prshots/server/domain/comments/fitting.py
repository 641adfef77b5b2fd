"""What of a comment fits: pictures in tables, lines without pictures, and a count of the rest.

The most important shots come first. They get the pictures, those after them a line, and the last are counted.
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
"""The dashboard's URL takes at most this part of a comment. It is there twice: above the pictures and at the
end. So three quarters are left, even in the shortest comment (`MIN_COMMENT_BYTES`)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a comment goes, and how many bytes it can have."""

    pr_number: int
    dashboard_url: str
    limit: int
    marker: Marker

    @property
    def dashboard(self) -> str:
        """Return the word for the dashboard. It is a link unless the comment has no room for its URL."""
        fits = size(self.dashboard_url) <= self.limit // LINK_SHARE
        return f"[dashboard]({self.dashboard_url})" if fits else "dashboard"


def fit_comment(frame: Frame, heading: str, lead: str, shots: Sequence[CommentShot]) -> SizedComment:
    """Return the comment with this heading and the paragraphs below it, within the frame's limit.

    `shots` are sorted: the most important first, and those with pictures before those without.
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

    Show as many as leave a line for every other shot that is not unchanged. If that costs too many pictures,
    they keep their part of the room.
    """

    def fits(shown: int, count: int, room: int = room) -> bool:
        return pictures.fit(shown, room - size(lines.text(shown, count)))

    def leaves_lines(shown: int) -> bool:
        # All lines may be shorter than the words about those that are left out.
        return fits(shown, lines.count_changes_after(shown)) or fits(shown, len(lines.after(shown)))

    shown = _find_most(pictures.most, leaves_lines)
    at_least = room_for_pictures(room)
    if shown < pictures.most and fits(shown + 1, 0, at_least):
        shown = _find_most(pictures.most, lambda shown: fits(shown, 0, at_least))
    return shown, _find_most(len(lines.after(shown)), lambda count: fits(shown, count))


def _find_most(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `upper` that fits, where zero always does."""
    # All of it may be shorter than a part: nothing has to be said about a rest.
    return upper if fits(upper) else bisect_left(range(1, upper), True, key=lambda number: not fits(number))
