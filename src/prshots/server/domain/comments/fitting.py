"""What of a comment fits: pictures in tables, lines without pictures, and a count of the rest.

The most important shots come first. They get the pictures, those after them a line, and the last are counted.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple

from prshots.contract.comments import Marker
from prshots.contract.replies import SizedComment, Verdict
from prshots.server.domain.comments.folders import folders_of
from prshots.server.domain.comments.layout import Column, Layout, layout_of
from prshots.server.domain.comments.markup import STYLES, name_as_code, screenshots, size
from prshots.server.domain.comments.tables import TABLES, Block, Grid, Picture

FOLDED_ABOVE = 30
"""With more names than this, those with a common folder are folded. So is a list with more lines."""

_MARKDOWN = TABLES[Marker.LINK]


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
        fits = size(self.dashboard_url) <= self.limit // 8
        return f"[dashboard]({self.dashboard_url})" if fits else "dashboard"


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


class _Line(NamedTuple):
    """The line of one or more shots of a name. `list` tells in which list it is."""

    list: Verdict | None
    verdict: Verdict | None
    shots: int
    bullet: str


_list_of, _verdict_of, _shots_of, _bullet_of = map(attrgetter, _Line._fields)


def sums(counts: Mapping[Verdict | None, int]) -> str:
    """Return how many shots there are, such as "3 changed, 1 new". Zeros are left out."""
    return ", ".join(f"{count} {_noun(verdict, count)}" for verdict, count in counts.items() if count)


def fit_comment(frame: Frame, heading: str, lead: str, shots: Sequence[CommentShot]) -> SizedComment:
    """Return the comment with this heading and the paragraphs below it, within the frame's limit.

    `shots` are sorted: the most important first, and those with pictures before those without.
    """
    head = f"{frame.marker.line(frame.pr_number)}{STYLES[frame.marker].after_marker}{heading}\n\n{lead}\n"
    body = _Body(frame, shots)
    shown, lines = body.shares(frame.limit - size(head))
    listed = sum(line.shots for line in body.lines(shown)[:lines])
    omitted = len(shots) - shown - listed
    text = head + body.text(shown, lines)
    return SizedComment(frame.pr_number, text, heading, len(shots), shown, listed, omitted)


class _Body:
    """Everything below the head of a comment, with as many pictures and lines as asked for."""

    def __init__(self, frame: Frame, shots: Sequence[CommentShot]) -> None:
        self._dashboard = frame.dashboard
        self._style = STYLES[frame.marker]
        self._tables = TABLES[frame.marker]
        self._pictured = [shot for shot in shots if shot.pictures]
        self._groups = _groups(self._pictured)
        self._ends = list(accumulate(map(len, self._groups)))
        self._picture_lines = list(map(_line, self._groups))
        self._other_lines = list(map(_line, _groups(shot for shot in shots if not shot.pictures)))
        self._folders = folders_of([shot.name for shot in self._pictured], FOLDED_ABOVE)
        self._layouts = _layouts(self._pictured)
        self._cells, self._sizes = self._fitting_cells(frame.limit)
        self._blocks: dict[tuple[str, int], Block] = {}

    def _fitting_cells(self, room: int) -> tuple[list[list[str]], list[int]]:
        """Return the cells of the first shots: no more than fit if there were nothing else.

        Also return how many bytes the cells of the first 0, 1, 2, … shots take.
        """
        cells: list[list[str]] = []
        sizes = [0]
        for shot in self._pictured:
            texts = [self._cell(picture, shot) if picture else "" for picture in shot.pictures]
            reached = sizes[-1] + size("".join(texts))
            if reached > room:
                break
            cells.append(texts)
            sizes.append(reached)
        return cells, sizes

    def _cell(self, picture: Picture, shot: CommentShot) -> str:
        return self._tables.picture(picture, shot.column, self._layouts[shot.name].widths[shot.column])

    def shares(self, room: int) -> tuple[int, int]:
        """Return how many pictures and how many lines fit.

        Show as many as leave a line for every other shot that is not unchanged. If that costs too many
        pictures, they keep two thirds of the room.
        """
        size_of_pictures = cache(lambda shown: size(self._pictures(shown)))

        def fits(shown: int, lines: int, room: int = room) -> bool:
            room -= size(self._lists(shown, lines))
            # Tables have more than their cells, so most that do not fit are found without writing them.
            return self._sizes[shown] <= room and size_of_pictures(shown) <= room

        def leaves_lines(shown: int) -> bool:
            lines = list(map(_list_of, self.lines(shown)))
            # All lines may be shorter than the words about those that are left out.
            return fits(shown, len(lines) - lines.count(Verdict.UNCHANGED)) or fits(shown, len(lines))

        most = len(self._cells)
        shown = _most(most, leaves_lines)
        if shown < most and fits(shown + 1, 0, room * 2 // 3):
            shown = _most(most, lambda shown: fits(shown, 0, room * 2 // 3))
        return shown, _most(len(self.lines(shown)), lambda lines: fits(shown, lines))

    def lines(self, shown: int) -> list[_Line]:
        """Return the lines of all shots but the first ones, which are shown."""
        whole = bisect_right(self._ends, shown)
        lines = self._picture_lines[whole:]
        if lines:  # the first shots of this name may be shown
            lines[0] = _line(self._groups[whole][shown - self._ends[whole] :])
        return lines + self._other_lines

    def text(self, shown: int, lines: int) -> str:
        return self._pictures(shown) + self._lists(shown, lines)

    def _lists(self, shown: int, lines: int) -> str:
        all_lines = self.lines(shown)
        lists = groupby(all_lines[:lines], _list_of)
        text = "".join(self._list(list(listed)) for _, listed in lists)
        if left_out := all_lines[lines:]:
            text += f"\nOnly in the {self._dashboard}: {sums(_count_shots(left_out))}.\n"
        return text

    def _pictures(self, shown: int) -> str:
        folders: dict[str, dict[str, list[int]]] = {}
        for number in range(shown):
            name = self._pictured[number].name
            folders.setdefault(self._folders[name], {}).setdefault(name, []).append(number)
        return "".join(self._folder(folder, names) for folder, names in folders.items())

    def _folder(self, folder: str, names: Mapping[str, Sequence[int]]) -> str:
        tables = self._tables.tables(self._block(name, numbers) for name, numbers in names.items())
        if not folder:
            return tables
        counts = Counter(self._pictured[number].verdict for numbers in names.values() for number in numbers)
        summary = f"{self._tables.code(folder)}: {sums(counts)}"
        return self._style.folded.format(summary=summary, lines=tables.lstrip("\n"))

    def _block(self, name: str, numbers: Sequence[int]) -> Block:
        """Return the pictures of a name, of which the first ones are shown."""
        known = self._blocks.get((name, len(numbers)))
        if known is None:
            shots = [self._pictured[number] for number in numbers]
            cells = {shot.column: self._cells[number] for shot, number in zip(shots, numbers, strict=True)}
            verdicts = ", ".join(dict.fromkeys(shot.verdict for shot in shots if shot.verdict))
            known = self._tables.block(name, verdicts, _grids(self._layouts[name], cells))
            self._blocks[name, len(numbers)] = known
        return known

    def _list(self, lines: Sequence[_Line]) -> str:
        title = sums(_count_shots(lines))
        if lines[0].list is None:
            title += ", without pictures"
        elif lines[0].list is not Verdict.UNCHANGED and len(lines) <= FOLDED_ABOVE:
            return f"\n**{title}**\n\n{_bullets(lines)}"
        return self._style.folded.format(summary=title, lines=_bullets(lines))


def _bullets(lines: Iterable[_Line]) -> str:
    return "".join(map(_bullet_of, lines))


def _layouts(shots: Iterable[CommentShot]) -> dict[str, Layout]:
    """Return the layout of each name. It does not depend on how many of its shots are shown."""
    columns: dict[str, set[Column]] = {}
    pairs = False
    for shot in shots:
        columns.setdefault(shot.name, set()).add(shot.column)
        pairs = len(shot.pictures) > 1
    return {name: layout_of(frozenset(used), pairs=pairs) for name, used in columns.items()}


def _grids(layout: Layout, cells: Mapping[Column, list[str]]) -> list[Grid]:
    """Return the cells of a name: a column's cells above each other, or next to each other."""
    if layout.side_by_side:
        return [Grid(layout.groups[0], list(cells.values()))]
    missing = [""] * max(map(len, cells.values()))
    return [
        Grid(
            group,
            [row for row in zip(*(cells.get(column, missing) for column in group), strict=True) if any(row)],
        )
        for group in layout.groups
        if any(column in cells for column in group)
    ]


def _groups(shots: Iterable[CommentShot]) -> list[list[CommentShot]]:
    """Return the shots that can have a line together."""
    return [list(group) for _, group in groupby(shots, lambda shot: (shot.name, shot.verdict, shot.note))]


def _line(shots: Sequence[CommentShot]) -> _Line:
    first = shots[0]
    labels = ", ".join(_MARKDOWN.label(shot.column) for shot in shots)
    bullet = f"- {name_as_code(first.name)} · {labels}{first.note and f' · {first.note}'}\n"
    return _Line(None if first.pictures else first.verdict, first.verdict, len(shots), bullet)


def _count_shots(lines: Iterable[_Line]) -> Counter[Verdict | None]:
    counts: Counter[Verdict | None] = Counter()
    for verdict, its_lines in groupby(lines, _verdict_of):  # a verdict is slow to hash
        counts[verdict] += sum(map(_shots_of, its_lines))
    return counts


def _noun(verdict: Verdict | None, count: int) -> str:
    if verdict is None:
        return screenshots(count)
    return "could not be compared" if verdict is Verdict.FAILED else verdict.value


def _most(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `upper` that fits, where zero always does."""
    # All of it may be shorter than a part: nothing has to be said about a rest.
    return upper if fits(upper) else bisect_left(range(1, upper), True, key=lambda number: not fits(number))
