"""Compare two images as a person would, and show the difference.

Both images are decoded completely, because their formats allow nothing else. The steps after that work on
bands of rows, and only on rows that differ.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from prshots.server.adapters.pictures.engine import decoding
from prshots.server.adapters.pictures.engine.closeups import draw_closeups
from prshots.server.adapters.pictures.engine.decoding import DecodedPicture
from prshots.server.adapters.pictures.engine.differing_pixels import (
    LOSSLESS,
    LOSSY,
    MARGIN,
    Strength,
    find_differences,
    find_same_shapes,
)
from prshots.server.adapters.pictures.engine.recoloring import Recoloring, Rows, find_recoloring
from prshots.server.adapters.pictures.engine.regions import Box, boxes_around, clear_noise, merge_strips
from prshots.server.adapters.pictures.engine.row_alignment import Sketches, Stretch, align
from prshots.server.adapters.pictures.engine.text_cursor import REACH, TALLEST, is_text_cursor
from prshots.server.adapters.pictures.engine.traits import find_traits
from prshots.server.domain.comparison.models import NO_TRAITS, PairResult, PairVerdict

Pixels = npt.NDArray[np.uint8]
"""Rows, columns, channels."""

_OPAQUE = 255
_BINS = 32
"""The sections of a row in a sketch. On a page of 1280 px, each has 40 px."""


class Canvas:
    """The pixels of an image.

    A transparent pixel has its color multiplied by its opacity, and the opacity as a fourth channel. The
    hidden color of a fully transparent pixel therefore has no effect.
    """

    def __init__(self, decoded: DecodedPicture) -> None:
        self.image = decoded.image
        self.is_transparent = _is_transparent(self.image)
        self.is_lossy = decoded.is_lossy
        self.width, self.height = self.image.size

    def pixels(self, box: Box, *, transparent: bool) -> Pixels:
        """Return the pixels in a box, with three channels, or four if `transparent`."""
        if transparent:
            return np.asarray(decoding.band(self.image, box, "RGBA").convert("RGBa"))
        return np.asarray(decoding.band(self.image, box, "RGB"))

    def row_hashes(self, left: int, right: int, *, transparent: bool) -> list[int]:
        """Return a number for each row. Equal rows have equal numbers, within this process."""
        hashes: list[int] = []
        for top, bottom in decoding.bands(0, self.height, right):
            rows = self.pixels(Box(left, top, right, bottom), transparent=transparent)
            hashes.extend(hash(row.tobytes()) for row in rows)
        return hashes

    def row_sketches(self, top: int, bottom: int, left: int, right: int) -> npt.NDArray[np.float32]:
        """Return the mean brightness of 32 sections of each row, relative to their median, and the median.

        Rows that look alike have similar values.
        """
        starts = np.unique(np.linspace(0, right - left, _BINS, endpoint=False).astype(int))
        widths = np.diff(np.append(starts, right - left)).astype(np.float32)
        sketches = [
            np.add.reduceat(
                np.asarray(decoding.band(self.image, (left, start, right, end), "L")), starts, 1, np.float32
            )
            for start, end in decoding.bands(top, bottom, right)
        ]
        levels = (np.concatenate(sketches) / widths).astype(np.float32)
        ground = np.median(levels, axis=1, keepdims=True)
        return np.hstack([levels - ground, ground])


def _is_transparent(picture: Image.Image) -> bool:
    if picture.mode == "RGBA":
        lowest, _ = picture.getchannel("A").getextrema()
        return lowest != _OPAQUE
    return picture.has_transparency_data


MAX_REGIONS = 50
_MAX_STRIPS = 20

_SEAM = 2
"""The height of the region that shows where rows were removed, because the after image doesn't have them."""

_CHUNK_PIXELS = 131_072
"""How many pixels to compare at a time. Comparing takes about 100 bytes per pixel."""

_ENOUGH_PIXELS = 4_000_000
_NEARLY_ALL = 0.9
"""If this share of the first pixels differs visibly, count the rest without asking whether it's visible."""

_LEAST_BESIDE_COLORS = 240
"""The minimum sum of levels in a group of pixels that don't follow a table of colors. At rounded corners, a
pixel or two mix three colors."""

_FEW_ROWS = 1 / 16
"""If content beside a sidebar moved, and no whole row did, more than this share of the rows differs."""
_CONTENT_SHARE = 1 / 3
"""The minimum share of the columns beside a sidebar. Less is a part that moved on a page."""
_FAR_FEWER = 1 / 2
"""If content moved, at most this share of the differing pixels is left without the sidebar."""


def compare(before: bytes, after: bytes) -> PairResult:
    """Compare two images. Raises PictureError."""
    return compare_decoded(DecodedPicture(before), DecodedPicture(after))


def compare_decoded(before: DecodedPicture, after: DecodedPicture) -> PairResult:
    result = PairResult("unchanged")
    if before.pixels != after.pixels:
        with decoding.pillow_errors_as_ours():
            result = _compare_pair(_Pair(Canvas(before), Canvas(after)))
    return replace(result, pixels_before=before.pixels, pixels_after=after.pixels)


def _compare_pair(pair: "_Pair") -> PairResult:
    stretches = pair.align_rows()
    if pair.same_width and all(stretch.kind == "equal" for stretch in stretches):
        return PairResult("unchanged")
    strengths = pair.strengths(stretches)
    stretches, strengths = pair.align_beside_sidebar(stretches, strengths)
    strips = _find_strips(stretches, pair)
    clear_noise(strengths, pair.thresholds.least_sum)
    changed = boxes_around(strengths, MAX_REGIONS - _MAX_STRIPS)
    if not strips and (not changed or _is_text_cursor(pair, changed)):
        return PairResult("unchanged")
    verdict: PairVerdict = "changed" if changed or not pair.same_width else "moved"
    differing = int(np.count_nonzero(strengths))
    recoloring = find_recoloring(pair.rows, stretches, strengths) if pair.has_traits else None
    more_than_colors = False
    if recoloring:
        rest = pair.strengths(stretches, recoloring)
        clear_noise(rest, _LEAST_BESIDE_COLORS)
        more_than_colors = bool(strips or rest.any())
        if more_than_colors:
            strengths, changed = rest, boxes_around(rest, MAX_REGIONS - _MAX_STRIPS)
    closeups = draw_closeups(pair.before.image, pair.after.image, changed, strips, stretches)
    shown = [Box.of(closeup.region) for closeup in closeups]
    traits = NO_TRAITS
    if pair.has_traits:
        traits = find_traits(
            pair.rows, stretches, strengths, recoloring, shown, more_than_colors=more_than_colors
        )
    pair.before.image.close()  # frees memory for drawing
    inserted = sum(stretch.rows for stretch in stretches if stretch.kind == "inserted")
    # The largest distance, in rows, that any content moved or the image grew or shrank.
    shift = max(accumulate((stretch.shift for stretch in stretches), initial=0), key=abs)
    return PairResult(
        verdict=verdict,
        pixels=differing + inserted * (pair.right - pair.left),
        regions=[box.region for box in sorted([*strips, *changed], key=lambda box: (box.top, box.left))],
        shift=shift,
        marked=draw_difference(pair.after.image, strengths, changed, strips),
        traits=traits,
        closeups=closeups,
    )


def _is_text_cursor(pair: "_Pair", changed: Sequence[Box]) -> bool:
    box, *others = changed
    if others or not pair.same_width or box.bottom - box.top > TALLEST:
        return False
    top, bottom = max(0, box.top - REACH), min(pair.after.height, box.bottom + REACH)
    before, after = (pair.pixels(canvas, top, bottom) for canvas in (pair.before, pair.after))
    return is_text_cursor(before, after, box._replace(top=box.top - top, bottom=box.bottom - top))


def _find_strips(stretches: Sequence[Stretch], pair: "_Pair") -> list[Box]:
    """Return the boxes of inserted rows, and seams where rows or columns were removed."""
    width, height = pair.after.image.size
    left, right = (pair.left, pair.right) if pair.same_width else (0, width)
    strips = []
    for stretch in stretches:
        top = stretch.after
        if stretch.kind == "inserted":
            strips.append(Box(left, top, right, top + stretch.rows))
        elif stretch.kind == "removed" and not (strips and top == height):  # rows pushed off the end
            start = max(0, min(top - _SEAM // 2, height - _SEAM))
            strips.append(Box(left, start, right, min(height, start + _SEAM)))
    if pair.before.width > width:
        strips.append(Box(max(0, width - _SEAM), 0, width, height))
    return merge_strips(strips, _MAX_STRIPS)


def _has_moved(stretches: Sequence[Stretch]) -> bool:
    return any(stretch.shift for stretch in stretches)


class _Pair:
    """Two decoded images. Images of different widths are compared in the columns that both have."""

    def __init__(self, before: Canvas, after: Canvas) -> None:
        self.before, self.after = before, after
        self.same_width = before.width == after.width
        self.width = min(before.width, after.width)
        self.left, self.right = 0, self.width  # the columns in which rows are aligned and compared
        self._transparent = before.is_transparent or after.is_transparent
        self.thresholds = LOSSY if before.is_lossy or after.is_lossy else LOSSLESS
        self.has_traits = self.same_width and not self.thresholds.is_lossy  # else noise is everywhere

    @property
    def rows(self) -> Rows:  # stored, it would be a cycle that keeps the images in memory
        return Rows(partial(self.pixels, self.before), partial(self.pixels, self.after))

    def align_rows(self) -> list[Stretch]:
        canvases = (self.before, self.after)
        before, after = (
            canvas.row_hashes(self.left, self.right, transparent=self._transparent) for canvas in canvases
        )
        ours, theirs = (partial(canvas.row_sketches, left=self.left, right=self.right) for canvas in canvases)
        sketches = Sketches(ours, theirs, self._look_alike)
        return align(before, after, sketches, lossy=self.thresholds.is_lossy)

    def _look_alike(self, stretches: list[Stretch]) -> bool:
        rows = slice(stretches[0].after, stretches[-1].after + stretches[-1].rows)
        strengths = self.strengths(stretches)[rows, : self.width]
        clear_noise(strengths, self.thresholds.least_sum)
        return not strengths.any()

    def align_beside_sidebar(
        self, stretches: list[Stretch], strengths: Strength
    ) -> tuple[list[Stretch], Strength]:
        """Align only the columns that differ, if the content beside a fixed sidebar moved.

        That's true if far fewer pixels differ then.
        """
        few = self.after.height * _FEW_ROWS * (not _has_moved(stretches))
        if not self.same_width or self.thresholds.is_lossy or strengths.any(axis=1).sum() <= few:
            return stretches, strengths
        left, right = self._find_differing_columns(stretches)
        if not self.width * _CONTENT_SHARE <= right - left < self.width:
            return stretches, strengths
        self.left, self.right = left, right
        narrower = self.align_rows()
        if _has_moved(narrower):
            fewer = self.strengths(narrower)
            if np.count_nonzero(fewer) <= np.count_nonzero(strengths) * _FAR_FEWER:
                return narrower, fewer
        self.left, self.right = 0, self.width
        return stretches, strengths

    def _find_differing_columns(self, stretches: list[Stretch]) -> tuple[int, int]:
        """Return the first column that differs in rows at the same height, and the end of the last one."""
        left, right = self.width, 0
        for ours, theirs in self._rows_at_same_height(stretches):
            columns = np.flatnonzero((ours != theirs).any(axis=0).any(axis=1))
            if len(columns):
                left, right = min(left, int(columns[0])), max(right, int(columns[-1]) + 1)
            if right - left == self.width:
                break
        return left, right

    def _rows_at_same_height(self, stretches: list[Stretch]) -> Iterator[tuple[Pixels, Pixels]]:
        """Yield the rows of both images that can differ. The shorter image continues with its last row."""
        shorter, taller = sorted((self.before, self.after), key=lambda canvas: canvas.height)
        for kind, before, after, rows in stretches:
            if (kind, before) == ("equal", after):
                continue
            end = min(max(before, after) + rows, shorter.height)
            for top, bottom in decoding.bands(min(before, after), end, self.width):
                yield self.pixels(self.before, top, bottom), self.pixels(self.after, top, bottom)
        last = self.pixels(shorter, shorter.height - 1, shorter.height)
        for top, bottom in decoding.bands(shorter.height, taller.height, self.width):
            yield last, self.pixels(taller, top, bottom)

    def strengths(self, stretches: Sequence[Stretch], recoloring: Recoloring | None = None) -> Strength:
        """Return how much each pixel of the after image differs, besides the recoloring."""
        strengths = np.zeros((self.after.height, self.after.width), np.uint8)
        strengths[:, self.width :] = 255
        compared = differing = 0
        for chunk in _chunks(stretches, self.width):
            part = strengths[chunk.after : chunk.after + chunk.rows, : self.width]
            is_clear = compared > _ENOUGH_PIXELS and differing > compared * _NEARLY_ALL
            self._compare(chunk, part, recoloring, is_clear=is_clear)
            compared, differing = compared + part.size, differing + int(np.count_nonzero(part))
        return strengths

    def pixels(self, canvas: Canvas, top: int, bottom: int) -> Pixels:
        return canvas.pixels(Box(0, top, self.width, bottom), transparent=self._transparent)

    def _compare(
        self, chunk: "_Chunk", strengths: Strength, recoloring: Recoloring | None, *, is_clear: bool
    ) -> None:
        ours, theirs = (
            self.pixels(canvas, top - chunk.above, top + chunk.rows + chunk.below)
            for canvas, top in ((self.before, chunk.before), (self.after, chunk.after))
        )
        recolored = recoloring.apply(ours, theirs) if recoloring else ours
        rows = slice(chunk.above, chunk.above + chunk.rows)
        if is_clear:
            strengths[:] = (recolored[rows] != theirs[rows]).any(axis=2) * np.uint8(255)
            return
        differs = (
            (recolored != theirs)[:, self.left : self.right].any(axis=0).any(axis=1)
        )  # one axis at a time is faster
        columns = np.flatnonzero(differs) + self.left
        if not len(columns):
            return
        left = max(self.left, int(columns[0]) - MARGIN)
        right = min(self.right, int(columns[-1]) + 1 + MARGIN)
        part = strengths[:, left:right]
        sides = (_on_grounds(side[:, left:right]) for side in (ours, recolored, theirs))
        for before, expected, after in zip(*sides, strict=True):
            found = find_differences(expected, after, self.thresholds)
            if recoloring:
                found[find_same_shapes(before, after)] = 0
            np.maximum(part, found[rows], out=part)


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
    equal_rows = [0, *(stretch.rows if stretch.kind == "equal" else 0 for stretch in stretches), 0]
    for index, stretch in enumerate(stretches):
        if stretch.kind != "paired":
            continue
        above, below = equal_rows[index], equal_rows[index + 2]
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


MAX_SIDE = 65_500
"""The longest side that libjpeg writes. A longer image is cut."""

_QUALITY = 85
_CHANGED = (214, 0, 110)
_MOVED = (9, 105, 218)
_TINT = 0.45
_OUTLINE = 2
_GAP = 3
"""The distance between an outline and the change, to keep the outline from covering the change."""

_PALE = [150 + level * 90 // 255 for level in range(256)]


def draw_difference(
    image: Image.Image, marks: npt.NDArray[np.uint8], changed: list[Box], moved: list[Box]
) -> bytes:
    """Return a JPEG of the image. Inserted rows and seams (`moved`) have a different color."""
    width, height = min(image.width, MAX_SIDE), min(image.height, MAX_SIDE)
    picture = Image.new("RGB", (width, height))
    for top, bottom in decoding.bands(0, height, width):
        picture.paste(
            decoding.on_white(image, Box(0, top, width, bottom)).convert("L").point(_PALE), (0, top)
        )
    for box in (*moved, *changed):
        _show(picture, image, box)
    for box in changed:
        _tint(picture, marks, box)
    draw = ImageDraw.Draw(picture)
    for color, boxes in ((_MOVED, moved), (_CHANGED, changed)):
        for box in boxes:
            reach = _GAP + _OUTLINE
            outline = (
                max(0, box.left - reach),
                max(0, box.top - reach),
                min(width, box.right + reach) - 1,
                min(height, box.bottom + reach) - 1,
            )
            if outline[0] < outline[2] and outline[1] < outline[3]:
                draw.rectangle(outline, outline=color, width=_OUTLINE)
    encoded = io.BytesIO()
    picture.save(encoded, "JPEG", quality=_QUALITY, subsampling=0)
    return encoded.getvalue()


def _show(picture: Image.Image, image: Image.Image, box: Box) -> None:
    """Paste the box unchanged, in bands."""
    right, end = min(box.right, picture.width), min(box.bottom, picture.height)
    for top, bottom in decoding.bands(box.top, end, box.right - box.left):
        picture.paste(decoding.on_white(image, Box(box.left, top, right, bottom)), (box.left, top))


def _tint(picture: Image.Image, marks: npt.NDArray[np.uint8], box: Box) -> None:
    for top, bottom in decoding.bands(box.top, min(box.bottom, picture.height), box.right - box.left):
        part = marks[top:bottom, box.left : box.right]
        mask = Image.fromarray((part > 0).astype(np.uint8) * np.uint8(255 * _TINT))
        picture.paste(_CHANGED, (box.left, top), mask)
