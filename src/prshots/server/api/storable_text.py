"""Checks that every database can store a client's text.

JSON can carry half of a surrogate pair, but UTF-8 can't. PostgreSQL can't store NUL characters.
"""

import re
from collections.abc import Iterable
from typing import Any

from prshots.contract.errors import InvalidInputError

_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")


def is_storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None


def require_storable(body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object if all its strings and names are storable. Raises InvalidInputError."""
    if not all(map(is_storable, _texts_in(body))):
        raise InvalidInputError("the body must contain valid Unicode without NUL characters")
    return body


def _texts_in(body: object) -> Iterable[str]:
    """Yield every string and name. Not recursive, because nesting may exceed Python's stack."""
    left = [body]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value
