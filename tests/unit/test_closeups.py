"""The close-ups of a comparison: which regions they show, how large, and what is beside each other."""

import io

import pytest
from PIL import Image

from prshots.server.adapters.pictures.engine.closeups import MAX_HEIGHT, MAX_WIDTH
from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.domain.comparison.models import PartPicture
from support.nasty_pictures import encoded

Box = tuple[int, int, int, int]
GROUND = "#f6f8fa"


def a_page(*boxes: Box, size: tuple[int, int] = (1000, 1200), color: str = "#1f6feb") -> Image.Image:
    """Return a page with a line every 7 px, so that every row of it can be recognized."""
    page = Image.new("RGB", size, GROUND)
    for top in range(0, size[1], 7):
        page.paste((top % 256, top // 256, 90), (0, top, 300, top + 1))
    for box in boxes:
        page.paste(color, box)
    return page


def closeups(before: Image.Image, after: Image.Image) -> list[PartPicture]:
    return list(compare(encoded(before, "PNG"), encoded(after, "PNG")).closeups)


def halves(closeup: PartPicture) -> tuple[Image.Image, Image.Image]:
    shown = Image.open(io.BytesIO(closeup.picture)).convert("RGB")
    assert shown.width <= 960
    width = (shown.width - 4) // 2
    return shown.crop((0, 0, width, shown.height)), shown.crop((width + 4, 0, 2 * width + 4, shown.height))


def test_a_closeup_shows_the_same_region_of_both_and_its_outline_hides_nothing() -> None:
    button = (500, 600, 600, 630)
    pictures = a_page(), a_page(button)
    (closeup,) = closeups(*pictures)
    assert closeup.region == (500, 600, 100, 30)
    for half, picture in zip(halves(closeup), pictures, strict=True):
        assert half.size == (400, 150)
        cut = picture.crop((350, 540, 750, 690))
        assert half.crop((147, 57, 253, 93)).tobytes() == cut.crop((147, 57, 253, 93)).tobytes()
        assert half.crop((0, 0, 400, 55)).tobytes() == cut.crop((0, 0, 400, 55)).tobytes()
        assert half.getpixel((145, 75)) == (87, 96, 106)  # the outline
        assert half.getpixel((146, 75)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("boxes", "regions"),
    [
        ([(500, 600, 520, 620), (600, 640, 620, 660)], [(500, 600, 120, 60)]),  # nearby ones are joined
        (
            [(10, 10, 90, 40), (900, 100, 990, 160), (10, 500, 80, 530), (900, 900, 970, 950)],
            [(900, 100, 90, 60), (900, 900, 70, 50), (10, 10, 80, 30)],  # the three largest
        ),
        ([(0, 0, 1000, 300)], []),  # a quarter of the picture
    ],
)
def test_at_most_three_regions_are_shown(boxes: list[Box], regions: list[Box]) -> None:
    assert [closeup.region for closeup in closeups(a_page(), a_page(*boxes))] == regions


def test_a_region_that_is_too_large_is_scaled_down() -> None:
    (closeup,) = closeups(a_page(), a_page((100, 400, 900, 700)))
    before, after = halves(closeup)
    assert before.size == after.size
    assert MAX_WIDTH - 2 <= after.width <= MAX_WIDTH
    assert after.height <= MAX_HEIGHT
    assert (before.getpixel((240, after.height // 2)), after.getpixel((240, after.height // 2))) == (
        (246, 248, 250),
        (31, 111, 235),
    )


def test_after_a_shift_the_before_side_shows_the_same_rows() -> None:
    before = a_page()
    after = Image.new("RGB", (1000, 1250), GROUND)
    after.paste(before.crop((0, 0, 1000, 200)))
    after.paste("#fff8c5", (0, 200, 1000, 250))
    after.paste(before.crop((0, 200, 1000, 1200)), (0, 250))
    after.paste("#cf222e", (250, 850, 290, 880))  # at 800 before
    changed, inserted = closeups(before, after)
    assert (changed.region, inserted.region[1::2]) == ((250, 850, 40, 30), (200, 50))
    left, right = halves(changed)
    assert left.crop((0, 0, left.width, 50)).tobytes() == right.crop((0, 0, left.width, 50)).tobytes()
    left, right = halves(inserted)
    colors = [{half.getpixel((20, row)) for row in range(half.height)} for half in (left, right)]
    assert [(255, 248, 197) in each for each in colors] == [False, True]
    removed = closeups(after, before)[-1]
    assert removed.region[3] == 2
    left, right = halves(removed)
    assert {left.getpixel((20, row)) for row in range(left.height)} >= {(255, 248, 197)}


def test_transparent_images_are_shown_on_white() -> None:
    pictures = [Image.new("RGBA", (400, 300), (0, 0, 0, 0)) for _ in range(2)]
    pictures[1].paste("#1f6febff", (180, 140, 220, 160))
    (closeup,) = closeups(*pictures)
    assert [half.getpixel((5, 5)) for half in halves(closeup)] == [(255, 255, 255)] * 2
