"""Cursors: every key that a list can end on leads to the next page, and nothing else is accepted."""

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prshots.contract.errors import InvalidInputError
from prshots.server.api.dashboard.fields import key_after, next_cursor

TYPES = {
    "projects, shots, members": (str, str),
    "pull requests": (int, int),
    "images": (int,),
    "tokens": (int, str),
}
INTEGERS = st.integers(-(2**63) + 1, 2**63 - 1)
KEYS = st.one_of(
    st.tuples(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.text("0123x")),
    st.tuples(INTEGERS, INTEGERS),
    st.tuples(INTEGERS),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@given(KEYS)
@example(("non-breaking\u00a0space", ""))
@example(("family \U0001f468\u200d\U0001f469\u200d\U0001f467", ""))
@example(("two\r\nlines\u0085\u2028\ufeff\x1b", "1280x800"))
def test_a_key_round_trips_through_a_cursor(key: tuple[str | int, ...]) -> None:
    assert key_after(next_cursor([key], 1, lambda last: last), *map(type, key)) == key


def test_a_page_that_is_not_full_has_no_next_cursor() -> None:
    assert next_cursor([], 2, lambda last: (last,)) is None
    assert next_cursor(["x"], 2, lambda last: (last,)) is None
    assert key_after(None, str) is key_after("", str) is None


@given(JSON)
def test_a_cursor_of_any_json_is_refused_or_has_the_right_types(value: object) -> None:
    for types in TYPES.values():
        try:
            key = key_after(packed(value), *types)
        except InvalidInputError:
            continue
        assert key is not None
        assert tuple(map(type, key)) == types
        assert all(part.encode() is not None for part in key if isinstance(part, str))


@pytest.mark.parametrize("types", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "é",
        "====",
        packed(None),
        packed(["a"]),
        packed([True, True]),
        packed([2**63, 0]),
        packed(["\ud800", ""]),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
        base64.urlsafe_b64encode(b"\xff").decode(),
    ],
)
def test_an_invalid_cursor_is_refused(cursor: str, types: tuple[type[str | int], ...]) -> None:
    with pytest.raises(InvalidInputError, match="not a cursor of this list"):
        key_after(cursor, *types)
