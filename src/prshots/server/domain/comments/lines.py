"""The lines of a comment: shots without pictures, listed by verdict, and a count of the rest."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple

from prshots.contract.comments import Marker
from prshots.contract.replies import Verdict
from prshots.server.domain.comments.comment_shots import FOLDED_ABOVE, CommentShot, sums
from prshots.server.domain.comments.markup import Style, name_as_code
from prshots.server.domain.comments.tables import TABLES

_MARKDOWN = TABLES[Marker.LINK]


class ShotLine(NamedTuple):
    """The line for one or more shots with the same name. `list` is the verdict whose list contains it."""

    list: Verdict | None
    verdict: Verdict | None
    shots: int
    bullet: str


# Every attempt reads hundreds of lines, and attrgetter is faster than our own function.
_list_of, _verdict_of, _shots_of, _bullet_of = map(attrgetter, ShotLine._fields)


class ShotLines:
    """The lines of shots without pictures. The caller decides how many of the first shots have pictures."""

    def __init__(self, shots: Sequence[CommentShot], style: Style, dashboard: str) -> None:
        self._style = style
        self._dashboard = dashboard
        self._groups = _group(shot for shot in shots if shot.pictures)
        self._ends = list(accumulate(map(len, self._groups)))
        self._of_pictured = list(map(_write_line, self._groups))
        self._of_others = list(map(_write_line, _group(shot for shot in shots if not shot.pictures)))

    def after(self, shown: int) -> list[ShotLine]:
        """Return the lines for all shots after the first `shown`."""
        whole = bisect_right(self._ends, shown)
        lines = self._of_pictured[whole:]
        if lines:  # some shots of this name may already be shown
            lines[0] = _write_line(self._groups[whole][shown - self._ends[whole] :])
        return lines + self._of_others

    def count_changes_after(self, shown: int) -> int:
        """Return how many of these lines aren't in the list of unchanged shots."""
        lists = list(map(_list_of, self.after(shown)))
        return len(lists) - lists.count(Verdict.UNCHANGED)

    def text(self, shown: int, count: int) -> str:
        """Return the first `count` of these lines, in lists, and a count of the omitted shots."""
        lines = self.after(shown)
        text = "".join(self._write_list(list(listed)) for _, listed in groupby(lines[:count], _list_of))
        if left_out := lines[count:]:
            text += f"\nOnly in the {self._dashboard}: {sums(_count_shots(left_out))}.\n"
        return text

    def _write_list(self, lines: Sequence[ShotLine]) -> str:
        title, bullets = sums(_count_shots(lines)), "".join(map(_bullet_of, lines))
        if lines[0].list is None:
            title += ", without pictures"
        elif lines[0].list is not Verdict.UNCHANGED and len(lines) <= FOLDED_ABOVE:
            return f"\n**{title}**\n\n{bullets}"
        return self._style.folded.format(summary=title, lines=bullets)


def _group(shots: Iterable[CommentShot]) -> list[list[CommentShot]]:
    """Group the shots that can share a line."""
    return [list(group) for _, group in groupby(shots, lambda shot: (shot.name, shot.verdict, shot.note))]


def _write_line(shots: Sequence[CommentShot]) -> ShotLine:
    first = shots[0]
    labels = ", ".join(_MARKDOWN.label(shot.column) for shot in shots)
    bullet = f"- {name_as_code(first.name)} · {labels}{first.note and f' · {first.note}'}\n"
    return ShotLine(None if first.pictures else first.verdict, first.verdict, len(shots), bullet)


def _count_shots(lines: Iterable[ShotLine]) -> Counter[Verdict | None]:
    counts: Counter[Verdict | None] = Counter()
    for verdict, its_lines in groupby(lines, _verdict_of):  # hashing a verdict is slow
        counts[verdict] += sum(map(_shots_of, its_lines))
    return counts
