"""Replies in JSON."""

from dataclasses import fields, is_dataclass
from typing import Any

import orjson
from starlette.responses import Response


def json_bytes(content: object) -> bytes:
    """Return compact JSON in UTF-8. Raises TypeError for half of a surrogate pair."""
    return orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)  # verdicts are keys but not plain strings


class JSONResponse(Response):
    """Replaces Starlette's JSONResponse, which takes 18 times as long for a large comment."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return json_bytes(content)


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
