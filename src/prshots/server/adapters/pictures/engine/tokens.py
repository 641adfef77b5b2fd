"""Find the words, icons and pictures of an image: its tokens."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from prshots.server.adapters.pictures.engine.regions import Box

Pixels = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Boxes = npt.NDArray[np.int32]
"""A row for each box: left, top, right, bottom."""

_EDGE = 4
"""The least difference of brightness between two neighbors that is an edge. Gradients have smaller steps."""

_LONGEST = 48
"""A straight edge of this many pixels is a border or a rule, not part of a letter."""

_GLUE = np.ones((3, 5), np.uint8)
"""Edges up to four pixels apart are one token: the letters of a word, and in small text those of a line."""
_WORDS = np.ones((5, 3), np.uint8)
"""Edges up to two pixels apart are letters of the same word in text of at most this height."""
_SMALL = 20

_CUT = 3
"""By how many pixels the sides of equal words differ at most: some edges are too faint."""
_BAND_PIXELS = 4_000_000
"""Larger images are searched in bands, to save memory. A token across two bands is two tokens."""
_LEAST_PIXELS = 4
_MOST_TOKENS = 30_000
"""Of more tokens, the smallest count as ground: dots of a pattern. A large page has 10,000."""
_MOST_OF_FRAME = 600
"""The largest area of a corner or a short side of a frame."""
_DESCRIPTOR = (32, 8)


class Tokens(NamedTuple):
    boxes: Boxes
    keys: list[int]
    """Equal for tokens with equal pixels, within this process."""
    of_frames: npt.NDArray[np.bool_]
    """Which tokens are corners or short sides of frames."""
    image: Pixels

    @property
    def areas(self) -> npt.NDArray[np.int32]:
        return _areas(self.boxes)

    def gray(self, box: Sequence[int]) -> Pixels:
        """Return the brightness in a box."""
        left, top, right, bottom = box
        return _to_gray(self.image[top:bottom, left:right])


def find_tokens(image: Pixels, within: Box) -> Tokens:
    """Return the tokens of a part of an image. Their boxes are relative to the image."""
    found = []
    rows = max(1, _BAND_PIXELS // max(1, within.right - within.left))
    for top in range(within.top, within.bottom, rows):
        band = within._replace(top=top, bottom=min(top + rows, within.bottom))
        edges, rules = _find_edges(_to_gray(image[band.slices]))
        boxes = _box_edges(edges, _GLUE)
        found.append(
            (boxes + np.array([band.left, top, band.left, top], np.int32), _are_of_frames(boxes, rules))
        )
    boxes = np.concatenate([np.zeros((0, 4), np.int32), *(boxes for boxes, _ in found)])
    of_frames = np.concatenate([np.zeros(0, np.bool_), *(flags for _, flags in found)])
    if len(boxes) > _MOST_TOKENS:
        largest = np.sort(np.argsort(-_areas(boxes), kind="stable")[:_MOST_TOKENS])
        boxes, of_frames = boxes[largest], of_frames[largest]
    return Tokens(boxes, _hash(image, boxes), of_frames, image)


def _areas(boxes: Boxes) -> npt.NDArray[np.int32]:
    sides = boxes[:, 2:] - boxes[:, :2]
    areas: npt.NDArray[np.int32] = sides[:, 0] * sides[:, 1]
    return areas


def _hash(image: Pixels, boxes: Boxes) -> list[int]:
    return [
        hash((right - left, image[top:bottom, left:right].tobytes()))
        for left, top, right, bottom in boxes.tolist()
    ]


def _to_gray(pixels: Pixels) -> Pixels:
    gray: Pixels = cv2.cvtColor(np.ascontiguousarray(pixels[..., :3]), cv2.COLOR_RGB2GRAY)
    return gray


def split_lines(before: Tokens, after: Tokens) -> tuple[Tokens, Tokens]:
    """Split the lines of small text that don't all have an equal into words: text can wrap differently."""
    counts = Counter(before.keys), Counter(after.keys)
    matched = {key for key, count in counts[0].items() if counts[1][key] == count}
    return _split(before, matched), _split(after, matched)


def _split(tokens: Tokens, matched: set[int]) -> Tokens:
    boxes, of_frames = [], []
    for box, key, of_frame in zip(tokens.boxes.tolist(), tokens.keys, tokens.of_frames.tolist(), strict=True):
        left, top, right, bottom = box
        words = [box]
        if key not in matched and bottom - top <= _SMALL and right - left >= 2 * (bottom - top):
            left, top = max(0, left - 1), max(0, top - 1)  # the first row and column have no edges
            edges, _ = _find_edges(tokens.gray((left, top, right, bottom)))
            words = (_box_edges(edges, _WORDS) + np.array([left, top, left, top], np.int32)).tolist()
        boxes += words
        of_frames += [of_frame] * len(words)
    found = np.array(boxes, np.int32).reshape(-1, 4)
    return Tokens(found, _hash(tokens.image, found), np.array(of_frames, np.bool_), tokens.image)


def _are_of_frames(boxes: Boxes, rules: Pixels) -> npt.NDArray[np.bool_]:
    """Return which boxes are corners or short sides of frames: small, and beside a rule."""
    sums = cv2.integral(rules)
    height, width = rules.shape
    left, top, right, bottom = np.clip(boxes + np.array([-1, -1, 1, 1]), 0, [width, height, width, height]).T
    beside = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    of_frames: npt.NDArray[np.bool_] = (_areas(boxes) <= _MOST_OF_FRAME) & (beside > 0)
    return of_frames


def _box_edges(edges: Pixels, glue: Pixels) -> Boxes:
    """Return boxes around the edges that the glue connects."""
    down, across = (side // 2 for side in glue.shape)
    room = cv2.copyMakeBorder(edges, down, down, across, across, cv2.BORDER_CONSTANT)
    stats = cv2.connectedComponentsWithStats(cv2.dilate(room, glue), ltype=cv2.CV_32S)[2][1:]
    corners = stats[:, :2]
    boxes = np.hstack([corners, corners + stats[:, 2:4] - [2 * across, 2 * down]])
    sides = boxes[:, 2:] - boxes[:, :2]
    return boxes[(sides.min(axis=1) > 1) & (sides.prod(axis=1) >= _LEAST_PIXELS)].astype(np.int32)


def _find_edges(gray: Pixels) -> tuple[Pixels, Pixels]:
    """Return the pixels that differ from the one above or to the left, and apart from them straight lines."""
    around = cv2.copyMakeBorder(gray, 1, 0, 1, 0, cv2.BORDER_REPLICATE)
    steps = cv2.max(cv2.absdiff(gray, around[1:, :-1]), cv2.absdiff(gray, around[:-1, 1:]))
    edges = cv2.threshold(steps, _EDGE, 255, cv2.THRESH_BINARY)[1]
    rules = np.zeros_like(edges)
    for side in ((_LONGEST, 1), (1, _LONGEST)):
        lines = cv2.morphologyEx(edges, cv2.MORPH_OPEN, np.ones(side, np.uint8))
        thick = cv2.morphologyEx(lines, cv2.MORPH_OPEN, np.ones((4, 4), np.uint8))
        rules |= lines & ~thick
    return edges & ~rules, rules


def describe(
    tokens: Tokens, chosen: npt.NDArray[np.intp], nudge: tuple[int, int] = (0, 0)
) -> npt.NDArray[np.float32]:
    """Return a row for each chosen token: its brightness relative to its mean, as 256 numbers of length 1.

    Tokens that look alike, whatever their colors and whichever fraction of a pixel they begin at, have rows
    whose product is nearly 1, or nearly -1 if bright and dark are swapped. `nudge` moves the boxes: at
    another fraction of a pixel, a box can begin a pixel earlier.
    """
    rows = np.zeros((len(chosen), _DESCRIPTOR[0] * _DESCRIPTOR[1]), np.float32)
    height, width = tokens.image.shape[:2]
    boxes = (tokens.boxes[chosen] + [*nudge, *nudge]).clip(0, [width, height, width, height])
    for row, box in zip(rows, boxes.tolist(), strict=True):
        row[:] = cv2.resize(tokens.gray(box), _DESCRIPTOR, interpolation=cv2.INTER_AREA).ravel()
    rows -= rows.mean(axis=1, keepdims=True)
    lengths: npt.NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.maximum(lengths, 1)
    return rows


def find_word(before: Tokens, one: int, after: Tokens, other: int) -> tuple[float, tuple[int, int]]:
    """Return how alike two tokens are, from 0 to 1, and how far the first moved, if it is the second.

    A few pixels can be cut off either.
    """
    here, there = before.boxes[one].tolist(), after.boxes[other].tolist()
    smaller, larger = before.gray(here), after.gray(there)
    if smaller.size > larger.size:
        likeness, (dx, dy) = find_word(after, other, before, one)
        return likeness, (-dx, -dy)
    height, width = (inner - outer for inner, outer in zip(larger.shape, smaller.shape, strict=True))
    if max(abs(height), abs(width)) > _CUT:
        return 0, (0, 0)
    room = cv2.copyMakeBorder(larger, _CUT, _CUT, _CUT, _CUT, cv2.BORDER_REPLICATE)
    _, likeness, _, (x, y) = cv2.minMaxLoc(cv2.matchTemplate(room, smaller, cv2.TM_CCOEFF_NORMED))
    return likeness, (there[0] - _CUT + x - here[0], there[1] - _CUT + y - here[1])
