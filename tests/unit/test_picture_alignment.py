"""Tokens of a page, how far each moved, and which boxes are one piece."""

import numpy as np
import pytest

from prshots.server.adapters.pictures.engine.alignment import Alignment, align
from prshots.server.adapters.pictures.engine.pieces import Obstacles, describe_shape, join
from prshots.server.adapters.pictures.engine.regions import Box
from prshots.server.adapters.pictures.engine.tokens import Tokens, describe, find_tokens, split_lines
from support.page_canvas import NAMES, Page, draw_at_fraction

SHAPE = 320, 480


def tokens_of(page: Page) -> Tokens:
    pixels = np.asarray(page.picture)
    return find_tokens(pixels, Box(0, 0, pixels.shape[1], pixels.shape[0]))


def aligned(before: Page, after: Page) -> tuple[Tokens, Tokens, Alignment]:
    ours, theirs = split_lines(tokens_of(before), tokens_of(after))
    return ours, theirs, align(ours, theirs, SHAPE)


def offset_in(tokens: Tokens, found: Alignment, box: Box) -> set[tuple[int, int] | None]:
    """Return the offsets of the tokens of the after image in a box, and None for one without an offset."""
    return {
        found.offsets[number] if number >= 0 else None
        for token, number in zip(tokens.boxes.tolist(), found.after.tolist(), strict=True)
        if box.contains(Box(*token))
    }


def rows_with_icons(names: list[str]) -> Page:
    page = Page()
    for row, name in enumerate(names):
        page.write(40, 20 + 30 * row, name).photo(140, 18 + 30 * row, 20, seed=9)
    return page


class TestTokens:
    def test_words_and_pictures_are_tokens_and_rules_and_flat_boxes_are_not(self) -> None:
        page = Page().write(20, 20, "Words", size=20).photo(300, 20, 40)
        page.fill((0, 100, 480, 101), "#57606a").fill((100, 150, 200, 250), "#eaeef2")
        boxes = sorted(tokens_of(page).boxes.tolist())
        assert len(boxes) == 2
        assert boxes[1][:2] == [300, 20]
        assert boxes[0][0] == pytest.approx(21, abs=2)

    def test_equal_pixels_have_equal_keys_wherever_they_are(self) -> None:
        page = Page().photo(20, 20, seed=1).photo(200, 90, seed=1).photo(300, 200, seed=2)
        tokens = tokens_of(page)
        assert len(tokens.keys) == 3
        assert len({*tokens.keys}) == 2

    def test_a_part_of_a_page_has_the_same_tokens_at_the_same_places(self) -> None:
        page = Page().write_list(20, 20, NAMES[:8])
        part = find_tokens(np.asarray(page.picture), Box(0, 90, 480, 320))
        whole = [box for box in tokens_of(page).boxes.tolist() if box[1] > 90]
        assert sorted(part.boxes.tolist()) == sorted(whole)

    def test_likeness_ignores_colors_and_fractions_of_a_pixel(self) -> None:
        word = Page((120, 40)).write(10, 10, "Invoices", size=16)
        others = [
            tokens_of(Page((120, 40), "#0d1117").write(10, 10, "Invoices", "#e6edf3", 16)),
            tokens_of(Page((120, 40)).write(10, 10, "Quarters", size=16)),
        ]
        moved = Page((120, 40))
        moved.picture.paste(draw_at_fraction(word, 0.4, 0))
        rows = [describe(each, np.array([0])) for each in (tokens_of(word), *others, tokens_of(moved))]
        theme, other, fraction = (abs(float((rows[0] @ row.T)[0, 0])) for row in rows[1:])
        assert theme > 0.95
        assert fraction > 0.86
        assert other < 0.7

    def test_a_shape_ignores_colors(self) -> None:
        boxes = Box(8, 8, 90, 32)
        dark, bright, other = (
            describe_shape(np.asarray(Page((120, 40), ground).write(10, 10, word, color, 16).picture), boxes)
            for word, ground, color in (
                ("Save", "#ffffff", "#000000"),
                ("Save", "#000000", "#ffffff"),
                ("Delete", "#ffffff", "#000000"),
            )
        )
        assert (dark.width, dark.height) == (82, 24)
        assert (dark.bits ^ bright.bits).bit_count() <= 4 < (dark.bits ^ other.bits).bit_count()


class TestAlignment:
    def test_each_token_has_at_most_one_partner(self) -> None:
        before, after, found = aligned(
            rows_with_icons(NAMES[:7]), rows_with_icons([*NAMES[:3], "Zoe", *NAMES[3:7]])
        )
        ours, theirs = (each.tolist() for each in found.partners)
        assert len(ours) == len({*ours}) == len(before.boxes)
        assert len(theirs) == len({*theirs}) == len(after.boxes) - 2
        assert found.offsets[0] == (0, 0)

    def test_equal_icons_follow_the_words_beside_them(self) -> None:
        _, after, found = aligned(
            rows_with_icons(NAMES[:7]), rows_with_icons([*NAMES[:3], "Zoe", *NAMES[3:7]])
        )
        assert offset_in(after, found, Box(0, 0, 480, 105)) == {(0, 0)}
        assert offset_in(after, found, Box(0, 105, 480, 135)) == {None}
        assert offset_in(after, found, Box(0, 135, 480, 320)) == {(0, 30)}

    def test_a_lone_token_can_move_far_and_a_dot_cannot(self) -> None:
        before, after = Page().write_list(20, 20, NAMES[:8]), Page().write_list(20, 20, NAMES[:8])
        before.photo(200, 40, 30, seed=4).photo(200, 100, 5, seed=5)
        after.photo(350, 260, 30, seed=4).photo(350, 160, 5, seed=5)
        _, theirs, found = aligned(before, after)
        assert offset_in(theirs, found, Box(340, 250, 400, 300)) == {(150, 220)}
        assert offset_in(theirs, found, Box(340, 150, 400, 170)) == {None}

    def test_at_most_48_offsets_are_followed(self) -> None:
        before, after = Page((900, 900)), Page((900, 900))
        for number in range(81):
            left, top = number % 9 * 95 + 20, number // 9 * 95 + 20
            before.photo(left, top, 24, seed=number)
            after.photo(left + number % 9 * 3, top + number // 9 * 3, 24, seed=number)
        found = align(tokens_of(before), tokens_of(after), (900, 900))
        assert len(found.offsets) == len({*found.offsets}) == 48
        assert found.after.max() < 48

    def test_empty_pages(self) -> None:
        blank, words = Page(), Page().write(20, 20, "Words")
        for before, after in ((blank, blank), (blank, words), (words, blank)):
            _, theirs, found = aligned(before, after)
            assert found.offsets == [(0, 0)]
            assert found.after.tolist() == [-1] * len(theirs.boxes)


class TestPieces:
    ONE, BESIDE, BELOW = Box(20, 20, 60, 36), Box(120, 22, 180, 36), Box(20, 60, 60, 76)

    def test_near_boxes_are_joined(self) -> None:
        none = Obstacles(SHAPE, [])
        assert join([self.ONE, self.BESIDE], none) == [Box(20, 20, 180, 36)]
        assert join([self.ONE, self.BELOW], none) == [Box(20, 20, 60, 76)]
        assert len(join([self.ONE, Box(20, 90, 60, 106)], none)) == 2  # too far below
        assert len(join([self.ONE, Box(90, 50, 180, 66)], none)) == 2  # not below
        assert len(join([self.ONE, self.BESIDE], none, beside=40)) == 2

    def test_boxes_with_something_between_them_are_not(self) -> None:
        between = Obstacles(SHAPE, [Box(80, 20, 100, 36)])
        assert sorted(join([self.ONE, self.BESIDE, self.BELOW], between)) == [
            Box(20, 20, 60, 76),
            self.BESIDE,
        ]

    def test_an_obstacle_within_a_box_keeps_nothing_apart(self) -> None:
        inside = Obstacles(SHAPE, [Box(24, 20, 32, 36)])
        assert join([self.ONE, self.BESIDE], inside) == [Box(20, 20, 180, 36)]
