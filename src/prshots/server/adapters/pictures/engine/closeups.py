"""Show the changed parts of an image at full size: before on the left, after on the right."""

from collections.abc import Sequence

import cv2
import numpy as np

from prshots.server.adapters.pictures.engine.pieces import FoundPiece
from prshots.server.adapters.pictures.engine.regions import Box, enclose_both, shift, show_on_white
from prshots.server.adapters.pictures.engine.tokens import Pixels
from prshots.server.domain.comparison.models import CLOSEUP_HALF, CLOSEUP_ROWS_AROUND, PartPicture

MAX_CLOSEUPS = 6
_BETWEEN = 4
MAX_WIDTH, MAX_HEIGHT = CLOSEUP_HALF - _BETWEEN // 2, 360
"""The largest half."""

_COLUMNS_AROUND, _ROWS_AROUND = 150, CLOSEUP_ROWS_AROUND
"""How much of the surroundings to show on each side of a region, if there is room."""

_NEAR = 40
"""Pieces this near each other share a close-up."""

_REACH = 5
"""The distance from a region to the far side of its outline, which therefore hides nothing."""

_ROOM = MAX_WIDTH - 2 * _REACH, MAX_HEIGHT - 2 * _REACH
_LINES = (0x57, 0x60, 0x6A), (255, 255, 255)
"""The lines of an outline, from the outside in. One of them is visible on any background."""

_NOTHING = (0xD0, 0xD7, 0xDE)
"""The color beyond the edge of an image."""

_PNG = [cv2.IMWRITE_PNG_COMPRESSION, 3, cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_NONE]
"""Pages have flat colors: without filters, this takes a third of the time and of text also fewer bytes."""

_Numbered = tuple[list[int], FoundPiece]
"""A piece, or several that share a close-up, with their indexes."""


def draw_closeups(before: Pixels, after: Pixels, pieces: Sequence[FoundPiece]) -> list[PartPicture]:
    """Return close-ups of the largest pieces, at least one of each kind if there are any."""
    return [
        PartPicture(piece.after.region, numbers, _draw(piece, before, after))
        for numbers, piece in _choose(pieces)
    ]


def _choose(pieces: Sequence[FoundPiece]) -> list[_Numbered]:
    joined = sorted(_join(pieces), key=lambda each: _area(each[1]), reverse=True)
    firsts = {each[1].piece.kind: each for each in reversed(joined)}
    chosen = sorted(firsts.values(), key=lambda each: _area(each[1]), reverse=True)
    return [*chosen, *(each for each in joined if each not in chosen)][:MAX_CLOSEUPS]


def _area(piece: FoundPiece) -> int:
    return max(piece.before.area, piece.after.area)


def _join(pieces: Sequence[FoundPiece]) -> list[_Numbered]:
    joined: list[_Numbered] = []
    for number, piece in enumerate(pieces):
        for index, (numbers, other) in enumerate(joined):
            if _is_near(piece, other):
                both = FoundPiece(
                    other.piece,
                    enclose_both(other.before, piece.before),
                    enclose_both(other.after, piece.after),
                )
                joined[index] = [*numbers, number], both
                break
        else:
            joined.append(([number], piece))
    return joined


def _is_near(one: FoundPiece, other: FoundPiece) -> bool:
    """Return whether two pieces of a kind are next to each other, in both images, and fit into a close-up."""
    both = enclose_both(one.after, other.after)
    return (
        one.piece.kind == other.piece.kind
        and one.before.left - one.after.left == other.before.left - other.after.left
        and one.before.top - one.after.top == other.before.top - other.after.top
        and max(one.after.left, other.after.left) - min(one.after.right, other.after.right) <= _NEAR
        and max(one.after.top, other.after.top) - min(one.after.bottom, other.after.bottom) <= _NEAR
        and both.right - both.left <= _ROOM[0]
        and both.bottom - both.top <= _ROOM[1]
    )


def _draw(piece: FoundPiece, before: Pixels, after: Pixels) -> bytes:
    # The image that has the piece; the other one may have nothing there.
    image, box = max(((after, piece.after), (before, piece.before)), key=lambda side: side[1].area)
    width, height = max(1, box.right - box.left), max(1, box.bottom - box.top)
    scale = min(1, _ROOM[0] / width, _ROOM[1] / height)
    image_height, image_width = image.shape[:2]
    columns = min(image_width, int(MAX_WIDTH / scale), width + int(2 * _COLUMNS_AROUND / scale))
    rows = min(image_height, int(MAX_HEIGHT / scale), height + int(2 * _ROWS_AROUND / scale))
    left = max(0, min(box.left - (columns - width) // 2, image_width - columns))
    above = box.top - max(0, min(box.top - (rows - height) // 2, image_height - rows))
    size = max(1, int(columns * scale)), max(1, int(rows * scale))
    picture = np.full((size[1], 2 * size[0] + _BETWEEN, 3), _LINES[1], np.uint8)
    for side, source, start in ((piece.before, before, 0), (piece.after, after, size[0] + _BETWEEN)):
        at = left + side.left - box.left
        cut = Box(at, side.top - above, at + columns, side.top - above + rows)
        half = _cut(source, cut, max(1, int(0.5 / scale)))
        if scale < 1:
            half = cv2.resize(half, size, interpolation=cv2.INTER_AREA)
        _outline(half, shift(side, -cut.left, -cut.top), scale)
        picture[:, start : start + size[0]] = half
    middle = size[0] + _BETWEEN // 2
    picture[:, middle - 1 : middle + 1] = _LINES[0]
    bgr = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
    return cv2.imencode(".png", bgr, _PNG)[1].tobytes()


def _cut(image: Pixels, box: Box, step: int) -> Pixels:
    """Return each `step`th pixel of a part of an image, which may reach beyond its edges."""
    height, width = box.bottom - box.top, box.right - box.left
    part = np.full((-(-height // step), -(-width // step), 3), _NOTHING, np.uint8)
    inside = box.clip(*image.shape[:2])
    if inside.area:
        pixels = show_on_white(image[inside.slices][::step, ::step])
        top, left = (inside.top - box.top) // step, (inside.left - box.left) // step
        rows, columns = min(len(pixels), len(part) - top), min(pixels.shape[1], part.shape[1] - left)
        part[top : top + rows, left : left + columns] = pixels[:rows, :columns]
    return part


def _outline(half: Pixels, region: Box, scale: float) -> None:
    left, top, right, bottom = (round(side * scale) for side in region)
    if top >= bottom or left >= right:  # a seam: drawing on it hides nothing
        for offset, color in enumerate(_LINES):
            cv2.line(half, (left, top - offset), (max(left, right - 1), top - offset), color)
        return
    for inset, color in enumerate(_LINES):
        reach = _REACH - inset
        cv2.rectangle(half, (left - reach, top - reach), (right + reach - 1, bottom + reach - 1), color)
