"""What a comparison finds on pages: what changed, what came or went, and what only stands elsewhere."""

import io

import pytest
from PIL import Image

from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.domain.comparison.models import PairResult
from support.nasty_pictures import encoded
from support.page_canvas import INK, NAMES, Page, diff, draw_at_fraction

Region = tuple[int, int, int, int]
DARK, BRIGHT = "#0d1117", "#e6edf3"


def pieces_of(result: PairResult) -> list[tuple[str, Region]]:
    return [(piece.kind, piece.box) for piece in result.pieces]


def offsets_of(result: PairResult) -> list[tuple[int, int]]:
    return [(dx, dy) for *_, dx, dy in result.moves]


def reverse(result: PairResult) -> list[tuple[int, int]]:
    return [(-dx, -dy) for dx, dy in offsets_of(result)]


def shows(region: Region, box: Region, slack: int = 3) -> bool:
    """Return whether a region is around a box (left, top, right, bottom), and hardly larger."""
    left, top, width, height = region
    sides = zip((left, top, left + width, top + height), box, strict=True)
    return all(abs(one - other) <= slack for one, other in sides)


def a_list(names: list[str] = NAMES[:8], *, top: int = 40, size: tuple[int, int] = (480, 320)) -> Page:
    return Page(size).write_list(40, top, names)


class TestEdits:
    def test_only_the_digit_that_differs_is_marked(self) -> None:
        result = diff(a_list().write(200, 44, "Total 128.50"), a_list().write(200, 44, "Total 128.60"))
        assert result.verdict == "changed"
        [(kind, region)] = pieces_of(result)
        assert kind == "changed"
        assert region[0] > 250
        assert region[2] <= 10
        assert not result.moves

    def test_an_added_word_came_in_and_a_removed_one_is_gone(self) -> None:
        pair = a_list(), a_list().write(200, 64, "Overdue")
        [(kind, region)] = pieces_of(diff(*pair))
        assert kind == "came"
        assert shows(region, (200, 66, 254, 79))
        back = diff(*reversed(pair))
        assert pieces_of(back) == [("gone", region)]
        assert (back.verdict, back.regions, back.gone) == ("changed", [], [region])

    def test_two_edits_with_the_same_between_them_are_two_regions(self) -> None:
        after = a_list().write(160, 40, "New").write(160, 40 + 24 * 5, "Old")
        assert [kind for kind, _ in pieces_of(diff(a_list(), after))] == ["came", "came"]

    def test_the_words_of_a_new_paragraph_are_one_region(self) -> None:
        after = a_list().write(220, 100, "A new paragraph has").write(220, 120, "several words in it")
        assert [kind for kind, _ in pieces_of(diff(a_list(), after))] == ["came"]

    def test_at_most_50_regions_cover_every_edit(self) -> None:
        before, after = Page((900, 900)), Page((900, 900))
        for number in range(81):
            left, top = number % 9 * 95 + 20, number // 9 * 95 + 20
            before.photo(left + 20, top, 24, seed=number)
            after.photo(left + 20, top, 24, seed=number).write(left, top + 40, "x")
        result = diff(before, after)
        assert 1 < len(result.regions) <= 50
        for number in range(81):
            x, y = number % 9 * 95 + 23, number // 9 * 95 + 70
            assert any(
                left - 5 <= x <= left + width + 5 and top - 9 <= y <= top + height + 9
                for left, top, width, height in result.regions
            )


class TestMoves:
    def test_a_word_that_moved_does_not_count_as_a_change(self) -> None:
        result = diff(a_list().write(200, 44, "Invoices"), a_list().write(290, 180, "Invoices"))
        assert (result.verdict, result.pieces, result.closeups) == ("moved", [], [])
        [(left, top, width, height, *offset)] = result.moves
        assert shows((left, top, width, height), (290, 182, 345, 195))
        assert offset == [90, 136]

    def test_two_columns_can_move_by_different_offsets(self) -> None:
        pages = [
            Page().write_list(20, 20 + left, NAMES[:8]).write_list(260, 20 + right, NAMES[10:18])
            for left, right in ((0, 0), (18, 31))
        ]
        result = diff(*pages)
        assert result.verdict == "moved"
        assert sorted(offsets_of(result)) == [(0, 18), (0, 31)]
        assert sorted(reverse(diff(*reversed(pages)))) == [(0, 18), (0, 31)]

    def test_a_column_that_gets_wider_moves_the_content_beside_it(self) -> None:
        narrow, wide = (
            Page()
            .fill((0, 0, width, 320), "#eaeef2")
            .write_list(10, 30, NAMES[:8])
            .write_list(width + 20, 30, NAMES[8:16])
            for width in (140, 147)
        )
        result = diff(narrow, wide)
        assert result.verdict == "moved"
        assert {*offsets_of(result)} == {(7, 0)}
        assert all(left > 147 for left, *_ in result.moves)

    def test_the_old_place_of_a_moved_button_does_not_count_as_a_change(self) -> None:
        result = diff(a_list().button(300, 40, "Save"), a_list().button(300, 200, "Save"))
        assert (result.verdict, offsets_of(result), result.shift) == ("moved", [(0, 160)], 160)

    def test_swapped_rows_only_moved(self) -> None:
        names = ["Alpha", "Bravo", "Cedar", "Delta", "Eagle", "Fox", "Golf"]
        swapped = [names[0], names[3], names[2], names[1], *names[4:]]
        result = diff(a_list(names), a_list(swapped))
        assert result.verdict == "moved"
        assert sorted(offsets_of(result)) == [(0, -48), (0, 48)]

    def test_at_most_64_moves_the_largest_first(self) -> None:
        before, after = Page((900, 900)), Page((900, 900))
        for number in range(81):
            left, top, side = number % 9 * 95 + 20, number // 9 * 95 + 20, 24 + number % 2 * 8
            before.photo(left, top, side, seed=number)
            after.photo(left + 6 * (number % 2), top + 7 * (1 - number % 2), side, seed=number)
        result = diff(before, after)
        assert result.verdict == "moved"
        areas = [width * height for _, _, width, height, *_ in result.moves]
        assert len(areas) == 64
        assert areas == sorted(areas, reverse=True)

    def test_a_scrolled_page_only_moved(self) -> None:
        left, right = (
            [one + other for one in ones.split() for other in others.split()]
            for ones, others in (
                ("Tree Cloud River Stone Ember", "song fall light gate"),
                ("Oak Snow Salt Iron Moss", "field hill bridge land"),
            )
        )
        pages = [
            Page().write_list(20, 11 - scrolled, left, 20).write_list(240, 17 - scrolled, right, 20)
            for scrolled in (0, 66)
        ]
        result = diff(*pages)
        assert (result.verdict, result.shift) == ("moved", -66)
        back = diff(*reversed(pages))
        assert (back.verdict, back.shift) == ("moved", 66)


class TestInsertions:
    def test_an_inserted_row_came_in_and_pushes_the_rest(self) -> None:
        longer = a_list([*NAMES[:3], "Zoe", *NAMES[3:8]])
        result = diff(a_list(), longer)
        [(kind, region)] = pieces_of(result)
        assert kind == "came"
        assert shows(region, (40, 114, 96, 127), slack=5)
        assert (result.verdict, {*offsets_of(result)}) == ("changed", {(0, 24)})
        back = diff(longer, a_list())
        assert pieces_of(back) == [("gone", region)]
        assert {*offsets_of(back)} == {(0, -24)}

    @pytest.mark.parametrize("top", [18, 24, 40])
    def test_the_first_row_removed_is_not_a_scroll(self, top: int) -> None:
        [(kind, region)] = pieces_of(diff(a_list(NAMES[:8], top=top), a_list(NAMES[1:8], top=top)))
        assert kind == "gone"
        assert shows(region, (40, top + 3, 96, top + 14))

    @pytest.mark.parametrize("has_status", [True, False])
    def test_equal_rows_are_paired_one_to_one(self, has_status: bool) -> None:
        def rows(names: list[str]) -> Page:
            page = Page()
            for row, name in enumerate(names):
                page.write(40, 20 + 30 * row, name if has_status else "Draft").photo(
                    140, 18 + 30 * row, 20, seed=9
                )
            return page

        longer = rows([*NAMES[:3], "Zoe", *NAMES[3:7]])
        for pair, kind in (((rows(NAMES[:7]), longer), "came"), ((longer, rows(NAMES[:7])), "gone")):
            [(found, (left, _, width, height))] = pieces_of(diff(*pair))
            assert found == kind
            assert (left, width) == (pytest.approx(40, abs=2), pytest.approx(120, abs=3))
            assert height <= 22

    @pytest.mark.parametrize("rest", [0, 0.3, 0.5])
    def test_a_banner_is_one_region_even_at_a_fraction_of_a_pixel(self, rest: float) -> None:
        def content(below: int) -> Page:
            page = Page((480, 360))
            return page.write_list(20, 40 + below, NAMES[:9]).write_list(260, 40 + below, NAMES[9:18])

        after = Page((480, 360))
        after.picture.paste(draw_at_fraction(content(32), 0, rest))
        after.fill((0, 0, 480, 32), "#fff8c5").write(20, 8, "A new version is here")
        result = diff(content(0), after)
        assert pieces_of(result) == [("came", (0, 0, 480, 32))]
        assert {*offsets_of(result)} <= {(0, 32), (0, 33)}
        assert result.shift in {32, 33}

    def test_no_move_lies_over_a_region(self) -> None:
        after = a_list([*NAMES[:3], "Zoe", *NAMES[3:8]]).write(200, 140, "Overdue")
        result = diff(a_list(), after)
        assert len(result.regions) == 2
        for left, top, width, height, *_ in result.moves:
            for x, y, across, down in result.regions:
                assert x + across <= left or left + width <= x or y + down <= top or top + height <= y


class TestColors:
    @staticmethod
    def page(color: str, ground: str, action: str) -> Page:
        return (
            Page(ground=ground).write_list(20, 20, NAMES[:10], color=color).write(260, 100, action, color, 18)
        )

    def test_another_theme_is_a_table_of_colors(self) -> None:
        result = diff(self.page(INK, "#ffffff", "Save"), self.page(BRIGHT, DARK, "Save"))
        assert pieces_of(result) == [("recolored", (0, 0, 480, 320))]
        assert {(old, new) for old, new, _ in result.colors} == {("#ffffff", DARK), (INK, BRIGHT)}

    def test_an_edit_within_another_theme_is_its_own_region(self) -> None:
        result = diff(self.page(INK, "#ffffff", "Save"), self.page(BRIGHT, DARK, "Delete"))
        assert [kind for kind, _ in pieces_of(result)] == ["recolored", "changed"]
        assert shows(result.regions[1], (260, 104, 316, 119), slack=4)
        assert {kind for closeup in result.closeups for kind in [result.pieces[closeup.pieces[0]].kind]} == {
            "recolored",
            "changed",
        }

    def test_a_recolored_button_has_its_box(self) -> None:
        result = diff(a_list().button(300, 40, "Save"), a_list().button(300, 40, "Save", color="#2a74e8"))
        assert pieces_of(result) == [("recolored", (300, 40, 70, 26))]

    @pytest.mark.parametrize(("mode", "kind"), [("RGB", "PNG"), ("RGBA", "PNG"), ("RGB", "JPEG")])
    def test_another_ground_is_a_change(self, mode: str, kind: str) -> None:
        one, other = (Image.new(mode, (120, 90), color) for color in ("#ffffffee", "#11223344"))
        result = diff(one, other, kind)
        assert (result.verdict, result.pixels) == ("changed", 120 * 90)
        assert result.regions == [(0, 0, 120, 90)]


class TestWholePages:
    def test_another_font_size_is_redrawn(self) -> None:
        def page(size: int) -> Page:
            drawn = Page((480, 300))
            for row in range(8):
                words = f"The quick brown {NAMES[row]} jumps over {NAMES[row + 8]}"
                drawn.write(20, int(20 + 1.7 * size * row), words, size=size)
            return drawn

        assert diff(page(14), page(17)).is_redrawn
        assert not diff(a_list(), a_list().write(200, 44, "Paid")).is_redrawn

    def test_text_at_another_fraction_of_a_pixel_is_unchanged(self) -> None:
        assert diff(a_list(), draw_at_fraction(a_list(), 0.3, 0)).verdict == "unchanged"

    def test_transparent_images_show_what_came_in(self) -> None:
        def page() -> Page:
            return Page(ground="#0000", mode="RGBA").write_list(20, 20, NAMES[:8], color="#ff0000")

        [(kind, region)] = pieces_of(diff(page(), page().write(260, 80, "New", "#ff0000")))
        assert kind == "came"
        assert shows(region, (260, 83, 290, 95))

    def test_encoder_noise_does_not_count_and_a_word_does(self) -> None:
        one, other = (encoded(a_list().picture, "JPEG", quality=quality) for quality in (85, 70))
        assert compare(one, other).verdict == "unchanged"
        [(kind, region)] = pieces_of(diff(a_list(), a_list().write(260, 80, "New"), "JPEG", quality=85))
        assert kind == "came"
        assert shows(region, (260, 83, 290, 95), slack=8)


class TestSizes:
    def test_a_taller_page_shows_what_came_in_below(self) -> None:
        taller = a_list(NAMES[:10], size=(480, 400))
        result = diff(a_list(), taller)
        [(kind, region)] = pieces_of(result)
        assert (kind, result.pixels >= 480 * 80) == ("came", True)
        assert region[1] > 200
        assert diff(taller, a_list()).gone == [region]

    @pytest.mark.parametrize("size", [(480, 400), (520, 320)])
    def test_more_empty_ground_is_moved(self, size: tuple[int, int]) -> None:
        assert diff(a_list(), a_list(size=size)).verdict == "moved"

    @pytest.mark.parametrize("size", [(480, 400), (520, 320)])
    def test_another_color_on_a_larger_page_is_a_change(self, size: tuple[int, int]) -> None:
        assert diff(Page(), Page(size, "#000000")).verdict == "changed"

    @pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1), (2, 2), (5, 1), (1, 65_535), (65_535, 1)])
    def test_the_smallest_and_the_longest_images(self, size: tuple[int, int]) -> None:
        white, black = (Image.new("RGB", size, color) for color in ("white", "black"))
        result = diff(white, black)
        assert (result.verdict, result.pixels) == ("changed", size[0] * size[1])
        marked = Image.open(io.BytesIO(result.marked))
        assert marked.size == (min(size[0], 65_500), min(size[1], 65_500))
        assert all(Image.open(io.BytesIO(each.picture)).width <= 964 for each in result.closeups)
        assert diff(white, white).verdict == "unchanged"

    def test_images_of_different_shapes(self) -> None:
        tall, wide = Image.new("RGB", (1, 3000), "white"), Image.new("RGB", (3000, 1), "black")
        assert diff(tall, wide).verdict == "changed"
