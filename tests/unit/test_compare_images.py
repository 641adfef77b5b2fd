"""Properties that hold for comparisons of any images."""

import io
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from prshots.server.adapters.pictures.engine import compare as comparing
from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.adapters.pictures.engine.differing_pixels import Strength, find_differences
from prshots.server.adapters.pictures.engine.regions import boxes_around, clear_noise, merge_strips
from prshots.server.adapters.pictures.engine.row_alignment import Sketches, align
from prshots.server.domain.comparison.models import PairResult
from support.nasty_pictures import encoded

COLORS = st.tuples(*[st.integers(0, 255)] * 3)
QUICK = settings(max_examples=20)
WIDTH, HEIGHT = 64, 48


@st.composite
def pages(draw: st.DrawFn) -> Image.Image:
    """Return a page of a few boxes."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), draw(COLORS))
    for _ in range(draw(st.integers(0, 4))):
        left, top = draw(st.integers(0, 50)), draw(st.integers(0, 40))
        picture.paste(
            draw(COLORS), (left, top, left + draw(st.integers(1, 40)), top + draw(st.integers(1, 20)))
        )
    return picture


def result_of(before: Image.Image, after: Image.Image) -> PairResult:
    return compare(encoded(before, "PNG"), encoded(after, "PNG", compress_level=1))


def noisy(rows: int, seed: int) -> Image.Image:
    """Return rows of which no two are alike."""
    return Image.frombytes("RGB", (WIDTH, rows), random.Random(seed).randbytes(3 * WIDTH * rows))


@QUICK
@given(pages())
def test_a_page_is_unchanged_from_itself_and_from_a_little_noise(page: Image.Image) -> None:
    result = result_of(page, page)
    assert result == PairResult(
        "unchanged", pixels_before=result.pixels_after, pixels_after=result.pixels_after
    )
    noise = np.random.default_rng(7).integers(-1, 2, (HEIGHT, WIDTH, 3))
    shaken = np.clip(np.asarray(page, np.int16) + noise, 0, 255).astype(np.uint8)
    assert result_of(page, Image.fromarray(shaken)).verdict == "unchanged"


@QUICK
@given(st.integers(0, HEIGHT), st.integers(1, 30), st.integers(0, 9))
def test_inserted_rows_are_moved_by_their_number(at: int, rows: int, seed: int) -> None:
    page, more = noisy(HEIGHT, seed), noisy(rows, seed + 10)
    longer = Image.new("RGB", (WIDTH, HEIGHT + rows))
    longer.paste(page.crop((0, 0, WIDTH, at)), (0, 0))
    longer.paste(more, (0, at))
    longer.paste(page.crop((0, at, WIDTH, HEIGHT)), (0, at + rows))
    result = result_of(page, longer)
    assert (result.verdict, result.shift, result.pixels) == ("moved", rows, rows * WIDTH)
    assert list(result.regions) == [(0, at, WIDTH, rows)]
    back = result_of(longer, page)
    assert (back.verdict, back.shift, back.pixels) == ("moved", -rows, 0)
    assert list(back.regions) == [(0, min(max(at - 1, 0), HEIGHT - 2), WIDTH, 2)]
    assert back.marked


@QUICK
@given(pages(), st.integers(0, 40), st.integers(0, 30), st.integers(8, 24), st.integers(8, 18))
def test_a_new_box_is_changed_both_ways_and_within_the_regions(
    page: Image.Image, left: int, top: int, width: int, height: int
) -> None:
    changed = page.copy()
    part = changed.crop((left, top, left + width, top + height))
    changed.paste(
        part.point(lambda level: 255 - level if abs(255 - 2 * level) > 60 else level ^ 128), (left, top)
    )
    for pair in ((page, changed), (changed, page)):
        result = result_of(*pair)
        assert result.verdict == "changed"
        boxes = [(x, y, x + w, y + h) for x, y, w, h in result.regions]
        assert all(0 <= x < right <= WIDTH and 0 <= y < bottom <= HEIGHT for x, y, right, bottom in boxes)
        assert Image.open(io.BytesIO(result.marked)).size == (WIDTH, HEIGHT)


@given(st.lists(st.integers(0, 6), max_size=30), st.lists(st.integers(0, 6), max_size=30), st.booleans())
def test_an_alignment_has_every_row_once_and_in_order(
    before: list[int], after: list[int], lossy: bool
) -> None:
    def sketch(rows: list[int]):
        return lambda start, end: (
            np.array([(row, 0) for row in rows[start:end]], np.float32).reshape(-1, 2) * 50
        )

    i = j = 0
    for stretch in align(
        before, after, Sketches(sketch(before), sketch(after), lambda _: False), lossy=lossy
    ):
        assert (stretch.before, stretch.after) == (i, j)
        assert stretch.rows > 0
        if stretch.kind == "equal":
            assert before[i : i + stretch.rows] == after[j : j + stretch.rows]
        i += stretch.rows * (stretch.kind != "inserted")
        j += stretch.rows * (stretch.kind != "removed")
    assert (i, j) == (len(before), len(after))


def test_a_deep_alignment_needs_no_stack() -> None:
    before = [number // 2 for number in range(4000)]
    rows = list(np.random.default_rng(1).permutation(before))
    sketch = lambda start, end: np.zeros((end - start, 2), np.float32)  # noqa: E731
    found = align(before, rows, Sketches(sketch, sketch, lambda _: False))
    assert sum(stretch.rows for stretch in found if stretch.kind != "removed") == 4000


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 79)), max_size=40), st.integers(1, 6))
def test_boxes_are_around_all_marks_and_few(points: list[tuple[int, int]], at_most: int) -> None:
    marks = np.zeros((80, 100), np.uint8)
    for x, y in points:
        marks[y, x] = 200
    boxes = boxes_around(marks, at_most)
    assert len(boxes) <= at_most
    for x, y in points:
        assert any(box.left <= x < box.right and box.top <= y < box.bottom for box in boxes)
    assert len(merge_strips(boxes, 1)) == min(1, len(boxes))
    clear_noise(marks, 255)
    assert all(marks[box.slices].sum() > 200 for box in boxes_around(marks, 99))


@pytest.mark.parametrize(
    ("bar", "verdict"),
    [
        ((30, 10, 31, 26), "unchanged"),
        ((10, 10, 12, 26), "unchanged"),
        ((30, 10, 34, 26), "changed"),
        ((30, 10, 31, 18), "changed"),
        ((30, 10, 31, 23), "changed"),
        ((36, 10, 37, 26), "changed"),
        ((29, 14, 30, 26), "changed"),
        ((10, 30, 26, 31), "changed"),
        ((30, 10, 31, 48), "changed"),
    ],
    ids=["after", "in", "wide", "short", "on-the-baseline", "apart", "edge", "lying", "long"],
)
def test_a_text_cursor_is_a_thin_bar_next_to_text_that_extends_below_the_baseline(
    bar: tuple[int, int, int, int], verdict: str
) -> None:
    page = Image.new("RGB", (WIDTH, HEIGHT), "white")
    for letter in (4, 13, 22):
        page.paste("gray", (letter, 14, letter + 7, 23))
    with_bar = page.copy()
    with_bar.paste("black" if bar[0] != 29 else "gray", bar)
    assert result_of(page, with_bar).verdict == result_of(with_bar, page).verdict == verdict


@pytest.mark.parametrize(("differing", "looked_at"), [(190, 2), (100, 6)])
def test_the_rest_is_only_counted_if_nearly_everything_differs(
    differing: int, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def count_and_find(*given: Any) -> Strength:
        nonlocal calls
        calls += 1
        return find_differences(*given)

    monkeypatch.setattr(comparing, "find_differences", count_and_find)
    monkeypatch.setattr(comparing, "_ENOUGH_PIXELS", 30_000)
    monkeypatch.setattr(comparing, "_CHUNK_PIXELS", 20_000)
    before = Image.new("L", (200, 600), 250)
    after = before.copy()
    after.paste(20, (0, 0, differing, 600))
    result = result_of(before, after)
    assert (result.verdict, result.pixels, calls) == ("changed", differing * 600, looked_at)
    assert result.regions == [(0, 0, differing, 600)]
