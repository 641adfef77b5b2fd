"""Thumbnails of real images, and of files that only look like images."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from prshots.contract.errors import PictureError, PictureTooLargeError
from prshots.server.adapters.pictures.engine import thumbnail_rendering
from prshots.server.adapters.pictures.engine.decoding import MAX_PIXELS, open_image
from prshots.server.adapters.pictures.engine.thumbnail_rendering import MAX_BYTES, MAX_SIDE, render_thumbnail
from support.nasty_pictures import encoded, png_chunk

WHITE, RED, BLUE = (255, 255, 255), (255, 0, 0), (0, 0, 255)
ORIENTATION = 0x0112


def a_page(width: int = 1280, height: int = 800) -> Image.Image:
    """Draw something like a screenshot: a bar, lines of text, boxes."""
    page = Image.new("RGB", (width, height), WHITE)
    draw = ImageDraw.Draw(page)
    draw.rectangle((0, 0, width, 48), fill="#24292f")
    for line in range(80, height, 24):
        draw.text(
            (40, line), f"line {line}: the quick brown fox jumps over the lazy dog " * 3, fill="#57606a"
        )
    draw.rectangle((width // 2, 120, width - 40, 300), fill="#ddf4ff", outline="#0969da")
    return page


def halves(size: tuple[int, int] = (200, 100)) -> Image.Image:
    """Paint the left half red and the right half blue."""
    picture = Image.new("RGB", size, RED)
    picture.paste(BLUE, (size[0] // 2, 0, *size))
    return picture


def gray_steps(mode: str) -> Image.Image:
    """Draw a gradient from black on the left to white on the right, in the given mode."""
    steps = Image.linear_gradient("L").rotate(90).resize((512, 256))
    if mode != "I;16":
        return steps.convert(mode, dither=Image.Dither.NONE)
    return steps.convert("I").point(lambda gray: gray * 257).convert("I;16")


def thumbnail_of(data: bytes) -> Image.Image:
    """Return the decoded thumbnail, after the checks that apply to every thumbnail."""
    thumbnail = render_thumbnail(data)
    assert len(thumbnail) <= MAX_BYTES
    decoded = Image.open(io.BytesIO(thumbnail), formats=["WEBP"])
    decoded.load()
    assert max(decoded.size) <= MAX_SIDE
    return decoded


def is_close(got: object, expected: tuple[int, ...]) -> bool:
    assert isinstance(got, tuple)
    return all(abs(one - other) < 24 for one, other in zip(got, expected, strict=True))


KINDS = ("JPEG", "PNG", "WEBP")


@cache
def small_page_as(kind: str) -> bytes:
    return encoded(a_page().resize((64, 48)), kind, **({"exif": Image.Exif()} if kind == "JPEG" else {}))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((1, 1), (1, 1)),
        ((300, 200), (300, 200)),
        ((480, 480), (480, 480)),
        ((481, 480), (480, 479)),
        ((20_000, 10), (480, 1)),
        ((10, 20_000), (10, 22)),
        ((1280, 12_000), (218, 480)),
        ((2500, 3500), (343, 480)),
    ],
)
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_thumbnail_fits_and_is_never_enlarged(
    kind: str, size: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert thumbnail_of(encoded(Image.new("RGB", size, RED), kind)).size == expected


def test_a_large_jpeg_is_decoded_at_a_reduced_size() -> None:
    picture = open_image(encoded(a_page(5000, 4000), "JPEG"))
    thumbnail_rendering._decode(picture, 1, thumbnail_rendering.MAX_TALLNESS)
    assert picture.size == (1250, 1000)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize("size", [(960, 600), (470, 470)])
def test_noise_fits_the_limit_in_bytes(mode: str, size: tuple[int, int]) -> None:
    noise = Image.merge(mode, [Image.effect_noise(size, 100) for _ in mode])
    assert min(thumbnail_of(encoded(noise)).size) >= 100


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_a_png_of_any_color_mode_keeps_its_colors(mode: str) -> None:
    thumbnail = thumbnail_of(encoded(gray_steps(mode)))
    assert thumbnail.size == (480, 240)
    assert is_close(thumbnail.getpixel((0, 120)), (0, 0, 0))
    assert is_close(thumbnail.resize((3, 1), Image.Resampling.BOX).getpixel((1, 0)), (128, 128, 128))
    assert is_close(thumbnail.getpixel((479, 120)), WHITE)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "I;16"])
def test_a_transparent_color_stays_transparent_in_any_png_mode(mode: str) -> None:
    black = (0, 0, 0) if mode == "RGB" else 0
    thumbnail = thumbnail_of(encoded(gray_steps(mode), transparency=black))
    assert thumbnail.getpixel((0, 120))[3] < 24
    assert is_close(thumbnail.getpixel((479, 120)), (*WHITE, 255))


def test_a_png_with_16_bits_per_channel_keeps_its_colors() -> None:
    row = b"\0" + struct.pack(">3H", 65535, 32768, 0) * 8
    assert is_close(thumbnail_of(a_png(8, 8, 16, 2, zlib.compress(row * 8))).getpixel((4, 4)), (255, 128, 0))


@pytest.mark.parametrize("side", [400, 2000])
def test_transparent_areas_stay_transparent_and_do_not_tint_edges(side: int) -> None:
    picture = Image.new("RGBA", (side, side), (0, 255, 0, 0))
    picture.paste((*RED, 255), (side // 2 + 1, 0, side, side))
    thumbnail = thumbnail_of(encoded(picture)).convert("RGBA")
    row = [thumbnail.getpixel((column, 100)) for column in range(thumbnail.width)]
    assert row[0][3] == 0
    assert is_close(row[-1], (*RED, 255))
    assert not any(green > 40 and alpha > 40 for _, green, _, alpha in row)


def test_a_cmyk_jpeg_keeps_its_colors() -> None:
    thumbnail = thumbnail_of(encoded(halves((2000, 1000)).convert("CMYK"), "JPEG", progressive=True))
    assert is_close(thumbnail.getpixel((100, 100)), RED)
    assert is_close(thumbnail.getpixel((400, 100)), BLUE)


STORED_AS = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("orientation", STORED_AS)
def test_the_exif_orientation_is_applied(kind: str, orientation: int) -> None:
    upright = Image.new("RGB", (400, 4000), BLUE)  # the thumbnail must show its top
    upright.paste(RED, (0, 0, 200, 440))
    upright.paste(WHITE, (200, 0, 400, 440))
    how = STORED_AS[orientation]
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    thumbnail = thumbnail_of(encoded(upright.transpose(how) if how is not None else upright, kind, exif=exif))
    assert thumbnail.size == (218, 480)
    corners = [(20, 20), (198, 20), (20, 460), (198, 460)]
    for corner, color in zip(corners, (RED, WHITE, BLUE, BLUE), strict=True):
        assert is_close(thumbnail.getpixel(corner), color)


@pytest.mark.parametrize(
    "exif", [b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0" + bytes(64)]
)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF data", "ignore:Possibly corrupt EXIF")
def test_invalid_exif_data_is_ignored(exif: bytes) -> None:
    assert thumbnail_of(encoded(halves(), "JPEG", exif=exif)).size == (200, 100)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_an_animation_shows_its_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (640, 480), color) for color in (RED, BLUE)]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)
    assert is_close(thumbnail_of(data).getpixel((100, 100)), RED)


def a_png(width: int, height: int, bits: int, color: int, pixels: bytes) -> bytes:
    """Build a PNG byte by byte, so that its header can claim anything."""
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    chunks = {b"IHDR": header, b"IDAT": pixels, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(kind, content) for kind, content in chunks.items())


def a_webp(width: int, height: int) -> bytes:
    """Take a real WebP, and change the size in its header."""
    real = encoded(Image.new("RGB", (8, 8)), "WEBP", lossless=True)
    at = real.index(b"VP8L") + 9
    size = (width - 1) | (height - 1) << 14
    return real[:at] + struct.pack("<I", size) + real[at + 4 :]


def a_jpeg(width: int, height: int) -> bytes:
    real = encoded(Image.new("RGB", (8, 8)), "JPEG")
    at = real.index(b"\xff\xc0") + 5
    return real[:at] + struct.pack(">HH", height, width) + real[at + 4 :]


@pytest.mark.parametrize(
    "make",
    [
        lambda: encoded(Image.new("1", (16_000, 16_000))),
        lambda: encoded(Image.new("L", (65_536, 1))),
        lambda: encoded(Image.new("L", (1, 65_536))),
        lambda: a_webp(MAX_PIXELS["webp"] // 10_000 + 1, 10_000),
        lambda: a_jpeg(MAX_PIXELS["jpg"] // 10_000 + 1, 10_000),
    ],
    ids=["bomb", "wide", "tall", "WebP", "JPEG"],
)
def test_an_image_with_too_many_pixels_is_refused_by_its_header(make: Callable[[], bytes]) -> None:
    data = make()
    assert len(data) < 50_000
    with pytest.raises(PictureTooLargeError, match="pixels"):
        render_thumbnail(data)


def test_a_png_is_decoded_up_to_the_pixel_limit() -> None:
    width = 2560
    height = MAX_PIXELS["png"] // width
    assert thumbnail_of(encoded(Image.new("P", (width, height)), compress_level=1)).size == (218, 480)
    with pytest.raises(PictureTooLargeError, match="pixels"):
        render_thumbnail(a_png(width, height + 1, 8, 0, b""))


NOT_IMAGES = {
    "empty": b"",
    "PNG signature only": b"\x89PNG\r\n\x1a\n",
    "JPEG signature only": b"\xff\xd8\xff",
    "JPEG of zeros": b"\xff\xd8\xff\xe0" + bytes(1000),
    "WebP signature only": b"RIFF\x00\x00\x00\x00WEBP",
    "WebP of zeros": b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(100),
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "PNG of 0 x 0 pixels": a_png(0, 0, 8, 2, b""),
    "PNG without pixels": a_png(100, 100, 8, 2, b""),
    "PNG with uncompressed pixels": a_png(100, 100, 8, 2, b"not compressed"),
    "PNG with too few pixels": a_png(100, 100, 8, 2, zlib.compress(bytes(10))),
    "PNG with an invalid color type": a_png(100, 100, 7, 5, zlib.compress(bytes(40_000))),
    "GIF": encoded(halves(), "GIF"),
}


@pytest.mark.parametrize("data", NOT_IMAGES.values(), ids=NOT_IMAGES)
def test_a_file_that_is_not_a_supported_image_is_refused(data: bytes) -> None:
    with pytest.raises(PictureError):
        render_thumbnail(data)


@pytest.mark.parametrize("kind", KINDS)
def test_half_an_image_is_refused(kind: str) -> None:
    whole = encoded(a_page(), kind)
    with pytest.raises(PictureError):
        render_thumbnail(whole[: len(whole) // 2])


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Return an image that is cut off, has flipped bits, or goes on with random bytes."""
    whole = small_page_as(draw(st.sampled_from(KINDS)))
    damaged = bytearray(whole[: draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    # Often flip only bits near the start: the headers are there.
    last = draw(st.sampled_from([60, len(whole) - 1]))
    for at, bits in draw(st.lists(st.tuples(st.integers(0, last), st.integers(1, 255)), max_size=4)):
        if at < len(damaged):
            damaged[at] ^= bits
    return bytes(damaged) + draw(st.just(b"") | st.binary(max_size=200))


@given(damaged_files())
def test_a_damaged_file_is_rendered_or_refused(data: bytes) -> None:
    """The only error allowed is `PictureError`."""
    try:
        thumbnail = render_thumbnail(data)
    except PictureError:
        return
    assert len(thumbnail) <= MAX_BYTES


@pytest.mark.parametrize(
    ("tallness", "size"), [(0.625, (480, 300)), (2.2, (218, 480)), (99, (218, 480)), (0.0001, (480, 1))]
)
def test_a_long_page_is_cropped_to_the_given_tallness(tallness: float, size: tuple[int, int]) -> None:
    page = Image.new("RGB", (1280, 5200), "white")
    page.paste("red", (0, 0, 1280, 400))
    thumbnail = Image.open(io.BytesIO(render_thumbnail(encoded(page), tallness)))
    assert thumbnail.size == size
    red, green, _ = thumbnail.convert("RGB").getpixel((100, 0))
    assert red > 200 > green
