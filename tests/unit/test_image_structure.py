"""The structure of image files: small files that would cost a decoder minutes, and files that are cut off."""

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from prshots.contract.errors import PictureTooLargeError, UnsupportedPictureError
from prshots.contract.image_structure import (
    MAX_CHUNKS,
    MAX_SCANS,
    MAX_SEGMENTS,
    check_structure,
    is_cut_off,
)
from prshots.server.adapters.pictures.engine.thumbnail_rendering import render_thumbnail
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
from support.vectors import cases, vectors

PICTURE = Image.linear_gradient("L").convert("RGB")
ORDINARY = {
    "PNG": lambda: encoded(PICTURE, "PNG"),
    "JPEG": lambda: encoded(PICTURE, "JPEG"),
    "progressive JPEG": lambda: encoded(PICTURE, "JPEG", progressive=True, icc_profile=bytes(1_000_000)),
    "JPEG with restarts": lambda: encoded(PICTURE, "JPEG", restart_marker_blocks=1),
    "CMYK JPEG": lambda: encoded(PICTURE.convert("CMYK"), "JPEG"),
    "WebP": lambda: encoded(PICTURE, "WEBP"),
    "lossless WebP": lambda: encoded(PICTURE, "WEBP", lossless=True),
    "animated PNG": lambda: animated("PNG", 100),
    "animated WebP": lambda: animated("WEBP", 100),
}


@cache
def ordinary(kind: str) -> bytes:
    return ORDINARY[kind]()


@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_image_passes_and_is_complete(kind: str) -> None:
    check_structure(ordinary(kind))
    assert not is_cut_off(ordinary(kind))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: jpeg_with_scans(MAX_SCANS + 1), "more than 50 scans"),
        (lambda: jpeg_with_segments(MAX_SEGMENTS), "more than 1,000 segments"),
        (lambda: png_with_chunks(MAX_CHUNKS), "more than 10,000 chunks"),
        (lambda: animated("WEBP", MAX_CHUNKS), "more than 10,000 chunks"),
    ],
    ids=["scans", "segments", "chunks", "frames"],
)
def test_an_expensive_image_is_refused_before_it_is_decoded(make: Callable[[], bytes], words: str) -> None:
    with pytest.raises(PictureTooLargeError, match=words):
        render_thumbnail(make())


@pytest.mark.parametrize(
    "make",
    [
        lambda: jpeg_with_scans(MAX_SCANS, 64, 48),
        lambda: jpeg_with_segments(MAX_SEGMENTS - 20),
        lambda: png_with_chunks(MAX_CHUNKS - 20),
        lambda: png_with_profile_bomb(100),
        lambda: png_with_text_bombs(100),
        lambda: animated("PNG", 200),
        lambda: animated("WEBP", 2000),
    ],
    ids=["scans", "segments", "chunks", "profile bomb", "text bombs", "animated PNG", "animated WebP"],
)
def test_an_odd_image_below_the_limits_gets_a_thumbnail(make: Callable[[], bytes]) -> None:
    assert render_thumbnail(make()).startswith(b"RIFF")


def bare(kind: str, parts: int) -> bytes:
    """Return a file with this number of empty segments or chunks, the last of which is its end."""
    if kind == "JPEG":
        return b"\xff\xd8" + b"\xff\xfe\x00\x02" * (parts - 1) + b"\xff\xd9"
    if kind == "PNG":
        return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0tEXt\0\0\0\0" * (parts - 1) + b"\0\0\0\0IEND\0\0\0\0"
    return b"RIFF" + (4 + 8 * parts).to_bytes(4, "little") + b"WEBP" + b"EXIF\0\0\0\0" * parts


@pytest.mark.parametrize(
    ("kind", "most"), [("JPEG", MAX_SEGMENTS), ("PNG", MAX_CHUNKS), ("WebP", MAX_CHUNKS)]
)
def test_a_limit_is_the_largest_number_that_passes(kind: str, most: int) -> None:
    check_structure(bare(kind, most))
    assert not is_cut_off(bare(kind, most))
    with pytest.raises(PictureTooLargeError, match=f"a {kind} of more than {most:,}"):
        check_structure(bare(kind, most + 1))


def test_markers_without_a_length_are_not_followed_by_one() -> None:
    for marker in (b"\xff\x01", b"\xff\xd8"):
        assert not is_cut_off(b"\xff\xd8" + marker + b"\xff\xd9")


def test_the_shortest_webp_is_a_header_and_one_chunk() -> None:
    assert not is_cut_off(bare("WebP", 1))
    assert is_cut_off(b"RIFF\x0b\0\0\0WEBPEXIF\0\0\0\0")


def test_tables_of_arithmetic_coding_do_not_count_as_a_frame() -> None:
    check_structure(jpeg_of_kind(0xCC, 8))
    check_structure(jpeg_of_kind(0xC1, 8))


@pytest.mark.parametrize(
    ("marker", "bits"), [(0xC9, 8), (0xCA, 8), (0xC3, 8), (0xC5, 8), (0xCD, 8), (0xC0, 12), (0xC1, 12)]
)
def test_a_jpeg_that_browsers_do_not_show_either_is_unsupported(marker: int, bits: int) -> None:
    with pytest.raises(UnsupportedPictureError):
        check_structure(jpeg_of_kind(marker, bits))


def test_a_marker_inside_a_segment_or_the_pixels_does_not_count() -> None:
    jpeg = encoded(PICTURE, "JPEG", comment=b"\xff\xda\x00\x02" * 1000)
    check_structure(jpeg[:-2] + b"\xff\x00\xff\xd0" * 1000 + jpeg[-2:])


def test_bytes_after_the_end_of_an_image_do_not_count() -> None:
    check_structure(ordinary("JPEG") + b"\xff\xda\x00\x02" * 1000)
    check_structure(ordinary("PNG") + b"\0\0\0\0tEXt\0\0\0\0" * (MAX_CHUNKS + 1))


@pytest.mark.parametrize("run", [b"\xff", b"\xff\x00", b"\xff\xd0", b"\xd9"])
def test_a_long_run_of_bytes_is_checked_in_one_pass(run: bytes) -> None:
    """A check that went back for each byte would not end."""
    check_structure(b"\xff\xd8\xff" + run * 2_000_000 + b"\x00")


def changed(case: dict[str, Any]) -> bytes:
    """Apply the changes of a vector to its image."""
    image = base64.b64decode(vectors("cut_off_images")["images"][case["image"]])
    image = image[: len(image) - case.get("drop", 0)]
    if "insert" in case:
        at = case["insert_at"]
        image = image[:at] + bytes.fromhex(case["insert"]) + image[at:]
    if "replace" in case:
        at, new = case["replace_at"], bytes.fromhex(case["replace"])
        image = image[:at] + new + image[at + len(new) :]
    return image + bytes.fromhex(case.get("append", ""))


@pytest.mark.parametrize("case", cases("cut_off_images", "cut_off"))
def test_a_file_that_ends_too_early_is_cut_off(case: dict[str, Any]) -> None:
    assert is_cut_off(changed(case)) is case["cut_off"]


@pytest.mark.parametrize("case", cases("cut_off_images", "not_images"))
def test_another_file_is_not_a_cut_off_image(case: dict[str, Any]) -> None:
    assert not is_cut_off(bytes.fromhex(case["hex"]))


@given(st.sampled_from(sorted(ORDINARY)), st.data())
def test_an_image_cut_anywhere_is_cut_off(kind: str, data: st.DataObject) -> None:
    length = data.draw(st.integers(12, len(ordinary(kind)) - 1))
    assert is_cut_off(ordinary(kind)[:length])
