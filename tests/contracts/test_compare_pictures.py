"""The picture workers' comparison: its result for a pair of images, and its errors for images that it refuses."""

import asyncio
import gc
import hashlib
import io
import math
import struct
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image, ImageChops, ImageDraw

from prshots.contract.errors import (
    DamagedPictureError,
    PictureError,
    PictureTooLargeError,
    UnsupportedPictureError,
)
from prshots.server.adapters.pictures.workers import pool as workers_pool
from prshots.server.adapters.pictures.workers.pool import COMPARING, PictureWorkers
from prshots.server.domain.comparison.models import PairResult
from prshots.server.domain.comparison.ports import ComparePictures
from support import nasty_picture_worker
from support.nasty_pictures import encoded, jpeg_of_kind, jpeg_with_scans
from support.open_files import open_files
from support.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

WIDTH, HEIGHT = 160, 120


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[PictureWorkers]:
    pool = PictureWorkers(COMPARING)
    yield pool
    await pool.close()


@pytest.fixture(scope="module")
def compare(workers: PictureWorkers) -> ComparePictures:
    return workers.compare


def page(
    boxes: dict[tuple[int, int, int, int], str], mode: str = "RGB", ground: str = "white"
) -> Image.Image:
    picture = Image.new(mode, (WIDTH, HEIGHT), ground)
    draw = ImageDraw.Draw(picture)
    for (left, top, width, height), color in boxes.items():
        draw.rectangle((left, top, left + width - 1, top + height - 1), fill=color)
    return picture


HEADER, BUTTON, FOOTER = (0, 0, WIDTH, 10), (40, 50, 40, 20), (0, 110, WIDTH, 10)
PAGE = page({HEADER: "navy", BUTTON: "#1f6feb", FOOTER: "gray"})
PIXELS = hashlib.sha256(struct.pack(">II", *PAGE.size) + PAGE.convert("RGBA").tobytes()).hexdigest()


async def test_the_same_pixels_in_other_bytes_are_unchanged(compare: ComparePictures) -> None:
    png = encoded(PAGE, "PNG")
    palette = PAGE.quantize(16, dither=Image.Dither.NONE)
    exif = Image.Exif()
    exif[0x0112] = 6
    for other in (
        encoded(PAGE, "PNG", compress_level=1),
        encoded(PAGE, "WEBP", lossless=True),
        encoded(PAGE.convert("RGBA"), "PNG"),
        encoded(palette, "PNG"),
        encoded(PAGE.transpose(Image.Transpose.ROTATE_90), "PNG", exif=exif),
    ):
        assert other != png
        assert await compare(png, other) == PairResult("unchanged", pixels_before=PIXELS, pixels_after=PIXELS)
    jpeg = await compare(png, encoded(PAGE, "JPEG", quality=90))
    assert jpeg.verdict == "unchanged"
    assert jpeg.pixels_after not in {"", PIXELS}


async def test_an_image_with_the_known_pixels_of_the_other_is_unchanged(compare: ComparePictures) -> None:
    """The other is not even decoded."""
    found = await compare(b"not decoded", encoded(PAGE, "PNG"), PIXELS)
    assert found == PairResult("unchanged", pixels_before=PIXELS, pixels_after=PIXELS)
    other = await compare(encoded(PAGE, "PNG"), encoded(page({}), "PNG"), PIXELS)
    assert (other.verdict, other.pixels_before) == ("changed", PIXELS)


async def test_pixels_are_identified_without_the_hidden_color_of_transparent_ones(
    workers: PictureWorkers,
) -> None:
    assert await workers.identify(encoded(PAGE, "PNG")) == PIXELS
    hidden = [PAGE.convert("RGBA") for _ in range(3)]
    for picture, color in zip(hidden, ("#ff000000", "#00ff0000", "#00ff0001"), strict=True):
        picture.paste(color, (40, 50, 80, 70))
    found = [await workers.identify(encoded(picture, "PNG")) for picture in hidden]
    assert found[0] == found[1] != found[2]
    with pytest.raises(DamagedPictureError):
        await workers.identify(encoded(PAGE, "PNG")[:-40])


async def test_a_recolored_box_is_changed_and_marked(compare: ComparePictures) -> None:
    recolored = page({HEADER: "navy", BUTTON: "#2a74e8", FOOTER: "gray"})
    result = await compare(encoded(PAGE, "PNG"), encoded(recolored, "PNG"))
    assert (result.verdict, result.pixels, result.shift) == ("changed", 40 * 20, 0)
    assert list(result.regions) == [BUTTON]
    marked = Image.open(io.BytesIO(result.marked))
    assert (marked.format, marked.size) == ("JPEG", (WIDTH, HEIGHT))
    (closeup,) = result.closeups
    shown = Image.open(io.BytesIO(closeup.picture)).convert("RGB")
    assert (closeup.region, shown.height) == (BUTTON, HEIGHT)
    assert [shown.getpixel((x, 60)) for x in (60, shown.width - WIDTH + 60)] == [
        (31, 111, 235),
        (42, 116, 232),
    ]


async def test_images_of_different_widths_are_changed(compare: ComparePictures) -> None:
    wider = Image.new("RGB", (WIDTH + 20, HEIGHT), "white")
    wider.paste(PAGE)
    narrow, wide = encoded(PAGE, "PNG"), encoded(wider, "PNG")
    assert (await compare(narrow, wide)).regions == [(WIDTH, 0, 20, HEIGHT)]
    for pair in ((narrow, wide), (wide, narrow)):
        assert (await compare(*pair)).verdict == "changed"
    longer = Image.new("RGB", (WIDTH + 20, HEIGHT + 5), "orange")
    longer.paste(wider)
    assert (await compare(narrow, encoded(longer, "PNG"))).pixels == 20 * HEIGHT + 5 * (WIDTH + 20)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
async def test_every_kind_of_pixel_is_compared(compare: ComparePictures, mode: str) -> None:
    black = page({BUTTON: "black"}, "L")
    empty = page({}, "L")
    if mode == "I;16":
        pictures = [
            picture.convert("I").point(lambda gray: gray * 257).convert("I;16") for picture in (black, empty)
        ]
    else:
        pictures = [picture.convert(mode) for picture in (black, empty)]
    one, other = (encoded(picture, "JPEG" if mode == "CMYK" else "PNG") for picture in pictures)
    assert (await compare(one, one)).verdict == "unchanged"
    removed, added = await compare(one, other), await compare(other, one)
    assert (removed.verdict, removed.regions, added.verdict, added.gone) == ("changed", [], "changed", [])
    for [(left, top, width, height)] in (removed.gone, added.regions):
        assert abs(left - 40) + abs(top - 50) + abs(width - 40) + abs(height - 20) <= (
            8 if mode == "CMYK" else 0
        )


async def test_at_most_50_regions_cover_all_changes(compare: ComparePictures) -> None:
    dots = {(x, y, 4, 4): "black" for x in range(4, WIDTH, 24) for y in range(4, HEIGHT, 24)}
    many = Image.new("RGB", (4 * WIDTH, 4 * HEIGHT), "white")
    for x in range(0, many.width, WIDTH):
        for y in range(0, many.height, HEIGHT):
            many.paste(page(dots), (x, y))
    result = await compare(encoded(Image.new("RGB", many.size, "white"), "PNG"), encoded(many, "PNG"))
    assert result.verdict == "changed"
    assert 1 <= len(result.regions) <= 50
    assert result.pixels == 16 * len(dots) * 16
    assert sum(width * height for _, _, width, height in result.regions) >= result.pixels


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (b"\x89PNG\r\n\x1a\nrest", DamagedPictureError),
        (encoded(PAGE, "PNG")[:-60], DamagedPictureError),
        (encoded(PAGE, "JPEG")[:300], DamagedPictureError),
        (jpeg_of_kind(0xC9), UnsupportedPictureError),
        (jpeg_with_scans(350), PictureTooLargeError),
        (encoded(Image.new("1", (40_000, 2_000)), "PNG"), PictureTooLargeError),
    ],
    ids=["no PNG", "cut PNG", "cut JPEG", "arithmetic coding", "scans", "pixels"],
)
async def test_broken_images_and_bombs_are_refused_on_either_side(
    compare: ComparePictures, broken: bytes, error: type[PictureError]
) -> None:
    good = encoded(PAGE, "PNG")
    for pair in ((good, broken), (broken, good)):
        with pytest.raises(error):
            await compare(*pair)
    assert (await compare(good, good)).verdict == "unchanged"


@pytest.mark.slow
async def test_a_pattern_of_thousands_of_equal_icons_is_compared_within_the_limits(
    compare: ComparePictures,
) -> None:
    """A comparison of each with each would take minutes, and a job has 30 seconds of processor time."""
    icon = page({(0, 0, 10, 10): "black", (2, 3, 5, 3): "white"}).crop((0, 0, 10, 10))
    pattern = Image.new("RGB", (2000, 2000), "white")
    for left in range(8, 1980, 18):
        for top in range(8, 1980, 18):
            pattern.paste(icon, (left, top))
    moved = ImageChops.offset(pattern, 9, 7)
    assert (await compare(encoded(pattern, "PNG"), encoded(moved, "PNG"))).verdict in {"changed", "moved"}


@pytest.mark.parametrize("is_started", [False, True], ids=["starting", "comparing"])
async def test_a_job_that_is_cancelled_again_and_again_leaves_no_descriptor(
    is_started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replaced comparison cancels its jobs, and cancels them again while their workers are being killed."""
    started, start = threading.Event(), workers_pool._start_process

    def start_and_tell(*given: Any) -> Any:
        try:
            return start(*given)
        finally:
            started.set()

    monkeypatch.setattr(workers_pool, "_start_process", start_and_tell)
    pool = PictureWorkers(COMPARING, (sys.executable, "-P", nasty_picture_worker.__file__))
    gc.collect()  # earlier tests' files count neither before nor after
    before = open_files()
    if is_started:
        await pool.run("pid", b"")
    job = asyncio.create_task(pool.run("wait", b""))
    while not job.done():
        await asyncio.sleep(0)
        job.cancel()
    assert job.cancelled()
    await pool.close()
    await asyncio.to_thread(started.wait)  # the cancelled job didn't
    await eventually(lambda: open_files() <= before, "its descriptors to be closed")


@pytest.mark.slow
async def test_the_longest_side_can_be_marked(compare: ComparePictures) -> None:
    tall, other = (Image.new("RGB", (8, 65_535), color) for color in ("white", "black"))
    result = await compare(encoded(tall, "PNG"), encoded(other, "PNG"))
    assert (result.verdict, result.pixels) == ("changed", 8 * 65_535)
    assert Image.open(io.BytesIO(result.marked)).size == (8, 65_500)


@pytest.mark.nightly
async def test_the_largest_images_fit_into_the_memory(compare: ComparePictures) -> None:
    light, dark = (Image.new("RGBA", (5000, 8000), color) for color in ("#fffe", "#1234"))
    small = [picture.crop((0, 0, 4000, 5000)) for picture in (light, dark)]
    for kind, pictures, options in (
        ("PNG", (light, dark), {"compress_level": 1}),
        ("JPEG", [picture.convert("CMYK") for picture in (light, dark)], {"progressive": True}),
        ("WEBP", small, {"method": 0}),
    ):
        before, after = (encoded(picture, kind, **options) for picture in pictures)
        result = await compare(before, after)
        assert (result.verdict, result.pixels) == ("changed", math.prod(pictures[0].size)), kind
