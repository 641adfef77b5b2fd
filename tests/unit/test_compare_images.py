"""Properties that hold for comparisons of any images."""

import io
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.adapters.pictures.engine.regions import Box, clear_noise, groups_of
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
def test_inserted_rows_came_in_and_removed_ones_are_gone(at: int, rows: int, seed: int) -> None:
    page, more = noisy(HEIGHT, seed), noisy(rows, seed + 10)
    longer = Image.new("RGB", (WIDTH, HEIGHT + rows))
    longer.paste(page.crop((0, 0, WIDTH, at)), (0, 0))
    longer.paste(more, (0, at))
    longer.paste(page.crop((0, at, WIDTH, HEIGHT)), (0, at + rows))
    for result in (result_of(page, longer), result_of(longer, page)):
        assert result.verdict == "changed"
        assert result.pieces
        assert result.marked


@QUICK
@given(pages(), st.integers(0, 40), st.integers(0, 30), st.integers(8, 24), st.integers(8, 18))
def test_a_new_box_is_changed_both_ways_and_its_pieces_are_within_the_image(
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
        boxes = [(x, y, x + w, y + h) for x, y, w, h in (piece.box for piece in result.pieces)]
        assert boxes
        assert all(0 <= x < right <= WIDTH and 0 <= y < bottom <= HEIGHT for x, y, right, bottom in boxes)
        assert Image.open(io.BytesIO(result.marked)).size == (WIDTH, HEIGHT)


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 79)), max_size=40), st.sampled_from([2, 3, 8, 16])
)
def test_groups_are_tight_around_marks_that_are_near_each_other(
    points: list[tuple[int, int]], apart: int
) -> None:
    marks = np.zeros((80, 100), np.uint8)
    for x, y in points:
        marks[y, x] = 200
    boxes = groups_of(marks, apart)
    for x, y in points:
        assert any(box.left <= x < box.right and box.top <= y < box.bottom for box in boxes)
    for box in boxes:
        part = marks[box.slices]
        assert all(edge.any() for edge in (part[0], part[-1], part[:, 0], part[:, -1]))


def test_groups_reach_no_farther_than_they_are_told() -> None:
    marks = np.zeros((20, 40), np.uint8)
    marks[5, [3, 8, 24]] = 1
    assert groups_of(marks, 8) == [Box(3, 5, 9, 6), Box(24, 5, 25, 6)]


def test_only_groups_below_the_sum_are_noise() -> None:
    marks = np.zeros((20, 100), np.uint8)
    marks[0, 0:2] = marks[0, 40:43] = 100
    clear_noise(marks, 201)
    assert np.flatnonzero(marks[0]).tolist() == [40, 41, 42]
    clear_noise(marks, 300)
    assert marks.sum() == 300


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
