"""Compare two images as a person would, and show the difference.

Both images are decoded completely, because their formats allow nothing else. The steps after that work on
bands of rows, and only on rows that differ.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from prshots.contract.replies import Region
from prshots.server.adapters.pictures.engine.canvas import Canvas, Pixels
from prshots.server.adapters.pictures.engine.decoding import pillow_errors_as_ours
from prshots.server.adapters.pictures.engine.difference_image import draw_difference
from prshots.server.adapters.pictures.engine.differing_pixels import (
    LOSSLESS,
    LOSSY,
    MARGIN,
    Strength,
    find_differences,
)
from prshots.server.adapters.pictures.engine.regions import Box, boxes_around, clear_noise, merge_strips
from prshots.server.adapters.pictures.engine.row_alignment import Sketches, Stretch, align
from prshots.server.domain.comparison.models import PairResult

MAX_REGIONS = 50
_MAX_STRIPS = 20

_LEAST_SUM = 100
"""The minimum sum of differences, in levels of 255, of a group of pixels. Less is noise of a pixel or two."""

_SEAM = 2
"""The height of the region that shows where rows were removed. Removed rows have no pixels in the after
image."""

_CHUNK_PIXELS = 131_072
"""How many pixels to compare at a time. Comparing takes about 100 bytes per pixel."""

_CARET_WIDTH = 2
_CARET_HEIGHTS = range(10, 41)


def compare(before: bytes, after: bytes) -> PairResult:
    """Compare two images. Raises PictureError."""
    with pillow_errors_as_ours():
        return _compare_pair(_Pair(Canvas(before), Canvas(after)))


def _compare_pair(pair: "_Pair") -> PairResult:
    stretches = pair.align_rows()
    if pair.same_width and all(stretch.kind == "equal" for stretch in stretches):
        return PairResult("unchanged")
    strengths = pair.strengths(stretches)
    strips = _find_strips(stretches, pair)
    clear_noise(strengths, _LEAST_SUM)
    changed = boxes_around(strengths, MAX_REGIONS - _MAX_STRIPS)
    if not strips and (not changed or (len(changed) == 1 and _is_caret(pair, changed[0]))):
        return PairResult("unchanged")
    pair.before.image.close()  # frees memory for drawing
    inserted = sum(stretch.rows for stretch in stretches if stretch.kind == "inserted")
    # The largest distance, in rows, that any content moved or the image grew or shrank.
    shift = max(accumulate((stretch.shift for stretch in stretches), initial=0), key=abs)
    return PairResult(
        verdict="changed" if changed or not pair.same_width else "moved",
        pixels=int(np.count_nonzero(strengths)) + inserted * pair.width,
        regions=[_region(box) for box in sorted([*strips, *changed], key=lambda box: (box.top, box.left))],
        shift=shift,
        marked=draw_difference(pair.after.image, strengths, changed, strips),
    )


def _is_caret(pair: "_Pair", box: Box) -> bool:
    """Return whether the box is a blinking text cursor: a thin upright bar of one color in each image."""
    if box.right - box.left > _CARET_WIDTH or box.bottom - box.top not in _CARET_HEIGHTS:
        return False
    bars = [
        pair.pixels(canvas, box.top, box.bottom)[:, box.left : box.right].reshape(box.bottom - box.top, -1)
        for canvas in (pair.before, pair.after)
    ]
    return all((bar == bar[0]).all() for bar in bars)


def _find_strips(stretches: Sequence[Stretch], pair: "_Pair") -> list[Box]:
    """Return the boxes of inserted rows, and seams where rows or columns were removed."""
    width, height = pair.after.image.size
    strips = []
    for stretch in stretches:
        top = stretch.after
        if stretch.kind == "inserted":
            strips.append(Box(0, top, width, top + stretch.rows))
        elif stretch.kind == "removed" and not (strips and top == height):  # rows pushed off the end
            start = max(0, min(top - _SEAM // 2, height - _SEAM))
            strips.append(Box(0, start, width, min(height, start + _SEAM)))
    if pair.before.width > width:
        strips.append(Box(max(0, width - _SEAM), 0, width, height))
    return merge_strips(strips, _MAX_STRIPS)


def _region(box: Box) -> Region:
    return (box.left, box.top, box.right - box.left, box.bottom - box.top)


class _Pair:
    """Two decoded images. Images of different widths are compared in the columns that both have."""

    def __init__(self, before: Canvas, after: Canvas) -> None:
        self.before, self.after = before, after
        self.same_width = before.width == after.width
        self.width = min(before.width, after.width)
        self._transparent = before.is_transparent or after.is_transparent
        self._thresholds = LOSSY if before.is_lossy or after.is_lossy else LOSSLESS

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
        """Return how much each pixel of the after image differs."""
        strengths = np.zeros((self.after.height, self.after.width), np.uint8)
        strengths[:, self.width :] = 255
        for chunk in _chunks(stretches, self.width):
            rows = slice(chunk.after, chunk.after + chunk.rows)
            self._compare(chunk, strengths[rows, : self.width])
        return strengths

    def pixels(self, canvas: Canvas, top: int, bottom: int) -> Pixels:
        return canvas.rows(top, bottom, self.width, transparent=self._transparent)

    def _compare(self, chunk: "_Chunk", strengths: Strength) -> None:
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


class _Chunk(NamedTuple):
    """Rows to compare, plus `above` and `below` further rows around them that are also aligned."""

    before: int
    after: int
    rows: int
    above: int
    below: int


def _chunks(stretches: Sequence[Stretch], width: int) -> Iterator[_Chunk]:
    """Yield the paired rows in chunks of limited size."""
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
    """Return the visible colors. For transparent images, return them on black and on white."""
    if pixels.shape[2] == 3:  # noqa: PLR2004 - red, green, blue
        return [pixels]
    colors, opacity = pixels[..., :3], pixels[..., 3:]
    return [colors, colors + (255 - opacity)]
