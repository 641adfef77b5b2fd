"""What is refused before it is decoded: small files that would cost a decoder minutes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from prshots.contract.errors import PictureError, PictureTooLargeError, UnsupportedPictureError
from prshots.server.adapters.pictures.checks import MAX_CHUNKS, MAX_SCANS, MAX_SEGMENTS, check_structure
from prshots.server.adapters.pictures.thumbnail_rendering import render_thumbnail
from support.nasty_pictures import (
    animated,
    encoded,
    jpeg_of_kind,
    jpeg_with_scans,
    jpeg_with_segments,
    png_with_chunks,
    png_with_profile_bomb,
    png_with_text_bombs,
)

PICTURE = Image.linear_gradient("L").convert("RGB")
ORDINARY = {
    "PNG": encoded(PICTURE, "PNG"),
    "JPEG": encoded(PICTURE, "JPEG"),
    "progressive JPEG": encoded(PICTURE, "JPEG", progressive=True, icc_profile=bytes(1_000_000)),
    "JPEG with restarts": encoded(PICTURE, "JPEG", restart_marker_blocks=1),
    "CMYK JPEG": encoded(PICTURE.convert("CMYK"), "JPEG"),
    "WebP": encoded(PICTURE, "WEBP"),
    "lossless WebP": encoded(PICTURE, "WEBP", lossless=True),
    "animated PNG": animated("PNG", 100),
    "animated WebP": animated("WEBP", 100),
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_image_passes(kind: str) -> None:
    check_structure(ORDINARY[kind])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (jpeg_with_scans(350), "more than 50 scans"),
        (jpeg_with_scans(MAX_SCANS + 1), "more than 50 scans"),
        (jpeg_with_segments(260_000), "more than 1000 segments"),
        (png_with_chunks(MAX_CHUNKS), "more than 10,000 chunks"),
        (png_with_chunks(MAX_CHUNKS, b"tEXt", b"Comment\0"), "more than 10,000 chunks"),
        (animated("WEBP", MAX_CHUNKS), "more than 10,000 chunks"),
    ],
    ids=["23 KB JPEG", "scans", "segments", "pixels", "texts", "frames"],
)
def test_an_expensive_image_is_refused_before_it_is_decoded(data: bytes, words: str) -> None:
    with pytest.raises(PictureTooLargeError, match=words):
        check_structure(data)
    with pytest.raises(PictureTooLargeError, match=words):
        render_thumbnail(data)


def test_the_23_kb_jpeg_is_as_small_as_the_one_that_was_reported() -> None:
    assert len(jpeg_with_scans(350)) < 24_000


@pytest.mark.parametrize(
    "data",
    [
        jpeg_with_scans(MAX_SCANS, 64, 48),
        jpeg_with_segments(MAX_SEGMENTS - 20),
        png_with_chunks(MAX_CHUNKS - 20),
        png_with_profile_bomb(100),
        png_with_text_bombs(100),
        animated("PNG", 200),
        animated("WEBP", 2000),
    ],
    ids=["scans", "segments", "chunks", "profile bomb", "text bombs", "animated PNG", "animated WebP"],
)
def test_an_odd_image_below_the_limits_gets_a_thumbnail(data: bytes) -> None:
    assert render_thumbnail(data).startswith(b"RIFF")


@pytest.mark.parametrize(
    ("marker", "bits"), [(0xC9, 8), (0xCA, 8), (0xC3, 8), (0xC5, 8), (0xC0, 12), (0xC1, 12)]
)
def test_a_jpeg_that_browsers_do_not_show_either_is_unsupported(marker: int, bits: int) -> None:
    with pytest.raises(UnsupportedPictureError):
        check_structure(jpeg_of_kind(marker, bits))


def test_a_marker_inside_a_segment_or_the_pixels_does_not_count() -> None:
    jpeg = encoded(PICTURE, "JPEG", comment=b"\xff\xda\x00\x02" * 1000)
    check_structure(jpeg[:-2] + b"\xff\x00\xff\xd0" * 1000 + jpeg[-2:])


def test_what_follows_the_end_of_an_image_does_not_count() -> None:
    check_structure(ORDINARY["JPEG"] + b"\xff\xda\x00\x02" * 1000)
    check_structure(ORDINARY["PNG"] + b"\0\0\0\0tEXt\0\0\0\0" * (MAX_CHUNKS + 1))


@given(st.sampled_from(sorted(ORDINARY)), st.data())
def test_a_damaged_file_passes_or_is_refused(kind: str, data: st.DataObject) -> None:
    damaged = bytearray(ORDINARY[kind][: data.draw(st.integers(0, len(ORDINARY[kind])))])
    for position, value in data.draw(
        st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=6)
    ):
        if position < len(damaged):
            damaged[position] = value
    try:
        check_structure(bytes(damaged))
    except PictureError:
        return


@given(st.integers(0, 3000), st.integers(0, 255))
def test_a_long_run_of_one_byte_is_checked_in_one_pass(length: int, value: int) -> None:
    check_structure(b"\xff\xd8\xff" + bytes([value]) * length)
