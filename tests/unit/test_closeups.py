"""The close-ups of a comparison: which pieces they show, how large, and what is beside each other."""

import io

import pytest
from PIL import Image

from prshots.server.adapters.pictures.engine.closeups import MAX_CLOSEUPS, MAX_HEIGHT, MAX_WIDTH
from prshots.server.domain.comparison.models import PairResult, PartPicture
from support.page_canvas import NAMES, Page, diff

OUTLINE, BEYOND = (0x57, 0x60, 0x6A), (0xD0, 0xD7, 0xDE)
RED = (207, 34, 46)


def a_page(size: tuple[int, int] = (1000, 900)) -> Page:
    return Page(size).write_list(20, 20, NAMES, 40)


def halves(closeup: PartPicture) -> tuple[Image.Image, Image.Image]:
    shown = Image.open(io.BytesIO(closeup.picture)).convert("RGB")
    assert shown.width <= 964
    width = (shown.width - 4) // 2
    return shown.crop((0, 0, width, shown.height)), shown.crop((width + 4, 0, 2 * width + 4, shown.height))


def kinds_shown(result: PairResult) -> list[str]:
    return [result.pieces[closeup.pieces[0]].kind for closeup in result.closeups]


def has_color(half: Image.Image, color: tuple[int, int, int]) -> bool:
    return color in {found for _, found in half.getcolors(half.width * half.height)}


def test_both_halves_show_the_same_place_and_the_outline_covers_nothing() -> None:
    pages = a_page().button(500, 600, "Save"), a_page().button(500, 600, "Save", "#2a74e8")
    [closeup] = diff(*pages).closeups
    assert (closeup.region, [*closeup.pieces]) == ((500, 600, 70, 26), [0])
    for half, page in zip(halves(closeup), pages, strict=True):
        assert half.size == (370, 146)  # 150 columns and 60 rows around it
        cut = page.picture.crop((350, 540, 720, 686))
        inside, above = (148, 58, 222, 88), (0, 0, 370, 54)
        assert half.crop(inside).tobytes() == cut.crop(inside).tobytes()
        assert half.crop(above).tobytes() == cut.crop(above).tobytes()
        assert half.getpixel((145, 75)) == OUTLINE
        assert half.getpixel((146, 75)) == (255, 255, 255)


def test_the_before_side_follows_the_move() -> None:
    before, same = (a_page().write(500, 380, total) for total in ("Total 128.50", "Total 128.60"))
    after = Page((1000, 950), "#fff8c5")
    after.picture.paste(same.picture, (0, 50))
    result = diff(before, after)
    [closeup] = [each for each in result.closeups if result.pieces[each.pieces[0]].kind == "changed"]
    old, new = halves(closeup)
    for rows in ((0, 0, old.width, 50), (0, 90, old.width, old.height)):
        assert old.crop(rows).tobytes() == new.crop(rows).tobytes()
    assert old.tobytes() != new.tobytes()


def test_content_that_came_or_went_is_in_one_half() -> None:
    pages = a_page(), a_page().fill((500, 300, 540, 330), "#cf222e")
    for pair, expected in ((pages, [False, True]), (pages[::-1], [True, False])):
        [closeup] = diff(*pair).closeups
        assert [has_color(half, RED) for half in halves(closeup)] == expected


def test_pieces_near_each_other_share_a_closeup() -> None:
    after = a_page().fill((500, 300, 520, 320), "#cf222e").fill((540, 345, 560, 365), "#cf222e")
    after.write(900, 800, "New")
    result = diff(a_page(), after)
    shown = sorted(number for closeup in result.closeups for number in closeup.pieces)
    assert shown == [*range(len(result.pieces))]
    assert len(result.closeups) == 2
    assert result.closeups[0].region == (500, 300, 60, 65)


def test_at_most_six_the_largest_first_and_one_of_each_kind() -> None:
    before, after = a_page((1000, 1700)), a_page((1000, 1700))
    for number in range(8):
        top = 60 + number * 200
        after.photo(500, top, 40 + number, seed=number)
        for page in (before, after):
            page.write(490, top + 100, "The same words")
    before.write(900, 60, "x", "#cf222e")
    result = diff(before, after)
    assert len(result.pieces) == 9
    assert len(result.closeups) == MAX_CLOSEUPS == 6
    assert sorted(kinds_shown(result)) == ["came"] * 5 + ["gone"]
    for closeup in result.closeups:
        left, top, width, height = closeup.region
        boxes = [
            result.pieces[number].box for number in closeup.pieces if result.pieces[number].kind != "gone"
        ]
        assert all(
            left <= x and top <= y and x + w <= left + width and y + h <= top + height for x, y, w, h in boxes
        )
    sizes = [closeup.region[2] for closeup in result.closeups if closeup.region[3]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((1000, 900), (10, 10, 890, 700)),
        ((3000, 60), (10, 10, 2890, 40)),
        ((60, 3000), (10, 10, 40, 2900)),
        ((480, 4), (0, 0, 480, 4)),
        ((4, 480), (0, 0, 4, 480)),
    ],
)
def test_a_large_piece_is_scaled_down(size: tuple[int, int], box: tuple[int, int, int, int]) -> None:
    [closeup] = diff(Page(size), Page(size).fill(box, "#1f6feb")).closeups
    before, after = halves(closeup)
    assert before.size == after.size
    assert after.width <= MAX_WIDTH
    assert after.height <= MAX_HEIGHT
    middle = after.width // 2, after.height // 2
    assert (before.getpixel(middle), after.getpixel(middle)) == ((255, 255, 255), (31, 111, 235))


def test_beyond_the_edge_of_a_shorter_image_is_gray() -> None:
    taller = a_page((1000, 1000)).fill((500, 960, 540, 990), "#cf222e")
    [closeup] = diff(a_page(), taller).closeups
    old, new = halves(closeup)
    assert [has_color(half, BEYOND) for half in (old, new)] == [True, False]


def test_transparent_images_are_shown_on_white() -> None:
    pages = [Page((400, 300), "#0000", "RGBA") for _ in range(2)]
    pages[1].fill((180, 140, 220, 160), "#1f6febff")
    [closeup] = diff(*pages).closeups
    assert [half.getpixel((5, 5)) for half in halves(closeup)] == [(255, 255, 255)] * 2
