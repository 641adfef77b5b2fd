"""What image formats start with, and where they store their size. `http/test_api_upload.py` confuses one with another."""

import base64
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image, ImageOps

from prshots.contract.formats import BY_EXT, LEADING_BYTES, format_of, pixel_size
from prshots.server.adapters.pictures.engine.decoding import DecodedPicture
from support.nasty_pictures import encoded
from support.vectors import cases


@pytest.mark.parametrize("start", [b"\xff\xd8\xff\xdb", b"\xff\xd8\xff\xe1", b"\xff\xd8\xff\xee"])
def test_every_kind_of_jpeg_is_recognized(start: bytes) -> None:
    assert BY_EXT["jpg"].matches(start.ljust(LEADING_BYTES, b"\0"))


@given(st.integers(0, 2**32 - 1))
def test_a_webp_of_any_length_is_recognized(size: int) -> None:
    assert BY_EXT["webp"].matches(b"RIFF" + size.to_bytes(4, "little") + b"WEBP")


def black(kind: str, mode: str = "RGB", size: tuple[int, int] = (123, 457), **how: Any) -> bytes:
    return encoded(Image.new(mode, size, 0), kind, **how)


def turned(orientation: int) -> Image.Exif:
    notes = Image.Exif()
    notes[ExifTags.Base.Make] = "a camera"
    notes[ExifTags.Base.Orientation] = orientation
    return notes


PICTURES = {
    "PNG": black("PNG"),
    "PNG, grey": black("PNG", "L", (1, 99_999)),
    "JPEG": black("JPEG"),
    "JPEG, progressive": black("JPEG", progressive=True),
    "JPEG, long notes": black("JPEG", icc_profile=bytes(200_000), comment=b"\xff\xc0 is no marker here"),
    "JPEG, largest": black("JPEG", "L", (65_500, 2)),
    **{f"JPEG, orientation {turn}": black("JPEG", exif=turned(turn)) for turn in range(1, 9)},
    "WebP, lossy": black("WEBP"),
    "WebP, largest": black("WEBP", size=(16_383, 2)),
    "WebP, lossless": black("WEBP", lossless=True),
    "WebP, with more": black("WEBP", "RGBA", icc_profile=bytes(100)),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_pixel_size_matches_pillow(kind: str) -> None:
    with Image.open(io.BytesIO(PICTURES[kind])) as picture:
        shown = ImageOps.exif_transpose(picture).size
    assert pixel_size(PICTURES[kind]) == shown


@pytest.mark.parametrize("kind", PICTURES)
def test_pixel_size_of_a_truncated_image_is_right_or_unknown(kind: str) -> None:
    whole = PICTURES[kind]
    said = {pixel_size(whole[:length]) for length in (*range(64), len(whole) // 2, len(whole) - 1)}
    assert said <= {None, pixel_size(whole)}


@given(
    st.sampled_from(sorted(PICTURES)),
    st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=4),
)
def test_pixel_size_of_a_broken_header_is_positive_or_unknown(
    kind: str, changes: list[tuple[int, int]]
) -> None:
    broken = bytearray(PICTURES[kind][:1000])
    for position, value in changes:
        broken[position % len(broken)] = value
    size = pixel_size(bytes(broken))
    assert size is None or min(size) > 0


@pytest.mark.parametrize("case", cases("pictures", "pictures"))
@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_an_image_has_its_type_and_the_size_that_the_service_decodes(case: dict[str, Any]) -> None:
    image = base64.b64decode(case["file"])
    image_format = format_of(image)
    assert (image_format.content_type if image_format else None) == case["type"]
    assert pixel_size(image) == (tuple(case["size"]) if case["size"] else None)
    if case["size"]:
        assert DecodedPicture(image).image.size == tuple(case["size"])
