"""Cursors for paging through the lists of the dashboard's API.

A cursor contains the sort key of a page's last entry. It comes back from the browser, so it is validated like
any other input: it must have the types that the list sorts by, and values that a database can compare.
"""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from prshots.contract.errors import InvalidInputError
from prshots.server.api.storable_text import is_storable

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
    except (ValueError, RecursionError) as error:
        raise _not_a_cursor() from error
    if not isinstance(key, list) or tuple(map(type, key)) != types or not all(map(_is_comparable, key)):
        raise _not_a_cursor()
    return tuple(key)


def _is_comparable(part: str | int) -> bool:
    return is_storable(part) if isinstance(part, str) else abs(part) < MAX_INTEGER


def _not_a_cursor() -> InvalidInputError:
    return InvalidInputError("after is not a cursor of this list: use the next value of the previous page")
