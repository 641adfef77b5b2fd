"""Compare many small pictures at once, on sheets, and large ones band by band.

A comparison takes a millisecond however few the pixels are, so hundreds of words are laid out on one sheet.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.decoding import BAND_PIXELS, bands
from prshots.server.adapters.pictures.engine.differing_pixels import CELL_SIDE, MARGIN, Strength

Pixels = npt.NDArray[np.uint8]
Layers = tuple[Pixels, ...]
"""Pictures of the same size, such as before and after."""

_WIDTH = 512
"""The least width of a sheet."""


class _Part(NamedTuple):
    """A band of rows of a picture, with a margin above and below, and where it is on the sheet."""

    number: int
    start: int
    end: int
    top: int
    bottom: int
    width: int
    place: tuple[int, int] = 0, 0

    @property
    def height(self) -> int:
        return self.end - self.start


def compare_on_sheets(pictures: Sequence[Layers], compare: Callable[..., Strength]) -> list[Strength]:
    """Compare the layers of each picture. What is beyond the margin around a pixel has no effect on it."""
    results = [np.zeros(layers[0].shape[:2], np.uint8) for layers in pictures]
    for sheet in _lay_out(sorted(_split(pictures), key=lambda part: part.height)):
        found = compare(*_fill(sheet, pictures))
        for part in sheet:
            row, column = part.place
            rows = slice(row + part.top - part.start, row + part.bottom - part.start)
            results[part.number][part.top : part.bottom] = found[rows, column : column + part.width]
    return results


def _split(pictures: Sequence[Layers]) -> Iterator[_Part]:
    for number, (picture, *_) in enumerate(pictures):
        height, width = picture.shape[:2]
        for top, bottom in bands(0, height if width else 0, max(1, width)):
            start, end = max(0, top - MARGIN), min(height, bottom + MARGIN)
            yield _Part(number, start, end, top, bottom, width)


def _lay_out(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Yield sheets: parts from the left to the right, in lines from the top to the bottom."""
    sheet = list[_Part]()
    row = column = line = 0
    for part in parts:
        if column and column + part.width > _WIDTH:
            row, column, line = row + line, 0, 0
        if sheet and (row + part.height) * max(_WIDTH, part.width) > BAND_PIXELS:
            yield sheet
            sheet, row, column, line = [], 0, 0, 0
        sheet.append(part._replace(place=(row, column)))
        column += _whole_cells(part.width)
        line = max(line, _whole_cells(part.height))
    if sheet:
        yield sheet


def _fill(sheet: list[_Part], pictures: Sequence[Layers]) -> Iterator[Pixels]:
    height = max(part.place[0] + part.height for part in sheet)
    width = max(part.place[1] + part.width for part in sheet)
    for layer, first in enumerate(pictures[sheet[0].number]):
        if len(sheet) == 1:
            yield first[sheet[0].start : sheet[0].end]
            continue
        filled = np.zeros((height, width, first.shape[2]), np.uint8)
        for part in sheet:
            row, column = part.place
            target = filled[row : row + part.height, column : column + part.width]
            target[:] = pictures[part.number][layer][part.start : part.end]
        yield filled


def _whole_cells(length: int) -> int:
    return length + -length % CELL_SIDE
