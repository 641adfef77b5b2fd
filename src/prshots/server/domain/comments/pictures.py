"""The pictures of a comment: tables by name, in folders if there are many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import takewhile

from prshots.contract.comments import Marker
from prshots.server.domain.comments.comment_shots import FOLDED_ABOVE, CommentShot, sums
from prshots.server.domain.comments.layout import Column, Layout, layout_of
from prshots.server.domain.comments.markup import STYLES, size
from prshots.server.domain.comments.tables import TABLES, Block, Grid, Picture


class ShotPictures:
    """The pictures of the first shots, as many as asked for. No more than `most` fit into the room."""

    def __init__(self, shots: Sequence[CommentShot], marker: Marker, room: int) -> None:
        self._style = STYLES[marker]
        self._tables = TABLES[marker]
        self._shots = [shot for shot in shots if shot.pictures]
        self._folders = folders_of([shot.name for shot in self._shots], FOLDED_ABOVE)
        self._layouts = _lay_out(self._shots)
        self._cells, self._sizes = self._write_cells(room)
        self._blocks: dict[tuple[str, int], Block] = {}
        self._size = cache(lambda shown: size(self.text(shown)))

    @property
    def most(self) -> int:
        return len(self._cells)

    def fit(self, shown: int, room: int) -> bool:
        """Return whether the first `shown` fit into the room."""
        # Tables have more than their cells, so most that do not fit are found without writing them.
        return self._sizes[shown] <= room and self._size(shown) <= room

    def text(self, shown: int) -> str:
        folders: dict[str, dict[str, list[int]]] = {}
        for number in range(shown):
            name = self._shots[number].name
            folders.setdefault(self._folders[name], {}).setdefault(name, []).append(number)
        return "".join(self._write_folder(folder, names) for folder, names in folders.items())

    def _write_cells(self, room: int) -> tuple[list[list[str]], list[int]]:
        """Return the cells of the first shots: no more than fit if there were nothing else.

        Also return how many bytes the cells of the first 0, 1, 2, … shots take.
        """
        cells: list[list[str]] = []
        sizes = [0]
        for shot in self._shots:
            texts = [self._write_cell(picture, shot) if picture else "" for picture in shot.pictures]
            reached = sizes[-1] + size("".join(texts))
            if reached > room:
                break
            cells.append(texts)
            sizes.append(reached)
        return cells, sizes

    def _write_cell(self, picture: Picture, shot: CommentShot) -> str:
        return self._tables.picture(picture, shot.column, self._layouts[shot.name].widths[shot.column])

    def _write_folder(self, folder: str, names: Mapping[str, Sequence[int]]) -> str:
        tables = self._tables.tables(self._write_block(name, numbers) for name, numbers in names.items())
        if not folder:
            return tables
        counts = Counter(self._shots[number].verdict for numbers in names.values() for number in numbers)
        summary = f"{self._tables.code(folder)}: {sums(counts)}"
        return self._style.folded.format(summary=summary, lines=tables.lstrip("\n"))

    def _write_block(self, name: str, numbers: Sequence[int]) -> Block:
        """Return the pictures of a name, of which the first ones are shown."""
        known = self._blocks.get((name, len(numbers)))
        if known is None:
            shots = [self._shots[number] for number in numbers]
            cells = {shot.column: self._cells[number] for shot, number in zip(shots, numbers, strict=True)}
            verdicts = ", ".join(dict.fromkeys(shot.verdict for shot in shots if shot.verdict))
            known = self._tables.block(name, verdicts, _arrange(self._layouts[name], cells))
            self._blocks[name, len(numbers)] = known
        return known


def _lay_out(shots: Iterable[CommentShot]) -> dict[str, Layout]:
    """Return the layout of each name. It does not depend on how many of its shots are shown."""
    columns: dict[str, set[Column]] = {}
    pairs = False
    for shot in shots:
        columns.setdefault(shot.name, set()).add(shot.column)
        pairs = len(shot.pictures) > 1
    return {name: layout_of(frozenset(used), pairs=pairs) for name, used in columns.items()}


def _arrange(layout: Layout, cells: Mapping[Column, list[str]]) -> list[Grid]:
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


def folders_of(names: Iterable[str], folded_above: int) -> dict[str, str]:
    """Return the folder of each name; it is empty for a name that is not folded.

    Folders that all names have in common tell nothing apart, so the folder below them counts. A name directly
    in them has the last of them.
    """
    paths = {name: [part.strip() for part in name.split("/")][:-1] for name in names}
    if len(paths) <= folded_above:
        return dict.fromkeys(paths, "")
    in_common = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths.values(), strict=False))
    depth = len(list(in_common))
    folders = {name: (["", *path][: depth + 2])[-1] for name, path in paths.items()}
    together = Counter(folders.values())
    return {name: folder if together[folder] > 1 else "" for name, folder in folders.items()}
