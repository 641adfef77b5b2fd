"""Comparing many pictures at once gives the same as one at a time."""

import numpy as np
import pytest

from prshots.server.adapters.pictures.engine import decoding, sheets
from prshots.server.adapters.pictures.engine.differing_pixels import (
    LOSSLESS,
    LOSSY,
    MARGIN,
    Thresholds,
    find_differences,
)
from prshots.server.adapters.pictures.engine.sheets import Layers, compare_on_sheets

Sizes = list[tuple[int, int]]
"""Widths and heights."""

WORDS: Sizes = [(17 + 7 * number % 60, 18 + 5 * number % 23) for number in range(40)]
LARGE: Sizes = [(300, 480), (700, 33), (33, 700)]
INSIDE = slice(MARGIN, -MARGIN), slice(MARGIN, -MARGIN)
"""Pictures are cut with a margin around what is compared. There, the neighbor on the sheet has an effect."""


def drawn(sizes: Sizes, seed: int = 5) -> list[Layers]:
    """Return a before and an after image of each size, with smooth noise that differs in a few places."""
    random = np.random.default_rng(seed)
    pictures = list[Layers]()
    for width, height in sizes:
        coarse = random.integers(0, 256, (-(-height // 6), -(-width // 6), 3), np.uint8)
        before = np.kron(coarse, np.ones((6, 6, 1), np.uint8))[:height, :width]
        after = before.copy()
        after[height // 2 :, width // 3 : width // 2 + 1] //= 2
        pictures.append((before, after))
    return pictures


@pytest.mark.parametrize("thresholds", [LOSSLESS, LOSSY], ids=["lossless", "lossy"])
@pytest.mark.parametrize("sizes", [WORDS, LARGE, [*WORDS, *LARGE]], ids=["words", "large", "both"])
def test_a_sheet_finds_what_each_comparison_finds(sizes: Sizes, thresholds: Thresholds) -> None:
    pictures = drawn(sizes)
    found = compare_on_sheets(pictures, lambda before, after: find_differences(before, after, thresholds))
    assert [each.shape[::-1] for each in found] == sizes
    for (before, after), each in zip(pictures, found, strict=True):
        assert np.array_equal(each[INSIDE], find_differences(before, after, thresholds)[INSIDE])
    assert any(each.any() for each in found)


def test_bands_of_a_large_picture_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    [picture] = drawn([(200, 400)])
    before, after = picture
    whole = find_differences(before, after, LOSSLESS)
    for module in (decoding, sheets):
        monkeypatch.setattr(module, "BAND_PIXELS", 200 * 32)
    heights = []

    def compare(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        heights.append(len(before))
        return find_differences(before, after, LOSSLESS)

    [found] = compare_on_sheets([picture], compare)
    assert len(heights) == 400 / 32 + 0.5
    assert max(heights) <= 32 + 2 * 8
    assert np.array_equal(found, whole)


def test_many_small_pictures_share_a_sheet_and_large_ones_do_not() -> None:
    calls = []

    def compare(before: np.ndarray, _: np.ndarray) -> np.ndarray:
        calls.append(before.shape[:2])
        return np.zeros(before.shape[:2], np.uint8)

    compare_on_sheets(drawn(WORDS), compare)
    assert len(calls) == 1
    calls.clear()
    compare_on_sheets(drawn([(500, 200)] * 3), compare)
    assert len(calls) == 3


def test_nothing_and_empty_pictures() -> None:
    assert compare_on_sheets([], find_differences) == []
    empty = np.zeros((0, 7, 3), np.uint8)
    [found] = compare_on_sheets([(empty, empty)], find_differences)
    assert found.shape == (0, 7)
