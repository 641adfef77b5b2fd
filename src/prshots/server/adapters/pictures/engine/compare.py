"""Compares two images as a person would, and shows the difference.

Both are decoded whole, because their formats allow nothing else. The steps after that work on bands of rows,
and only on rows that differ.
"""

from collections.abc import Sequence

import numpy as np

from prshots.contract.replies import Region
from prshots.server.adapters.pictures import pair_results
from prshots.server.adapters.pictures.engine.canvas import Canvas
from prshots.server.adapters.pictures.engine.carets import is_caret
from prshots.server.adapters.pictures.engine.difference_image import draw_difference
from prshots.server.adapters.pictures.engine.open_image import pillow_errors_as_ours
from prshots.server.adapters.pictures.engine.pairs import Pair
from prshots.server.adapters.pictures.engine.regions import Box, boxes_around, clear_noise, merge_strips
from prshots.server.adapters.pictures.engine.stretches import Stretch
from prshots.server.domain.comparison.models import PairResult

MAX_REGIONS = 50
_MAX_STRIPS = 20

_LEAST_SUM = 100
"""The least sum of differences, in levels of 255, of a group of pixels. Less is noise of a pixel or two."""

_SEAM = 2
"""Removed rows have no pixels in the after image. A region of this height shows where they were."""


def compare(before: bytes, after: bytes) -> bytes:
    """Return a packed PairResult. Raises PictureError."""
    with pillow_errors_as_ours():
        return pair_results.pack(_compare_pair(Pair(Canvas(before), Canvas(after))))


def _compare_pair(pair: Pair) -> PairResult:
    stretches = pair.align_rows()
    if pair.same_width and all(stretch.kind == "equal" for stretch in stretches):
        return PairResult("unchanged")
    strengths = pair.strengths(stretches)
    strips = _find_strips(stretches, pair)
    clear_noise(strengths, _LEAST_SUM)
    changed = boxes_around(strengths, MAX_REGIONS - _MAX_STRIPS)
    if not strips and (not changed or (len(changed) == 1 and is_caret(pair, changed[0]))):
        return PairResult("unchanged")
    after = pair.after.image
    pair.forget_before()
    return PairResult(
        verdict="changed" if changed or not pair.same_width else "moved",
        pixels=int(np.count_nonzero(strengths)) + _count_inserted(stretches) * pair.width,
        regions=[_region(box) for box in sorted([*strips, *changed], key=lambda box: (box.top, box.left))],
        shift=_largest_shift(stretches),
        marked=draw_difference(after, strengths, changed, strips),
    )


def _find_strips(stretches: Sequence[Stretch], pair: Pair) -> list[Box]:
    """Return the boxes of inserted rows, and seams where rows or columns were removed."""
    width, height = pair.after.image.size
    strips = []
    for stretch in stretches:
        top = stretch.after
        if stretch.kind == "inserted":
            strips.append(Box(0, top, width, top + stretch.rows))
        elif stretch.kind == "removed" and not (strips and top == height):  # pushed off the end
            start = max(0, min(top - _SEAM // 2, height - _SEAM))
            strips.append(Box(0, start, width, min(height, start + _SEAM)))
    if pair.before.width > width:
        strips.append(Box(max(0, width - _SEAM), 0, width, height))
    return merge_strips(strips, _MAX_STRIPS)


def _count_inserted(stretches: Sequence[Stretch]) -> int:
    return sum(stretch.rows for stretch in stretches if stretch.kind == "inserted")


def _largest_shift(stretches: Sequence[Stretch]) -> int:
    """Return the largest distance, in rows, that any content moved or the image grew or shrank."""
    shifts = [0]
    for stretch in stretches:
        direction = {"inserted": 1, "removed": -1}.get(stretch.kind, 0)
        shifts.append(shifts[-1] + direction * stretch.rows)
    return max(shifts, key=abs)


def _region(box: Box) -> Region:
    return (box.left, box.top, box.right - box.left, box.bottom - box.top)
