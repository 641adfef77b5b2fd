"""Replies in JSON."""

from dataclasses import fields
from typing import Any

import orjson
from starlette.responses import Response

# Verdicts are keys but not plain strings.
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def json_bytes(content: object) -> bytes:
    """Return compact JSON in UTF-8. Raises TypeError for half of a surrogate pair."""
    return orjson.dumps(content, default=_reply_fields, option=_OPTIONS)


def _reply_fields(reply: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return the reply's fields, except those with their default value."""
    return {
        field.name: value for field in fields(reply) if (value := getattr(reply, field.name)) != field.default
    }


class JSONResponse(Response):
    """Replaces Starlette's JSONResponse, which takes 18 times as long for a large comment."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return json_bytes(content)
