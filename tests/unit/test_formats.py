"""Which bytes begin which image."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.formats import BY_CONTENT_TYPE, BY_EXT, FORMATS, LEADING_BYTES

HEADS = {
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d",
    "jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01",
    "webp": b"RIFF\x24\x00\x00\x00WEBP",
}


def test_the_formats_we_take() -> None:
    assert {(kind.content_type, kind.ext, kind.label) for kind in FORMATS} == {
        ("image/png", "png", "PNG"),
        ("image/jpeg", "jpg", "JPEG"),
        ("image/webp", "webp", "WEBP"),
    }
    assert all(BY_CONTENT_TYPE[kind.content_type] is BY_EXT[kind.ext] is kind for kind in FORMATS)


@pytest.mark.parametrize("real", HEADS)
@pytest.mark.parametrize("declared", HEADS)
def test_each_knows_its_own_head_and_no_other(declared: str, real: str) -> None:
    assert BY_EXT[declared].matches(HEADS[real]) is (declared == real)


@pytest.mark.parametrize("start", [b"\xff\xd8\xff\xdb", b"\xff\xd8\xff\xe1", b"\xff\xd8\xff\xee"])
def test_every_kind_of_jpeg(start: bytes) -> None:
    assert BY_EXT["jpg"].matches(start.ljust(LEADING_BYTES, b"\0"))


@given(st.integers(0, 2**32 - 1))
def test_a_webp_of_any_length(size: int) -> None:
    assert BY_EXT["webp"].matches(b"RIFF" + size.to_bytes(4, "little") + b"WEBP")


@pytest.mark.parametrize(
    "head", [b"", b"RIFF", b"RIFF\0\0\0\0WAVE", b"GIF89a", b"\x89PNG", b"\xff\xd8", b"<svg>"]
)
def test_others_and_fragments_are_none(head: bytes) -> None:
    assert not any(kind.matches(head) for kind in FORMATS)


@pytest.mark.parametrize("ext", HEADS)
def test_what_follows_the_leading_bytes_does_not_matter(ext: str) -> None:
    assert len(HEADS[ext]) <= LEADING_BYTES
    assert BY_EXT[ext].matches(HEADS[ext] + b"anything")
