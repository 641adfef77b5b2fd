"""Two decoded images, aligned row by row."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from prshots.server.adapters.pictures.engine.canvas import Canvas, Pixels
from prshots.server.adapters.pictures.engine.differing_pixels import (
    LOSSLESS,
    LOSSY,
    MARGIN,
    Strength,
    find_differences,
)
from prshots.server.adapters.pictures.engine.row_alignment import align
from prshots.server.adapters.pictures.engine.stretches import Sketches, Stretch

_CHUNK_PIXELS = 131_072
"""How many pixels are compared at a time. Comparing takes about 100 bytes per pixel."""


class _Chunk(NamedTuple):
    """Rows to compare, with `above` and `below` further rows around them that are also aligned."""

    before: int
    after: int
    rows: int
    above: int
    below: int


class Pair:
    """Images of different widths are compared in the columns that both have."""

    def __init__(self, before: Canvas, after: Canvas) -> None:
        self.before, self.after = before, after
        self.same_width = before.width == after.width
        self.width = min(before.width, after.width)
        self._transparent = before.is_transparent or after.is_transparent
        self._thresholds = LOSSY if before.is_lossy or after.is_lossy else LOSSLESS

    def forget_before(self) -> None:
        """Free the before image's pixels."""
        self.before.image.close()

    def align_rows(self) -> list[Stretch]:
        before, after = (
            canvas.row_hashes(self.width, transparent=self._transparent)
            for canvas in (self.before, self.after)
        )
        sketches = Sketches(
            partial(self.before.row_sketches, width=self.width),
            partial(self.after.row_sketches, width=self.width),
        )
        return align(before, after, sketches, lossy=self._thresholds.is_lossy)

    def strengths(self, stretches: Sequence[Stretch]) -> Strength:
        """Return by how much each pixel of the after image differs."""
        strengths = np.zeros((self.after.height, self.after.width), np.uint8)
        strengths[:, self.width :] = 255
        for chunk in _chunks(stretches, self.width):
            rows = slice(chunk.after, chunk.after + chunk.rows)
            self._compare(chunk, strengths[rows, : self.width])
        return strengths

    def pixels(self, canvas: Canvas, top: int, bottom: int) -> Pixels:
        return canvas.rows(top, bottom, self.width, transparent=self._transparent)

    def _compare(self, chunk: _Chunk, strengths: Strength) -> None:
        ours, theirs = (
            self.pixels(canvas, top - chunk.above, top + chunk.rows + chunk.below)
            for canvas, top in ((self.before, chunk.before), (self.after, chunk.after))
        )
        columns = np.flatnonzero((ours != theirs).any(axis=0).any(axis=1))  # one axis at a time is faster
        if not len(columns):
            return
        left, right = max(0, int(columns[0]) - MARGIN), int(columns[-1]) + 1 + MARGIN
        rows = slice(chunk.above, chunk.above + chunk.rows)
        for one, other in zip(
            _on_grounds(ours[:, left:right]), _on_grounds(theirs[:, left:right]), strict=True
        ):
            part = strengths[:, left:right]
            np.maximum(part, find_differences(one, other, self._thresholds)[rows], out=part)


def _chunks(stretches: Sequence[Stretch], width: int) -> Iterator[_Chunk]:
    """Yield the paired rows, in chunks that are not too large."""
    height = max(1, _CHUNK_PIXELS // width)
    for index, stretch in enumerate(stretches):
        if stretch.kind != "paired":
            continue
        above, below = (
            neighbor.rows if neighbor and neighbor.kind == "equal" else 0
            for neighbor in (
                stretches[index - 1] if index else None,
                stretches[index + 1] if index + 1 < len(stretches) else None,
            )
        )
        for start in range(0, stretch.rows, height):
            rows = min(height, stretch.rows - start)
            yield _Chunk(
                stretch.before + start,
                stretch.after + start,
                rows,
                min(MARGIN, above + start),
                min(MARGIN, below + stretch.rows - start - rows),
            )


def _on_grounds(pixels: Pixels) -> list[Pixels]:
    """Return the visible colors; of transparent images, on black and on white."""
    if pixels.shape[2] == 3:  # noqa: PLR2004 - red, green, blue
        return [pixels]
    colors, opacity = pixels[..., :3], pixels[..., 3:]
    return [colors, colors + (255 - opacity)]
