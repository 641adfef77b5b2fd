"""What the dashboard's pages send, checked. Each raises InvalidInputError with what it takes."""

import re
from collections.abc import Mapping
from typing import Any

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import Policy
from prshots.server.domain.images import is_image_id
from prshots.server.domain.models import Role

MAX_SEARCH = 200

_NUMBER = re.compile(r"[0-9]{1,6}")
_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")  # JSON can say it, UTF-8 cannot


def text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or _HALF_A_CHARACTER.search(value):
        raise InvalidInputError(f"{name} is missing: it is a text")
    return value


def policy(value: object) -> Policy:
    try:
        return Policy(str(value))
    except ValueError as error:
        raise InvalidInputError(f"policy is one of {', '.join(Policy)}") from error


def role(value: object) -> Role:
    try:
        return Role(str(value))
    except ValueError as error:
        raise InvalidInputError(f"role is one of {', '.join(Role)}") from error


def days(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise InvalidInputError("retain_days is a whole number of days, or null for none")
    return value


def search(text: str) -> str:
    if len(text) > MAX_SEARCH:
        raise InvalidInputError(f"a search is at most {MAX_SEARCH} characters")
    return text.strip()


def claims(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInputError("claims is missing: it is an object of names and texts")
    return {name: text(value, name).strip() for name in value}


def image_ids(value: object, most: int) -> list[str]:
    if not isinstance(value, list) or len(value) > most or not all(map(_is_image_id, value)):
        raise InvalidInputError(f"ids is a list of at most {most} ids of images")
    return value


def _is_image_id(value: object) -> bool:
    return isinstance(value, str) and is_image_id(value)


def number(given: str, name: str) -> int:
    if not _NUMBER.fullmatch(given):
        raise InvalidInputError(f"{name} is a whole number")
    return int(given)
