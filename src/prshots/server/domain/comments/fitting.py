"""Fits a comment into its limit: the first shots get images, the next a line, and the rest are counted."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, groupby, takewhile
from operator import attrgetter
from typing import NamedTuple

from prshots.contract.comments import Marker
from prshots.contract.replies import ReviewState, SizedComment, Verdict
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.layout import Column, Layout, lay_out_columns
from prshots.server.domain.comments.markup import (
    STYLES,
    Pile,
    link,
    name_as_code,
    room_for_images,
    screenshots,
    size,
)
from prshots.server.domain.comments.tables import FOLDED_ABOVE, TABLES, Block, CommentShot, Grid, label, sums

ListKey = Verdict | ReviewState | int | None
"""Which list a line is in: the one of its verdict, of its review or of its group, or of shots whose images
don't fit."""

_UNIMPORTANT = (Verdict.UNCHANGED, *ReviewState)
"""The lists that come last, and that images don't have to leave room for."""


class ShotImages:
    """The images of the first shots, one for each. At most `most` fit into the room."""

    def __init__(self, shots: Sequence[CommentShot], marker: Marker, room: int) -> None:
        self._style = STYLES[marker]
        self._tables = TABLES[marker]
        self._shots = shots
        self._folders = folders_of([shot.name for shot in shots], FOLDED_ABOVE)
        self._layouts = _lay_out_names(shots)
        # No more than would fit if the comment contained nothing else.
        self._cells = Pile(map(self._write_cell, shots), room)
        self._block = cache(self._write_block)
        self._size = cache(lambda shown: size(self.text(shown)))

    @property
    def most(self) -> int:
        return len(self._cells.texts)

    def fit(self, shown: int, room: int) -> bool:
        """Return whether the images of the first `shown` shots fit into the room."""
        # Tables are larger than their cells, so the cells alone rule out most counts that don't fit.
        return self._cells.sizes[shown] <= room and self._size(shown) <= room

    def parts(self, shown: int) -> dict[ListKey, str]:
        return {None: self.text(shown)}

    def text(self, shown: int) -> str:
        folders: dict[str, dict[str, list[int]]] = {}
        for number in range(shown):
            name = self._shots[number].name
            folders.setdefault(self._folders[name], {}).setdefault(name, []).append(number)
        return "".join(self._write_folder(folder, names) for folder, names in folders.items())

    def _write_cell(self, shot: CommentShot) -> str:
        width = self._layouts[shot.name].widths[shot.column]
        return self._tables.cell(shot.images[0], shot.column, width)

    def _write_folder(self, folder: str, names: Mapping[str, Sequence[int]]) -> str:
        tables = self._tables.tables(self._block(name, tuple(numbers)) for name, numbers in names.items())
        if not folder:
            return tables
        count = sum(map(len, names.values()))
        summary = f"{self._tables.code(folder)}: {count} {screenshots(count)}"
        return self._style.folded.format(summary=summary, lines=tables.lstrip("\n"))

    def _write_block(self, name: str, numbers: tuple[int, ...]) -> Block:
        """Return a name's block with the images of these shots."""
        cells = {self._shots[number].column: self._cells.texts[number] for number in numbers}
        grids = [
            Grid(group, [cells.get(column, "") for column in group])
            for group in self._layouts[name].groups
            if any(column in cells for column in group)
        ]
        return self._tables.block(name, grids)


class GroupPictures:
    """The pictures of the first shots, one shot for each group."""

    def __init__(self, frame: Frame, shots: Sequence[CommentShot]) -> None:
        self._texts = [_write_picture(frame, shot) for shot in shots if shot.images]
        self._sizes = [0, *accumulate(map(size, self._texts))]

    @property
    def most(self) -> int:
        return len(self._texts)

    def fit(self, shown: int, room: int) -> bool:
        return self._sizes[shown] <= room

    def parts(self, shown: int) -> dict[ListKey, str]:
        return dict(enumerate(self._texts[:shown]))


Images = ShotImages | GroupPictures


def _write_picture(frame: Frame, shot: CommentShot) -> str:
    tables = TABLES[frame.marker]
    words = f"{label(shot.column, tables)} · {shot.caption}"
    return tables.picture(shot.name, words, shot.images, frame.href_of(shot))


def _lay_out_names(shots: Iterable[CommentShot]) -> dict[str, Layout]:
    """Return the layout of each name. It doesn't depend on how many of the name's shots are shown."""
    columns: dict[str, set[Column]] = {}
    for shot in shots:
        columns.setdefault(shot.name, set()).add(shot.column)
    return {name: lay_out_columns(frozenset(used)) for name, used in columns.items()}


def folders_of(names: Iterable[str], folded_above: int) -> dict[str, str]:
    """Return the folder of each name, or "" for a name that isn't folded.

    Folders that all names share don't tell names apart, so the next folder counts. A name directly in the
    shared folders gets the last of them.
    """
    paths = {name: [part.strip() for part in name.split("/")][:-1] for name in names}
    if len(paths) <= folded_above:
        return dict.fromkeys(paths, "")
    in_common = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths.values(), strict=False))
    depth = len(list(in_common))
    folders = {name: (["", *path][: depth + 2])[-1] for name, path in paths.items()}
    together = Counter(folders.values())
    return {name: folder if together[folder] > 1 else "" for name, folder in folders.items()}


_MARKDOWN = TABLES[Marker.LINK]


class ShotLine(NamedTuple):
    """The line for one or more shots with the same name, and the list that contains it.

    `counted` are those of its `shots` that no other list counts.
    """

    list: ListKey
    verdict: Verdict | None
    shots: int
    counted: int
    bullet: str


# Every attempt reads hundreds of lines, and attrgetter is faster than our own function.
_list_of, _verdict_of, _shots_of, _counted_of, _bullet_of = map(attrgetter, ShotLine._fields)


class ShotLines:
    """The lines of shots without images. The caller decides how many of the first shots have images."""

    def __init__(self, shots: Sequence[CommentShot], frame: Frame, *, linked: bool) -> None:
        self._style = STYLES[frame.marker]
        self._frame = frame
        self._linked = linked
        self._groups = _group(shot for shot in shots if shot.images)
        self._ends = list(accumulate(map(len, self._groups)))
        self._of_shots_with_images = list(map(self._write_line, self._groups))
        self._of_others = list(map(self._write_line, _group(shot for shot in shots if not shot.images)))

    def after(self, shown: int) -> list[ShotLine]:
        """Return the lines for all shots after the first `shown`."""
        whole = bisect_right(self._ends, shown)
        lines = self._of_shots_with_images[whole:]
        if lines:  # some shots of this name may already be shown
            lines[0] = self._write_line(self._groups[whole][shown - self._ends[whole] :])
        return lines + self._of_others

    def count_changes_after(self, shown: int) -> int:
        """Return how many of these lines aren't in the lists of unchanged and settled shots."""
        lists = list(map(_list_of, self.after(shown)))
        return len(lists) - sum(map(lists.count, _UNIMPORTANT))

    def text(self, shown: int, count: int) -> str:
        """Return the first `count` of these lines, in lists, and a count of the omitted shots."""
        return "".join(self.parts(shown, count).values()) + self.note(shown, count)

    def parts(self, shown: int, count: int) -> dict[ListKey, str]:
        """Return the lists with the first `count` of these lines."""
        lists: dict[ListKey, list[ShotLine]] = {}
        for key, lines in groupby(self.after(shown)[:count], _list_of):
            has_picture = not isinstance(key, int) or key < shown
            lists.setdefault(key if has_picture else None, []).extend(lines)
        return {key: self._write_list(key, lines) for key, lines in lists.items()}

    def note(self, shown: int, count: int) -> str:
        """Return a count of the shots after the first `count` lines."""
        left_out = self.after(shown)[count:]
        counts = _count_shots(left_out, _counted_of)
        return f"\nOnly in the {self._frame.dashboard}: {sums(counts)}.\n" if counts.total() else ""

    def _write_line(self, shots: Sequence[CommentShot]) -> ShotLine:
        first = shots[0]
        labels = ", ".join(label(shot.column, _MARKDOWN) for shot in shots)
        name = link(name_as_code(first.name), self._frame.href_of(first) if self._linked else "")
        bullet = f"- {name} · {labels}{first.note and f' · {first.note}'}\n"
        key: ListKey = None if first.images else first.settled or first.verdict
        key = first.group if first.group is not None else key
        counted = sum(not shot.repeats for shot in shots)
        return ShotLine(key, first.verdict, len(shots), counted, bullet)

    def _write_list(self, key: ListKey, lines: Sequence[ShotLine]) -> str:
        counts, bullets = _count_shots(lines), "".join(map(_bullet_of, lines))
        if key is None:
            title = f"{sums(counts)}, without pictures"
        elif isinstance(key, int):
            title = f"{counts.total()} more {screenshots(counts.total())}"
        elif isinstance(key, ReviewState):
            title = f"{sums(counts)}, {key}"
        else:
            title = sums(counts)
            if key is not Verdict.UNCHANGED and len(lines) <= FOLDED_ABOVE:
                return f"\n**{title}**\n\n{bullets}"
        return self._style.folded.format(summary=title, lines=bullets)


def _group(shots: Iterable[CommentShot]) -> list[list[CommentShot]]:
    """Group the shots that can share a line."""
    keys = attrgetter("group", "name", "verdict", "note", "settled")
    return [list(group) for _, group in groupby(shots, keys)]


def _count_shots(
    lines: Iterable[ShotLine], count: Callable[[ShotLine], int] = _shots_of
) -> Counter[Verdict | None]:
    counts: Counter[Verdict | None] = Counter()
    for verdict, its_lines in groupby(lines, _verdict_of):  # hashing a verdict is slow
        counts[verdict] += sum(map(count, its_lines))
    return counts


def fit_comment(
    frame: Frame,
    heading: str,
    lead: str,
    shots: Sequence[CommentShot],
    images: Images,
    *,
    linked: bool = False,
) -> SizedComment:
    """Build the comment with this heading and the paragraphs below it, within the frame's limit.

    `shots` must be sorted: the most important first, and shots with images before shots without. `images`
    are theirs. If `linked`, each line links to its first shot.
    """
    head = f"{frame.head}{heading}\n\n{lead}\n"
    lines = ShotLines(shots, frame, linked=linked)
    shown, listed_lines = _share_room(frame.limit - size(head), images, lines)
    listed = sum(line.counted for line in lines.after(shown)[:listed_lines])
    total = sum(not shot.repeats for shot in shots)
    pictured = sum(not shot.repeats for shot in shots[:shown])
    omitted = total - pictured - listed
    lists = lines.parts(shown, listed_lines)
    text = head + "".join(part + lists.pop(key, "") for key, part in images.parts(shown).items())
    text += "".join(lists.values()) + lines.note(shown, listed_lines)
    return SizedComment(frame.pr_number, text, heading, total, pictured, listed, omitted)


def _share_room(room: int, images: Images, lines: ShotLines) -> tuple[int, int]:
    """Return how many images and how many lines fit.

    Show as many images as leave a line for every other shot that isn't unchanged. If that costs too many
    images, they keep their share of the room.
    """

    def fits(shown: int, count: int, room: int = room) -> bool:
        return images.fit(shown, room - size(lines.text(shown, count)))

    def leaves_lines(shown: int) -> bool:
        # All lines together can be shorter than some lines plus the note about the omitted ones.
        return fits(shown, lines.count_changes_after(shown)) or fits(shown, len(lines.after(shown)))

    shown = _find_most(images.most, leaves_lines)
    at_least = room_for_images(room)
    if shown < images.most and fits(shown + 1, 0, at_least):
        shown = _find_most(images.most, lambda shown: fits(shown, 0, at_least))
    return shown, _find_most(len(lines.after(shown)), lambda count: fits(shown, count))


def _find_most(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `upper` that fits. Zero always fits."""
    # The whole can be shorter than a part, because it needs no note about a rest.
    return upper if fits(upper) else bisect_left(range(1, upper), True, key=lambda number: not fits(number))
