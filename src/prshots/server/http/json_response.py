"""Replies in JSON."""

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
