"""The pictures of a comment: one table per name, in folders if there are many names."""

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
    """The pictures of the first shots, as many as the caller asks for. At most `most` fit into the room."""

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
        """Return whether the pictures of the first `shown` shots fit into the room."""
        # Tables are larger than their cells, so the cells alone rule out most counts that don't fit.
        return self._sizes[shown] <= room and self._size(shown) <= room

    def text(self, shown: int) -> str:
        folders: dict[str, dict[str, list[int]]] = {}
        for number in range(shown):
            name = self._shots[number].name
            folders.setdefault(self._folders[name], {}).setdefault(name, []).append(number)
        return "".join(self._write_folder(folder, names) for folder, names in folders.items())

    def _write_cells(self, room: int) -> tuple[list[list[str]], list[int]]:
        """Return the cells of as many shots as would fit if the comment contained nothing else.

        Also return the size in bytes of the cells of the first 0, 1, 2, … shots.
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
        """Return a name's block with the pictures of these shots."""
        known = self._blocks.get((name, len(numbers)))
        if known is None:
            shots = [self._shots[number] for number in numbers]
            cells = {shot.column: self._cells[number] for shot, number in zip(shots, numbers, strict=True)}
            verdicts = ", ".join(dict.fromkeys(shot.verdict for shot in shots if shot.verdict))
            known = self._tables.block(name, verdicts, _arrange(self._layouts[name], cells))
            self._blocks[name, len(numbers)] = known
        return known


def _lay_out(shots: Iterable[CommentShot]) -> dict[str, Layout]:
    """Return the layout of each name. It doesn't depend on how many of the name's shots are shown."""
    columns: dict[str, set[Column]] = {}
    pairs = False
    for shot in shots:
        columns.setdefault(shot.name, set()).add(shot.column)
        pairs = len(shot.pictures) > 1
    return {name: layout_of(frozenset(used), pairs=pairs) for name, used in columns.items()}


def _arrange(layout: Layout, cells: Mapping[Column, list[str]]) -> list[Grid]:
    """Return the cells of a name. A column's cells are stacked, or side by side if it is the only one."""
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
