"""Replies of the public API as JSON. A field that has its default value is omitted."""

from dataclasses import fields, is_dataclass
from typing import Any


def reply_json(reply: Any) -> dict[str, Any]:  # noqa: ANN401 - any class in contract/replies.py
    return {
        field.name: _json(value)
        for field in fields(reply)
        if (value := getattr(reply, field.name)) != field.default
    }


def _json(value: object) -> object:
    if isinstance(value, list) and value and is_dataclass(value[0]):
        return [reply_json(each) for each in value]
    return value
