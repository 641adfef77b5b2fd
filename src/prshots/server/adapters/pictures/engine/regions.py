"""Boxes, and groups of pixels."""

from typing import NamedTuple, Self

import cv2
import numpy as np
import numpy.typing as npt

from prshots.contract.replies import Region

_CELL = 8
_MOST_GROUPS = 20_000
"""A page has hundreds. Only patterns have more, and each group takes time."""


class Box(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def region(self) -> Region:
        return self.left, self.top, self.right - self.left, self.bottom - self.top

    @property
    def area(self) -> int:
        return (self.right - self.left) * (self.bottom - self.top)

    @classmethod
    def of(cls, region: Region) -> Self:
        left, top, width, height = region
        return cls(left, top, left + width, top + height)

    def overlaps(self, other: "Box") -> bool:
        is_level = self.top < other.bottom and other.top < self.bottom
        return is_level and self.left < other.right and other.left < self.right

    def contains(self, other: "Box") -> bool:
        is_level = self.top <= other.top and other.bottom <= self.bottom
        return is_level and self.left <= other.left and other.right <= self.right

    def clip(self, height: int, width: int) -> "Box":
        """Return the part inside an image. It is empty if the box is outside."""
        left, top = min(max(0, self.left), width), min(max(0, self.top), height)
        return Box(left, top, max(left, min(width, self.right)), max(top, min(height, self.bottom)))


def shift(box: Box, dx: int, dy: int) -> Box:
    return Box(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy)


def grow(box: Box, reach: int) -> Box:
    return Box(box.left - reach, box.top - reach, box.right + reach, box.bottom + reach)


def enclose_both(one: Box, other: Box) -> Box:
    return Box(
        min(one.left, other.left),
        min(one.top, other.top),
        max(one.right, other.right),
        max(one.bottom, other.bottom),
    )


def to_mask(marks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return 255 where a pixel isn't 0."""
    mask: npt.NDArray[np.uint8] = cv2.threshold(marks, 0, 255, cv2.THRESH_BINARY)[1]
    return mask


def show_on_white(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return red, green and blue. Where pixels with premultiplied colors are transparent, they show white."""
    if pixels.shape[2] == 3:  # noqa: PLR2004 - red, green, blue
        return pixels
    return pixels[..., :3] + (255 - pixels[..., 3:])


def median_color(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the median of each channel. `np.median` takes ten times as long for a few pixels."""
    middle: npt.NDArray[np.uint8] = np.partition(pixels, len(pixels) // 2, axis=0)[len(pixels) // 2]
    return middle


def clear_noise(marks: npt.NDArray[np.uint8], least_sum: int) -> None:
    """Set groups of pixels to 0 if their values add up to less than `least_sum`."""
    for box in groups_of(marks, 2 * _CELL):
        part = marks[box.slices]
        if int(part.sum(dtype=np.int64)) < least_sum:
            part[:] = 0


def groups_of(marks: npt.NDArray[np.uint8], apart: int, most: int = _MOST_GROUPS) -> list[Box]:
    """Return boxes around the groups of pixels that aren't 0 and are about this many pixels apart.

    If there are more than `most`, groups farther apart are one.
    """
    whole = _box_of(marks)
    if not whole.area:
        return []
    found = to_mask(marks[whole.slices])
    height, width = found.shape
    found = cv2.copyMakeBorder(found, 0, height % 2, 0, width % 2, cv2.BORDER_CONSTANT)
    # Half the size takes a quarter of the time and memory.
    half = cv2.resize(found, (found.shape[1] // 2, found.shape[0] // 2), interpolation=cv2.INTER_AREA)
    reach = apart // 4
    while len(stats := _box_groups(half, reach)) > most:
        reach = 2 * reach + 1
    boxes = []
    for x, y, w, h in stats.tolist():
        coarse = Box(2 * x, 2 * y, 2 * (x + w - 2 * reach), 2 * (y + h - 2 * reach)).clip(height, width)
        coarse = shift(coarse, whole.left, whole.top)
        boxes.append(shift(_box_of(marks[coarse.slices]), coarse.left, coarse.top))
    return boxes


def _box_groups(marks: npt.NDArray[np.uint8], reach: int) -> npt.NDArray[np.int32]:
    """Return a row for each group of pixels: left, top, width and height, with its reach on each side."""
    room = cv2.copyMakeBorder(marks, reach, reach, reach, reach, cv2.BORDER_CONSTANT)
    near = cv2.dilate(room, np.ones((2 * reach + 1,) * 2, np.uint8))
    found: npt.NDArray[np.int32] = cv2.connectedComponentsWithStats(near, ltype=cv2.CV_32S)[2][1:, :4]
    return found


def _box_of(marks: npt.NDArray[np.uint8]) -> Box:
    left, top, width, height = cv2.boundingRect(marks)
    return Box(left, top, left + width, top + height)
