"""Validates fields from the dashboard's pages. Each InvalidInputError names the valid values."""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from prshots.contract.errors import InvalidInputError
from prshots.server.api.request_body import is_storable
from prshots.server.domain.images.checks import is_image_id

# Cursors for paging through the lists of the dashboard's API. A cursor contains the sort key of a page's last
# entry. It comes back from the browser, so it is validated like any other input: it must have the types that
# the list sorts by, and values that a database can compare.

T = TypeVar("T")

MAX_INTEGER = 2**63
"""One more than the largest integer that a column can hold."""


def next_cursor(found: Sequence[T], limit: int, key: Callable[[T], tuple[str | int, ...]]) -> str | None:
    """Return the cursor for the next page, or None if this page isn't full."""
    if len(found) < limit:
        return None
    return base64.urlsafe_b64encode(json.dumps(key(found[-1])).encode()).decode()


def key_after(cursor: str | None, *types: type[str | int]) -> tuple[Any, ...] | None:
    """Return the sort key in a cursor, or None for the first page. Raises InvalidInputError."""
    if not cursor:
        return None
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, list) or tuple(map(type, key)) != types or not all(map(_is_comparable, key)):
        raise InvalidInputError("after is not a cursor of this list: use the next value of the previous page")
    return tuple(key)


def _is_comparable(part: str | int) -> bool:
    return is_storable(part) if isinstance(part, str) else abs(part) < MAX_INTEGER


E = TypeVar("E", bound=StrEnum)

MAX_SEARCH = 200
MAX_DAYS = 366

_NUMBER = re.compile(r"[0-9]{1,9}")


def text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is required and must be a string")
    return value


def texts(body: Mapping[str, Any], name: str) -> list[str]:
    values = body.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidInputError(f"{name} must be a list of strings")
    return values


def choice(kind: type[E], value: object, name: str) -> E:
    try:
        return kind(str(value))
    except ValueError as error:
        raise InvalidInputError(f"{name} must be one of {', '.join(kind)}") from error


def number(body: Mapping[str, Any], name: str, takes: str = "a whole number") -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(f"{name} must be {takes}")
    return value


def number_or_null(body: Mapping[str, Any], name: str, takes: str) -> int | None:
    return None if body.get(name) is None else number(body, name, takes)


def search(text: str) -> str:
    if len(text) > MAX_SEARCH:
        raise InvalidInputError(f"q is too long: a search has at most {MAX_SEARCH} characters")
    return text.strip()


def claims(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInputError("claims is required and must be an object of strings")
    return {name: text(value, name).strip() for name in value}


def image_ids(value: object, most: int) -> list[str]:
    if not isinstance(value, list) or len(value) > most or not all(map(_is_image_id, value)):
        raise InvalidInputError(f"ids must be a list of at most {most} image ids")
    return value


def _is_image_id(value: object) -> bool:
    return isinstance(value, str) and is_image_id(value)


def day_count(query: Mapping[str, str]) -> int:
    """Return the number of days that a usage page shows."""
    count = number_from_text(query.get("days", "90"), "days")
    if not 1 <= count <= MAX_DAYS:
        raise InvalidInputError(f"days must be a whole number from 1 to {MAX_DAYS}")
    return count


def number_from_text(given: str, name: str) -> int:
    if not _NUMBER.fullmatch(given):
        raise InvalidInputError(f"{name} must be a whole number")
    return int(given)
