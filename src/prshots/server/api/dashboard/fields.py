"""Checks for what the dashboard's pages send. Each raises InvalidInputError and says what the field takes."""

import re
from collections.abc import Mapping
from typing import Any

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import Policy
from prshots.server.domain.images.checks import is_image_id
from prshots.server.domain.projects.models import Role

MAX_SEARCH = 200

_NUMBER = re.compile(r"[0-9]{1,6}")


def text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is required and must be a string")
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


def uploads_per_minute(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise InvalidInputError("uploads_per_minute must be a whole number, or null for the service's limit")
    return value


def count(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(f"{name} must be a whole number")
    return value


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


def number(given: str, name: str) -> int:
    if not _NUMBER.fullmatch(given):
        raise InvalidInputError(f"{name} must be a whole number")
    return int(given)
