"""The marked difference: the after image, pale, with its pieces in color."""

import io

from PIL import Image

from prshots.server.domain.comparison.models import PairResult
from support.page_canvas import NAMES, Page, diff

MAGENTA, BLUE = (214, 0, 110), (9, 105, 218)


def a_page() -> Page:
    return Page().write_list(20, 20, NAMES[:10])


def marked(result: PairResult) -> Image.Image:
    picture = Image.open(io.BytesIO(result.marked))
    assert picture.format == "JPEG"
    return picture


def is_near(color: tuple[int, int, int], expected: tuple[int, int, int]) -> bool:
    return all(abs(one - other) <= 24 for one, other in zip(color, expected, strict=True))


def test_new_content_keeps_its_colors_in_a_blue_outline() -> None:
    picture = marked(diff(a_page(), a_page().fill((300, 100, 380, 140), "#cf222e")))
    assert picture.size == (480, 320)
    assert is_near(picture.getpixel((340, 120)), (207, 34, 46))
    assert is_near(picture.getpixel((296, 120)), BLUE)
    assert is_near(picture.getpixel((340, 143)), BLUE)
    assert is_near(picture.getpixel((400, 120)), (240, 240, 240))


def test_changed_pixels_are_tinted_in_a_magenta_outline() -> None:
    before, after = (a_page().photo(300, 100, 40, seed=seed) for seed in (1, 2))
    picture = marked(diff(before, after))
    assert is_near(picture.getpixel((296, 120)), MAGENTA)
    colors = [picture.getpixel((x, 120)) for x in range(302, 338)]
    assert sum(red > green for red, green, _ in colors) > 25


def test_a_line_shows_where_something_is_gone() -> None:
    picture = marked(diff(a_page().fill((300, 100, 380, 140), "#cf222e"), a_page()))
    assert any(is_near(picture.getpixel((340, y)), BLUE) for y in range(96, 104))
    assert is_near(picture.getpixel((340, 120)), (240, 240, 240))


def test_moved_content_is_pale() -> None:
    result = diff(a_page().button(300, 40, "Save"), a_page().button(300, 200, "Save"))
    assert all(max(color) - min(color) < 12 for _, color in marked(result).getcolors(480 * 320))


def test_an_unchanged_pair_has_none() -> None:
    assert diff(a_page(), a_page()).marked == b""
