"""The backup manifest: what is written can be read back, and anything else is refused with a reason."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.server.backup import Manifest

PLAIN = Manifest(
    format=1,
    prshots="1.2.3",
    schema_version="0004",
    installation_id="ab12",
    created_at=1_800_000_000,
    images=3,
    thumbnails=2,
    image_bytes=4096,
    gone_meanwhile=0,
    sha256="0f" * 32,
    oldest_schema="0003",
)
NAMES = [field.name for field in fields(Manifest)]
JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


def changed(**changes: object) -> bytes:
    return json.dumps(json.loads(PLAIN.to_json()) | changes).encode()


def test_a_manifest_round_trips_and_unknown_fields_are_ignored() -> None:
    assert Manifest.from_json(PLAIN.to_json()) == PLAIN
    assert Manifest.from_json(changed(added_by="a later version")) == PLAIN


def test_an_archive_of_a_development_version_does_not_say_the_oldest_schema() -> None:
    written = json.loads(PLAIN.to_json())
    del written["oldest_schema"]
    assert Manifest.from_json(json.dumps(written).encode()) == replace(PLAIN, oldest_schema="")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "oldest_schema"])
def test_a_missing_field_is_named_in_the_error(name: str) -> None:
    written = json.loads(PLAIN.to_json())
    del written[name]
    with pytest.raises(ValueError, match=f"^{name} is missing$"):
        Manifest.from_json(json.dumps(written).encode())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 0}, "format must be a whole number from 1"),
        ({"format": "1"}, "format must be"),
        ({"format": True}, "format must be"),
        ({"prshots": "1\x1b[31m"}, "prshots must be a version"),
        ({"schema_version": "4"}, "schema_version must be four digits"),
        ({"schema_version": "0004\n"}, "schema_version must be four digits"),
        ({"schema_version": "٠٠٠٤"}, "schema_version must be four digits"),
        ({"oldest_schema": "3"}, "oldest_schema must be four digits"),
        ({"installation_id": "../x"}, "installation_id must be 1 to 64 hex digits"),
        ({"created_at": 10**12}, "created_at must be"),  # milliseconds instead of seconds: after year 9999
        ({"images": -1}, "images must be a whole number from 0"),
        ({"images": 1.0}, "images must be"),
        ({"image_bytes": None}, "image_bytes must be"),
        ({"sha256": "0F" * 32}, "sha256 must be 64 hex digits"),
    ],
)
def test_an_invalid_field_is_named_in_the_error(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Manifest.from_json(changed(**change))


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 60_000, b"[]", b"null", b"1", b"1" * 60_000])
def test_text_that_is_not_a_json_object_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it is not"):
        Manifest.from_json(text)


@given(name=st.sampled_from(NAMES), value=JSON)
def test_any_field_value_is_kept_unchanged_or_refused(name: str, value: object) -> None:
    written = changed(**{name: value})
    try:
        manifest = Manifest.from_json(written)
    except ValueError as error:
        refusal = str(error)
    else:
        assert getattr(manifest, name) == value
        assert Manifest.from_json(manifest.to_json()) == manifest
        return
    assert refusal.startswith(f"{name} must be")
