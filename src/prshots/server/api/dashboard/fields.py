"""Checks for what the dashboard's pages send. Each raises InvalidInputError and says what the field takes."""

import re
from collections.abc import Mapping
from typing import Any

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import Policy
from prshots.server.domain.images import is_image_id
from prshots.server.domain.models import Role

MAX_SEARCH = 200

_NUMBER = re.compile(r"[0-9]{1,6}")
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Tell whether a text column can hold this: no NUL, and no half of a surrogate pair.

    JSON can carry both. PostgreSQL refuses the first, and UTF-8 cannot encode the second.
    """
    return _NOT_STORABLE.search(text) is None


def text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is required and must be a string")
    return storable(value, name)


def storable(value: str, name: str) -> str:
    if not is_storable(value):
        raise InvalidInputError(f"{name} must be valid Unicode without NUL characters")
    return value


def policy(value: object) -> Policy:
    try:
        return Policy(str(value))
    except ValueError as error:
        raise InvalidInputError(f"policy must be one of {', '.join(Policy)}") from error


def role(value: object) -> Role:
    try:
        return Role(str(value))
    except ValueError as error:
        raise InvalidInputError(f"role must be one of {', '.join(Role)}") from error


def days(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise InvalidInputError("retain_days must be a whole number of days, or null for no limit")
    return value


def search(text: str) -> str:
    if len(text) > MAX_SEARCH:
        raise InvalidInputError(f"q is too long: a search has at most {MAX_SEARCH} characters")
    return storable(text, "q").strip()


def claims(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInputError("claims is required and must be an object of strings")
    return {storable(name, "a claim's name"): text(value, name).strip() for name in value}


def image_ids(value: object, most: int) -> list[str]:
    if not isinstance(value, list) or len(value) > most or not all(map(_is_image_id, value)):
        raise InvalidInputError(f"ids must be a list of at most {most} image ids")
    return value


def _is_image_id(value: object) -> bool:
    return isinstance(value, str) and is_image_id(value)


def number(given: str, name: str) -> int:
    if not _NUMBER.fullmatch(given):
        raise InvalidInputError(f"{name} must be a whole number")
    return int(given)
