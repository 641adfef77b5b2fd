"""Compare two images as a person would, and show the difference.

1. Find the tokens of both images: words, icons and pictures (tokens.py).
2. Find how far each of them moved (alignment.py).
3. Find what no movement explains (residue.py).
4. Turn that into pieces: what changed, came in, went or got another color (pieces.py).

Only the part in which the images differ is looked at.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine import decoding
from prshots.server.adapters.pictures.engine.alignment import Offset, align, find_pushes, find_scrolls
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
from prshots.server.adapters.pictures.engine.marking import draw_difference
from prshots.server.adapters.pictures.engine.moves import find_moves
from prshots.server.adapters.pictures.engine.pieces import FoundPiece, find_pieces, is_redrawn
from prshots.server.adapters.pictures.engine.recoloring import Recoloring, find_recoloring
from prshots.server.adapters.pictures.engine.regions import (
    Box,
    clear_noise,
    enclose_both,
    grow,
    median_color,
    shift,
    show_on_white,
    to_mask,
)
from prshots.server.adapters.pictures.engine.residue import Differs, Place, find_residue
from prshots.server.adapters.pictures.engine.sheets import compare_on_sheets
from prshots.server.adapters.pictures.engine.side import Side
from prshots.server.adapters.pictures.engine.text_cursor import REACH, TALLEST, is_text_cursor
from prshots.server.adapters.pictures.engine.tokens import find_tokens, split_lines
from prshots.server.domain.comparison.models import PairResult

cv2.setNumThreads(0)  # a worker has one processor, and threads would take address space

Pixels = npt.NDArray[np.uint8]
"""Rows, columns, channels."""

_AROUND = 24
"""How many pixels around the differing part to look at, to see whole words."""

_FIRST_LOOK = 48
"""How many pixels around the strongest difference to look at first: nearly always, it is no noise."""

_MOST_COMPARED = 20_000_000
"""How many pixels to compare as a person would after each was compared once. Beyond that, all differ."""

_LEAST_BESIDE_COLORS = 240
"""The minimum sum of levels in a group of pixels that don't follow a table of colors. At rounded corners, a
pixel or two mix three colors."""


def compare(before: bytes, after: bytes) -> PairResult:
    """Compare two images. Raises PictureError."""
    return compare_decoded(DecodedPicture(before), DecodedPicture(after))


def compare_decoded(before: DecodedPicture, after: DecodedPicture) -> PairResult:
    result = PairResult("unchanged")
    if before.pixels != after.pixels:
        with decoding.pillow_errors_as_ours():
            result = _compare_pair(_Pair(before, after))
    return replace(result, pixels_before=before.pixels, pixels_after=after.pixels)


def _compare_pair(pair: "_Pair") -> PairResult:
    within = pair.find_differing_part()
    if within is None or pair.is_noise(within):
        return PairResult("unchanged")
    pair.recolor(within)
    tokens = split_lines(*(find_tokens(image, within.clip(*image.shape[:2])) for image in pair.images))
    before, after = (Side(each, within) for each in tokens)
    alignment = align(*tokens, pair.after.shape)
    pair.pushes = find_pushes(alignment)
    pair.scrolls = find_scrolls(tokens, alignment)
    in_turn = [pair.visible] if pair.thresholds.is_lossy else [pair.unequal, pair.visible]
    find_residue(before, after, alignment, Differs(in_turn, pair.visible_on_ground))
    recolored = pair.recolored_pixels(after.left)
    pieces = find_pieces((before, after), alignment, recolored, pair.least_sum)
    moves = find_moves(after, alignment, [each.after for each in pieces if each.piece.kind != "gone"])
    if not pieces and not moves and pair.same_size:
        return PairResult("unchanged")
    if len(pieces) == 1 and not moves and pair.is_text_cursor(pieces[0]):
        return PairResult("unchanged")
    left = after.left if recolored is None else np.maximum(after.left, recolored)
    redrawn = is_redrawn(before, after)
    del before, after, tokens, recolored  # a large picture needs the memory
    return PairResult(
        verdict="changed" if pieces else "moved",
        pixels=cv2.countNonZero(left),
        pieces=[each.piece for each in pieces],
        moves=moves,
        colors=pair.recoloring.table if pair.recoloring else (),
        is_redrawn=redrawn,
        marked=draw_difference(pair.after, left, pieces),
        closeups=draw_closeups(pair.original, pair.after, pieces),
    )


class _Cut(NamedTuple):
    """The same part of both images: `layers` are before, after, and before in its original colors.

    `inside` is the part without its margin, and `target` its place in `beyond`, which says how much the
    pixels outside the images differ.
    """

    layers: tuple[Pixels, Pixels, Pixels]
    beyond: Strength
    inside: Box
    target: Box

    def paste(self, found: Strength) -> Strength:
        self.beyond[self.target.slices] = found[self.inside.slices]
        return self.beyond


class _Pair:
    """Two decoded images.

    A transparent pixel has its color multiplied by its opacity, and the opacity as a fourth channel. The
    hidden color of a fully transparent pixel therefore has no effect.
    """

    def __init__(self, before: DecodedPicture, after: DecodedPicture) -> None:
        self._is_transparent = before.is_transparent or after.is_transparent
        self.thresholds = LOSSY if before.is_lossy or after.is_lossy else LOSSLESS
        self.original, self.after = (
            each.to_array(transparent=self._is_transparent) for each in (before, after)
        )
        self.before = self.original
        """The before image in the new colors, if there are any."""
        self.recoloring: Recoloring | None = None
        self.scrolls: set[Offset] = set()
        self._compared = 0
        self.pushes: set[Offset] = set()
        """Offsets at which enough content moved to push other content off the page."""
        self._strongest = 0, 0
        """The column and row of the pixel that differs most."""

    @property
    def images(self) -> tuple[Pixels, Pixels]:
        return self.before, self.after

    @property
    def same_size(self) -> bool:
        return self.before.shape == self.after.shape

    @property
    def least_sum(self) -> int:
        return _LEAST_BESIDE_COLORS if self.recoloring else self.thresholds.least_sum

    def find_differing_part(self) -> Box | None:
        """Return the box outside of which both images are equal, or None."""
        height, width = (
            min(sides) for sides in zip(self.before.shape[:2], self.after.shape[:2], strict=True)
        )
        boxes, most = list[Box](), 0.0
        for top, bottom in decoding.bands(0, height, width):
            unequal = _max_channel(
                cv2.absdiff(self.before[top:bottom, :width], self.after[top:bottom, :width])
            )
            x, y, w, h = cv2.boundingRect(unequal)
            if w:
                boxes.append(Box(x, top + y, x + w, top + y + h))
                _, strength, _, (column, row) = cv2.minMaxLoc(unequal)
                if strength > most:
                    most, self._strongest = strength, (column, top + row)
        for image in self.images:
            rows, columns = image.shape[:2]
            if rows > height:
                boxes.append(Box(0, height, columns, rows))
            if columns > width:
                boxes.append(Box(width, 0, columns, rows))
        if not boxes:
            return None
        left, top, right, bottom = grow(functools.reduce(enclose_both, boxes), _AROUND)
        return Box(max(0, left), max(0, top), right, bottom)

    def is_noise(self, within: Box) -> bool:
        """Return whether nobody sees the difference."""
        if not self.same_size:
            return False
        within = within.clip(*self.after.shape[:2])
        column, row = self._strongest
        zones = [grow(Box(column, row, column + 1, row + 1), _FIRST_LOOK).clip(*self.after.shape[:2])]
        for top, bottom in decoding.bands(within.top, within.bottom, within.right - within.left):
            zones.append(within._replace(top=top, bottom=bottom))
        for zone in zones:
            [found] = self._find_all_visible([((0, 0), zone)])
            clear_noise(found, self.thresholds.least_sum)
            if found.any():
                return False
        return True

    def recolor(self, within: Box) -> None:
        if self.before.shape[1] != self.after.shape[1] or self.thresholds.is_lossy or self._is_transparent:
            return
        height = min(len(self.before), len(self.after))
        self.recoloring = find_recoloring(self.original[:height], self.after[:height])
        if self.recoloring:
            self.before = self.original.copy()
            within = within.clip(height, self.after.shape[1])
            for top, bottom in decoding.bands(within.top, within.bottom, within.right - within.left):
                part = within._replace(top=top, bottom=bottom).slices
                self.before[part] = self.recoloring.apply(self.original[part], self.after[part])

    def recolored_pixels(self, left: Strength) -> Strength | None:
        """Return how much each pixel got another color, where nothing else is left."""
        if not self.recoloring:
            return None
        height = min(len(self.before), len(self.after))
        recolored = np.zeros(self.after.shape[:2], np.uint8)
        for top, bottom in decoding.bands(0, height, self.after.shape[1]):
            change = cv2.absdiff(self.original[top:bottom], self.after[top:bottom])
            recolored[top:bottom] = _max_channel(change)
        recolored[left > 0] = 0
        return recolored

    def unequal(self, places: Sequence[Place]) -> list[Strength]:
        cuts = [self._cut(place, 0) for place in places]
        return [cut.paste(_is_unequal(*cut.layers[:2])) if cut.inside.area else cut.beyond for cut in cuts]

    def visible(self, places: Sequence[Place]) -> list[Strength]:
        return self._find_all_visible(places) if self._can_compare(places) else _all_differs(places)

    def _can_compare(self, places: Sequence[Place]) -> bool:
        """Return whether there is time for these places as well."""
        self._compared += sum(grow(zone, MARGIN).area for _, zone in places)
        return self._compared <= self.after.shape[0] * self.after.shape[1] + _MOST_COMPARED

    def _find_all_visible(self, places: Sequence[Place]) -> list[Strength]:
        cuts = [self._cut(place, MARGIN) for place in places]
        found = compare_on_sheets([cut.layers for cut in cuts], self._find_visible)
        return [cut.paste(each) for cut, each in zip(cuts, found, strict=True)]

    def visible_on_ground(self, places: Sequence[Place]) -> list[Strength]:
        """Find what differs apart from the ground, which may have another color under the same content."""
        if not self._can_compare(places):
            return _all_differs(places)
        cuts = [self._cut(place, MARGIN) for place in places]
        found = compare_on_sheets([cut.layers for cut in cuts], self._find_visible)
        differing = [number for number, each in enumerate(found) if each.any()]
        moved = {
            number: layers
            for number in differing
            if (layers := _move_to_ground(*cuts[number].layers)) is not None
        }
        less = compare_on_sheets([*moved.values()], self._find_visible)
        for number, each in zip(moved, less, strict=True):
            found[number] = cv2.min(found[number], each)
        return [cut.paste(each) for cut, each in zip(cuts, found, strict=True)]

    def _find_visible(self, before: Pixels, after: Pixels, original: Pixels) -> Strength:
        found = np.maximum.reduce(
            [
                find_differences(ours, theirs, self.thresholds)
                for ours, theirs in zip(_on_grounds(before), _on_grounds(after), strict=True)
            ]
        )
        if self.recoloring:
            found[find_same_shapes(original, after)] = 0
        return found

    def _cut(self, place: Place, margin: int) -> "_Cut":
        """Cut a box of the after image, and the same box of the before image at an offset.

        Content can be pushed off the bottom or the right edge, and more of it can follow from there. At the
        top and at the left, content begins: what stands there is new, or gone, unless the page was scrolled.
        """
        offset, zone = place
        dx, dy = offset
        height, width = zone.bottom - zone.top, zone.right - zone.left
        beyond = np.full((height, width), 255, np.uint8)
        if offset in self.scrolls:
            beyond[:] = 0
        elif offset in self.pushes:
            rows = min(len(self.after), len(self.before) + dy) - zone.top
            columns = min(self.after.shape[1], self.before.shape[1] + dx) - zone.left
            beyond[max(0, rows) :, max(0, -min(zone.left, zone.left - dx)) :] = 0
            beyond[max(0, -min(zone.top, zone.top - dy)) :, max(0, columns) :] = 0
        inside = self._clip(zone, offset)
        wide = self._clip(grow(inside, margin), offset)
        source = shift(wide, -dx, -dy).slices
        layers = self.before[source], self.after[wide.slices], self.original[source]
        within = shift(inside, -wide.left, -wide.top)
        if margin and 0 < inside.area <= decoding.BAND_PIXELS:
            layers, within = _add_margin(layers, within, margin)
        return _Cut(layers, beyond, within, shift(inside, -zone.left, -zone.top))

    def _clip(self, box: Box, offset: Offset) -> Box:
        """Return the part of a box of the after image that both images have at an offset."""
        dx, dy = offset
        ours = shift(shift(box, -dx, -dy).clip(*self.before.shape[:2]), dx, dy)
        return ours.clip(*self.after.shape[:2])

    def is_text_cursor(self, piece: FoundPiece) -> bool:
        box = piece.after if piece.piece.kind != "gone" else piece.before
        if not self.same_size or box.bottom - box.top > TALLEST:
            return False
        rows = slice(max(0, box.top - REACH), box.bottom + REACH)
        inside = box._replace(top=box.top - rows.start, bottom=box.bottom - rows.start)
        return is_text_cursor(self.original[rows], self.after[rows], inside)


def _add_margin(
    layers: tuple[Pixels, Pixels, Pixels], inside: Box, margin: int
) -> tuple[tuple[Pixels, Pixels, Pixels], Box]:
    """Continue pictures beyond the edge of the image: on a sheet, another picture would be there."""
    height, width = layers[0].shape[:2]
    left, top = max(0, margin - inside.left), max(0, margin - inside.top)
    right, bottom = max(0, margin - (width - inside.right)), max(0, margin - (height - inside.bottom))
    if not (left or top or right or bottom):
        return layers, inside
    before, after, original = (
        cv2.copyMakeBorder(layer, top, bottom, left, right, cv2.BORDER_REPLICATE) for layer in layers
    )
    return (before, after, original), shift(inside, left, top)


def _all_differs(places: Sequence[Place]) -> list[Strength]:
    return [np.full((zone.bottom - zone.top, zone.right - zone.left), 255, np.uint8) for _, zone in places]


def _max_channel(pixels: Pixels) -> npt.NDArray[np.uint8]:
    most, *others = cv2.split(pixels)
    for other in others:
        most = cv2.max(most, other)
    return most


def _is_unequal(before: Pixels, after: Pixels) -> Strength:
    unequal = np.empty(after.shape[:2], np.uint8)
    for top, bottom in decoding.bands(0, *after.shape[:2]):
        unequal[top:bottom] = _max_channel(cv2.absdiff(before[top:bottom], after[top:bottom]))
    return to_mask(unequal)


def _move_to_ground(before: Pixels, after: Pixels, original: Pixels) -> tuple[Pixels, ...] | None:
    """Put the content of the before image on the ground of the after image, if that is another one."""
    old, new = (median_color(_border(pixels)).astype(np.float32) for pixels in (before, after))
    if (old == new).all():
        return None
    away = _max_channel(cv2.absdiff(before, np.full_like(before, old)))
    share = 1 - away / np.float32(max(1, away.max()))
    on_ground = before + (new - old) * share[..., np.newaxis]
    return on_ground.clip(0, 255).astype(np.uint8), after, original


def _border(pixels: Pixels) -> Pixels:
    inside = pixels[MARGIN - 2 : 2 - MARGIN, MARGIN - 2 : 2 - MARGIN]
    inside = inside if inside.size else pixels
    return np.concatenate([inside[0], inside[-1], inside[:, 0], inside[:, -1]])


def _on_grounds(pixels: Pixels) -> list[Pixels]:
    """Return the visible colors. For transparent images, return them on black and on white."""
    if pixels.shape[2] == 3:  # noqa: PLR2004 - red, green, blue
        return [pixels]
    return [pixels[..., :3], show_on_white(pixels)]
