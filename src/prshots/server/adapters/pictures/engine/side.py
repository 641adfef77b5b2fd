"""One of the two images: its tokens, and what of it no movement has explained yet."""

import functools

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.alignment import CELL, Numbers, Offset
from prshots.server.adapters.pictures.engine.differing_pixels import Strength
from prshots.server.adapters.pictures.engine.regions import Box, shift, to_mask
from prshots.server.adapters.pictures.engine.tokens import find_tokens

Pixels = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.uint8]

_USED_ELSEWHERE = 0.5
"""If this share of a token's source is content that is somewhere else now, the token is a copy of it."""

_UNPAIRED, _EXACT = 255, 64
"""Owners of pixels: 0 for the ground, else a token: unpaired, or the number of its offset plus 1, plus 64 if
its pixels are equal."""


class Side:
    """An image, and how much of each pixel is left, which nothing explains."""

    def __init__(self, image: Pixels, within: Box) -> None:
        """Outside of `within`, both images are equal."""
        self.image = image
        self.within = within.clip(*image.shape[:2])
        self.tokens = find_tokens(image, self.within)
        self.own: list[int] = []
        """The number of the offset that each token follows, or -1."""
        shape = image.shape[:2]
        self.left: Strength = np.zeros(shape, np.uint8)
        self.left[self.within.slices] = 255
        self.owners: Plane = np.full(shape, _EXACT + 1, np.uint8)  # outside, everything is the same
        self.owners[self.within.slices] = 0
        self.cells = -(-shape[0] // CELL), -(-shape[1] // CELL)
        self._left_cells = np.zeros(self.cells, np.uint8)
        self._open: dict[int, int] = {}
        self._best: dict[int, int] = {}

    @functools.cached_property
    def boxes(self) -> list[Box]:
        return [Box(*box) for box in self.tokens.boxes.tolist()]

    def follow(self, own: Numbers, exact: Numbers) -> None:
        """Take the offset of each token, and the indexes of those whose partner has equal pixels."""
        self.own = own.tolist()
        is_exact = np.zeros(len(own), bool)
        is_exact[exact] = True
        areas = self.tokens.areas
        is_ground = self.tokens.of_frames & ~is_exact
        for index in np.lexsort((-areas, is_exact)).tolist():
            box, number = self.boxes[index], self.own[index]
            if is_ground[index]:
                continue
            self.owners[box.slices] = _UNPAIRED if number < 0 else number + 1 + _EXACT * bool(is_exact[index])
            if is_exact[index]:
                self.left[box.slices] = 0
            else:
                self._open[index] = 255 * int(areas[index])
        if self.within.area:
            self._count_left(self.within)

    def cells_of(self, number: int) -> Plane:
        """Return the cells with content that moved by an offset."""
        cells = np.zeros(self.cells, np.uint8)
        for (left, top, right, bottom), own in zip(self.boxes, self.own, strict=True):
            if own == number:
                cells[(top + bottom) // (2 * CELL), (left + right) // (2 * CELL)] = 1
        return cells

    def open_zones(self, near: Plane) -> list[Box]:
        """Return boxes around the cells in which something is left."""
        needed = ((self._left_cells > 0) & (near > 0)).astype(np.uint8)
        for index, total in self._open.items():
            left, top, right, bottom = self.boxes[index]
            if total and near[(top + bottom) // (2 * CELL), (left + right) // (2 * CELL)]:
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
        for index, total in self._open.items():
            box, own = self.boxes[index], self.own[index]
            if own not in {-1, number} or not total or not inside.contains(box):
                continue
            if own == number or not other.uses(shift(box, *way), number):
                self.take(index, zone, strengths, number)
        self._count_left(inside)

    def find_open(self) -> list[tuple[int, int]]:
        """Return the tokens of which something is left, with the number of the offset that leaves least."""
        return [
            (index, self._best[index]) for index, total in self._open.items() if total and index in self._best
        ]

    def adopt(self) -> None:
        """Let tokens that have no partner, but are explained, follow the offset that explains them."""
        for index, number in self._best.items():
            if self.own[index] < 0 and not self._open[index]:
                self.own[index] = number

    def find_unpaired(self, least_area: int) -> list[int]:
        """Return the tokens that nothing explains."""
        return [
            index
            for index, total in self._open.items()
            if total and self.own[index] < 0 and self.boxes[index].area >= least_area
        ]

    def is_open(self, index: int) -> bool:
        return bool(self._open.get(index))

    def take(self, index: int, zone: Box, strengths: Strength, number: int = -1) -> None:
        """Take what differs of a token in a zone around it, if that is less than before."""
        box = self.boxes[index]
        patch = strengths[shift(box, -zone.left, -zone.top).slices]
        least = int(patch.sum(dtype=np.int64))
        if least < self._open.get(index, 0):
            self._open[index] = least
            if number >= 0:
                self._best[index] = number
            owners = self.owners[box.slices]
            is_own = (owners == _UNPAIRED) | (owners == self.own[index] + 1)
            np.copyto(self.left[box.slices], patch, where=is_own)

    def uses(self, box: Box, number: int) -> bool:
        """Return whether most of a box is content that moved by another offset."""
        owners = self.owners[box.clip(*self.owners.shape[:2]).slices]
        elsewhere = (owners != 0) & (owners != _UNPAIRED) & (owners % _EXACT != number + 1)
        return bool(owners.size and elsewhere.mean() > _USED_ELSEWHERE)

    def is_same(self, box: Box) -> bool:
        return not self.left[box.slices].any()
