"""Replies in JSON."""

import orjson
from starlette.responses import Response


def json_bytes(content: object) -> bytes:
    """Return compact JSON in UTF-8. Half of a surrogate pair raises TypeError."""
    return orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)  # a verdict is a key of a class of its own


class JSONResponse(Response):
    """Starlette's takes 18 times as long for a large comment: 0.47 ms."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return json_bytes(content)
