"""One of the two images: its tokens, and what of it no movement has explained yet."""

import functools

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.alignment import CELL, Numbers, Offset
from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.regions import Box, shift, to_mask
from prshots.server.adapters.pictures.engine.tokens import Tokens

Pixels = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.uint8]

_USED_ELSEWHERE = 0.5
"""If this share of a token's source is content that is somewhere else now, the token is a copy of it."""

SAME_GROUND = 6
"""How many levels a ground varies."""

_UNPAIRED, _EXACT = 255, 64
"""Owners of pixels: 0 for the ground, else a token: unpaired, or the number of its offset plus 1, plus 64 if
its pixels are equal."""


class Side:
    """An image, and how much of each pixel is left, which nothing explains."""

    def __init__(self, tokens: Tokens, within: Box) -> None:
        """Outside of `within`, both images are equal."""
        self.image = image = tokens.image
        self.within = within.clip(*image.shape[:2])
        self.tokens = tokens
        count = len(tokens.boxes)
        self.own: Numbers = np.full(count, -1, np.int32)
        """The number of the offset that each token follows, or -1."""
        shape = image.shape[:2]
        self.left: Strength = np.zeros(shape, np.uint8)
        self.left[self.within.slices] = 255
        self.owners: Plane = np.full(shape, _EXACT + 1, np.uint8)  # outside, everything is the same
        self.owners[self.within.slices] = 0
        self.cells = -(-shape[0] // CELL), -(-shape[1] // CELL)
        self._left_cells = np.zeros(self.cells, np.uint8)
        self._open = np.zeros(count, np.int64)
        """How much is left of each token."""
        self._best: Numbers = np.full(count, -1, np.int32)
        """The number of the offset that leaves least of each token, or -1."""

    @functools.cached_property
    def boxes(self) -> list[Box]:
        return [Box(*box) for box in self.tokens.boxes.tolist()]

    def follow(self, own: Numbers, exact: Numbers) -> None:
        """Take the offset of each token, and the indexes of those whose partner has equal pixels."""
        self.own = own.copy()
        is_exact = np.zeros(len(own), bool)
        is_exact[exact] = True
        areas = self.tokens.areas
        is_ground = self.tokens.of_frames & ~is_exact
        self._open[~is_exact & ~is_ground] = 255 * areas[~is_exact & ~is_ground].astype(np.int64)
        for index in np.lexsort((-areas, is_exact)).tolist():
            box, number = self.boxes[index], int(own[index])
            if is_ground[index]:
                continue
            self.owners[box.slices] = _UNPAIRED if number < 0 else number + 1 + _EXACT * bool(is_exact[index])
            if is_exact[index]:
                self.left[box.slices] = 0
        if self.within.area:
            self._count_left(self.within)

    @functools.cached_property
    def _middles(self) -> tuple[Numbers, Numbers]:
        """The row and the column of the cell with the middle of each token."""
        columns, rows = ((self.tokens.boxes[:, :2] + self.tokens.boxes[:, 2:]) // (2 * CELL)).T
        return rows, columns

    def cells_of(self, number: int) -> Plane:
        """Return the cells with content that moved by an offset."""
        cells = np.zeros(self.cells, np.uint8)
        rows, columns = self._middles
        followed = self.own == number
        cells[rows[followed], columns[followed]] = 1
        return cells

    def open_zones(self, near: Plane) -> list[Box]:
        """Return boxes around the cells in which something is left."""
        needed = ((self._left_cells > 0) & (near > 0)).astype(np.uint8)
        is_needed = (self._open > 0) & (near[self._middles] > 0)
        for left, top, right, bottom in self.tokens.boxes[is_needed].tolist():
            needed[top // CELL : -(-bottom // CELL), left // CELL : -(-right // CELL)] = 1
        stats = cv2.connectedComponentsWithStats(needed)[2][1:, :4] * CELL
        return [Box(x, y, x + w, y + h) for x, y, w, h in stats.tolist()]

    def _count_left(self, box: Box) -> None:
        """Update the cells of a box."""
        top, left = box.top // CELL, box.left // CELL
        bottom, right = -(-box.bottom // CELL), -(-box.right // CELL)
        part = to_mask(self.left[top * CELL : bottom * CELL, left * CELL : right * CELL])
        height, width = (bottom - top) * CELL, (right - left) * CELL
        room = (0, height - part.shape[0], 0, width - part.shape[1])
        part = cv2.copyMakeBorder(part, *room, cv2.BORDER_CONSTANT) if any(room) else part
        cells = cv2.resize(part, (right - left, bottom - top), interpolation=cv2.INTER_AREA)
        self._left_cells[top:bottom, left:right] = cells

    def offer(self, number: int, zone: Box, strengths: Strength, other: "Side", way: Offset) -> None:
        """Take what differs at an offset, where that is less than at the offsets before."""
        inside = zone.clip(*self.left.shape[:2])
        if not inside.area:
            return
        offered = strengths[shift(inside, -zone.left, -zone.top).slices]
        part = self.left[inside.slices]
        np.minimum(part, offered, out=part, where=self.owners[inside.slices] == 0)
        for index in self._find_open_in(inside, number):
            patch = self._patch(index, zone, strengths)
            is_own = self.own[index] == number
            if self._leaves_less(index, patch) and (
                is_own or not other.uses(shift(self.boxes[index], *way), number)
            ):
                self._replace(index, patch)
                self._best[index] = number
        self._count_left(inside)

    def _find_open_in(self, zone: Box, number: int) -> list[int]:
        """Return the tokens in a zone of which something is left, and that can follow an offset."""
        left, top, right, bottom = self.tokens.boxes.T
        is_inside = (left >= zone.left) & (top >= zone.top) & (right <= zone.right) & (bottom <= zone.bottom)
        found = is_inside & (self._open > 0) & ((self.own == number) | (self.own < 0))
        indexes: list[int] = np.flatnonzero(found).tolist()
        return indexes

    def find_open(self) -> list[tuple[int, int]]:
        """Return the tokens of which something is left, with the number of the offset that leaves least."""
        indexes = np.flatnonzero((self._open > 0) & (self._best >= 0))
        return list(zip(indexes.tolist(), self._best[indexes].tolist(), strict=True))

    def adopt(self) -> None:
        """Let tokens that have no partner, but are explained, follow the offset that explains them."""
        explained = (self.own < 0) & (self._open == 0) & (self._best >= 0)
        self.own[explained] = self._best[explained]

    def find_unpaired(self, least_area: int, most_area: int) -> list[int]:
        """Return the tokens that nothing explains."""
        areas = self.tokens.areas
        found = (self._open > 0) & (self.own < 0) & (areas >= least_area) & (areas <= most_area)
        indexes: list[int] = np.flatnonzero(found).tolist()
        return indexes

    def is_open(self, index: int) -> bool:
        return bool(self._open[index])

    def take(self, index: int, zone: Box, strengths: Strength) -> None:
        """Take what differs of a token in a zone around it, if that is less than before."""
        patch = self._patch(index, zone, strengths)
        if self._leaves_less(index, patch):
            self._replace(index, patch)

    def _patch(self, index: int, zone: Box, strengths: Strength) -> Strength:
        return strengths[shift(self.boxes[index], -zone.left, -zone.top).slices]

    def _leaves_less(self, index: int, patch: Strength) -> bool:
        return bool(cv2.sumElems(patch)[0] < self._open[index])

    def _replace(self, index: int, patch: Strength) -> None:
        """Leave of a token what differs in its patch."""
        self._open[index] = cv2.sumElems(patch)[0]
        inside = self.boxes[index].slices
        owners = self.owners[inside]
        is_own = (owners == _UNPAIRED) | (owners == self.own[index] + 1)
        np.copyto(self.left[inside], patch, where=is_own)

    def uses(self, box: Box, number: int) -> bool:
        """Return whether most of a box is content that moved by another offset."""
        owners = self.owners[box.clip(*self.owners.shape[:2]).slices]
        elsewhere = (owners != 0) & (owners != _UNPAIRED) & (owners % _EXACT != number + 1)
        return bool(owners.size and elsewhere.mean() > _USED_ELSEWHERE)

    def is_same(self, box: Box) -> bool:
        return not self.left[box.slices].any()
