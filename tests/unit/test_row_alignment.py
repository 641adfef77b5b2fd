"""Which rows of two images belong together, and which boxes are drawn around pixels that differ."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.server.adapters.pictures.engine import row_alignment, row_edits
from prshots.server.adapters.pictures.engine.regions import Box, boxes_around, clear_noise, merge_strips
from prshots.server.adapters.pictures.engine.row_alignment import Sketches, align


def aligned(before: str, after: str, *, lossy: bool = False) -> str:
    """Align rows that are letters, neighbors in the alphabet two levels apart. Capitals are 100 levels brighter.

    Return for each stretch its kind and number of rows: `=3 +1 ~2 -1`.
    """

    def sketch(rows: str):
        levels = [2.0 * (ord(row.lower()) - ord("a")) + 100 * row.isupper() for row in rows]
        return lambda start, end: np.array([(level, 0) for level in levels[start:end]], np.float32).reshape(
            -1, 2
        )

    signs = {"equal": "=", "paired": "~", "inserted": "+", "removed": "-"}
    found = align(
        [*map(ord, before)],
        [*map(ord, after)],
        Sketches(sketch(before), sketch(after), lambda _: False),
        lossy=lossy,
    )
    assert [kind for kind, _ in groupby(found, key=lambda each: each.kind)] == [each.kind for each in found]
    return " ".join(f"{signs[each.kind]}{each.rows}" for each in found)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", ""),
        ("abc", "abc", "=3"),
        ("", "ab", "+2"),
        ("ab", "", "-2"),
        ("abcd", "abXcd", "=2 +1 =2"),
        ("abXcd", "abcd", "=2 -1 =2"),
        ("abcd", "aXcd", "=1 ~1 =2"),
        ("aaaa", "aaXaa", "=2 +1 =2"),
        ("aabb", "aaXYbb", "=2 +2 =2"),
        ("--A----B--", "--A----X----B--", "=5 +5 =5"),  # a new item starts in the middle of the gap
        ("--A----X----B--", "--A----B--", "=5 -5 =5"),
        ("abcdefghij", "Xabcdefghij", "+1 =10"),
        ("abcdeX", "abcdebX", "=5 +1 =1"),
        ("xAyBzCwD", "yAxBwCzD", "~1 =1 ~1 =1 ~1 =1 ~1 =1"),
    ],
)
def test_rows_are_equal_replaced_inserted_or_removed(before: str, after: str, expected: str) -> None:
    assert aligned(before, after) == expected


def test_alike_rows_are_paired_and_unrelated_ones_inserted() -> None:
    assert aligned("aaMMaaMM", "ccOOZZccOO", lossy=True) == "~4 +2 ~4"
    assert aligned("ccOOZZccOO", "aaMMaaMM", lossy=True) == "~4 -2 ~4"
    assert aligned("aMzMa", "aMgMa", lossy=True) == "=2 ~1 =2"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("aMaMaM", "MaMaMa", "+1 =5 -1"), ("aZbYcX", "QaZbYc", "+1 =5 -1"), ("QaZbYc", "aZbYcX", "-1 =5 +1")],
    ids=["repeated rows", "landmarks down", "landmarks up"],
)
def test_rows_come_back_only_below_moved_rows_and_if_it_saves_more_than_three(
    before: str, after: str, expected: str
) -> None:
    assert aligned(before, after) == "~6"
    assert aligned(f"jk{before}", f"jVVVVVVVVVk{after}") == f"=1 +9 =1 {expected}"
    assert aligned(f"jk{before[:-1]}", f"jVVVVVVVVVk{after[:-1]}") == "=1 +9 =1 ~5"


@pytest.mark.parametrize(
    ("wide", "long", "expected"),
    [
        (8, 20, ["paired"]),
        (9, 20, []),
        (1, 199, ["paired"]),
        (1, 200, []),
        (8, 192, ["paired"]),
        (8, 193, []),
    ],
)
def test_rows_that_come_back_soon_did_not_move(wide: int, long: int, expected: list[str]) -> None:
    """The rows are all different and look alike."""
    page, new = list(range(long + wide)), list(range(1000, 1000 + wide))
    alike = lambda start, end: np.zeros((end - start, 2), np.float32)  # noqa: E731
    found = align([*page, 9], [*new, *page[:long], 9], Sketches(alike, alike, lambda _: False))
    assert [each.kind for each in found] == [*(expected or ["inserted", "equal", "removed"]), "equal"]


def test_a_table_that_is_too_large_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = "aaMMaaMM", "ccOOZccOO"
    assert aligned(before, after, lossy=True) == "~4 +1 ~4"
    monkeypatch.setattr(row_edits, "MAX_CELLS", 8 * 9 - 1)
    assert aligned(before, after, lossy=True) == "~4 +1 ~4"  # alike from both ends
    assert aligned("aaTTaaTT", "cOZcZZccOO", lossy=True) == "~1 +2 ~7"


def test_rows_that_occur_once_hold_the_alignment_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_edits, "MAX_CELLS", 0)
    assert aligned("aZbYcX", "QaZbYcXR") == "+1 =6 +1"
    assert aligned("abcdMabcd", "YabcdXMXabcdY") == "+1 =4 +1 =1 +1 =4 +1"  # once between two others
    assert aligned("aaa", "bbbZ", lossy=True) == "~3 +1"
    assert aligned("aTTa", "cOZZOc", lossy=True) == "~3 +2 ~1"


@given(st.permutations(range(12)))
def test_longest_rising_chain_of_reordered_rows_is_kept(rows: list[int]) -> None:
    longest = [0] * len(rows)
    for i, row in enumerate(rows):
        longest[i] = 1 + max((longest[k] for k in range(i) if rows[k] < row), default=0)
    chain = row_alignment._longest_rising(list(enumerate(rows)))
    assert len(chain) == max(longest)
    assert chain == sorted(chain) == sorted(chain, key=lambda pair: pair[1])
    assert all(rows[i] == row for i, row in chain)


def marked(*boxes: Box) -> np.ndarray:
    marks = np.zeros((80, 100), np.uint8)
    for box in boxes:
        marks[box.slices] = 100
    return marks


TWO_FAR_APART = [Box(3, 5, 20, 9), Box(40, 50, 99, 79)]
GROUPS = {
    "none": ([], []),
    "apart": (TWO_FAR_APART, TWO_FAR_APART),
    "from the left": ([Box(60, 1, 61, 2), Box(9, 1, 10, 2)], [Box(9, 1, 10, 2), Box(60, 1, 61, 2)]),
    "corner": ([Box(7, 7, 8, 8), Box(8, 8, 9, 9)], [Box(7, 7, 9, 9)]),
    "other corner": ([Box(16, 7, 17, 8), Box(15, 8, 16, 9)], [Box(15, 7, 17, 9)]),
    "a cell between": ([Box(7, 0, 8, 1), Box(16, 0, 17, 1)], [Box(7, 0, 8, 1), Box(16, 0, 17, 1)]),
    "a row between": ([Box(0, 7, 1, 8), Box(0, 16, 1, 17)], [Box(0, 7, 1, 8), Box(0, 16, 1, 17)]),
    "cup": ([Box(0, 0, 1, 1), Box(32, 0, 33, 1), Box(0, 8, 33, 9)], [Box(0, 0, 33, 9)]),
    "cap": ([Box(0, 0, 33, 1), Box(0, 8, 1, 9), Box(32, 8, 33, 9)], [Box(0, 0, 33, 9)]),
}


@pytest.mark.parametrize(("boxes", "expected"), GROUPS.values(), ids=GROUPS)
def test_boxes_are_tight_around_cells_that_touch(boxes: list[Box], expected: list[Box]) -> None:
    assert boxes_around(marked(*boxes), 9) == expected


def test_nearest_groups_are_joined_if_there_are_too_many() -> None:
    marks = marked(Box(0, 0, 1, 1), Box(20, 0, 21, 1), Box(90, 0, 91, 1))
    assert boxes_around(marks, 3) == [Box(0, 0, 1, 1), Box(20, 0, 21, 1), Box(90, 0, 91, 1)]
    assert boxes_around(marks, 2) == [Box(0, 0, 21, 1), Box(90, 0, 91, 1)]


def test_only_groups_below_the_sum_are_noise() -> None:
    marks = marked(Box(0, 0, 2, 1), Box(40, 0, 43, 1))
    clear_noise(marks, 200)
    assert boxes_around(marks, 9) == [Box(0, 0, 2, 1), Box(40, 0, 43, 1)]
    clear_noise(marks, 201)
    assert boxes_around(marks, 9) == [Box(40, 0, 43, 1)]


def test_strips_are_joined_with_the_nearest() -> None:
    strips = [Box(0, 50, 9, 60), Box(0, 0, 9, 10), Box(5, 15, 20, 20), Box(0, 70, 9, 80)]
    assert merge_strips(strips, 4) == [strips[1], strips[2], strips[0], strips[3]]
    assert merge_strips(strips, 3) == [Box(0, 0, 20, 20), strips[0], strips[3]]
    assert merge_strips(strips, 2) == [Box(0, 0, 20, 20), Box(0, 50, 9, 80)]
