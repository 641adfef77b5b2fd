"""A request for an image and its reply. `decision.py` chooses the reply, and `server.py` sends it."""

import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from prshots.server.links import OpenObject


class Request(NamedTuple):
    """A request. Its target is exactly as the client sent it. Header names are lower case.

    If it is the `is_last` one, its connection closes after the reply.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    is_last: bool = False
    request_id: str = ""


class Streamed(NamedTuple):
    """`length` bytes that arrive in chunks from a remote store. The receiver must close `chunks`."""

    chunks: AsyncGenerator[bytes, None]
    length: int


class Reply(NamedTuple):
    """A reply. `fields` contains the header lines, including line ends.

    `result` is the outcome that the metrics count for an image request, or "" for any other request.
    """

    status: int
    fields: str
    body: bytes | OpenObject | Streamed
    result: str = ""


Pending = Callable[[], Coroutine[Any, Any, Reply]]
"""Gets the reply from a remote store. Never raises."""


def json_reply(status: int, content: Mapping[str, Any], extra_fields: str = "", result: str = "") -> Reply:
    body = json.dumps(content, separators=(",", ":")).encode()
    return uncached_reply(status, "application/json", body, extra_fields, result)


def uncached_reply(
    status: int, content_type: str, body: bytes, extra_fields: str = "", result: str = ""
) -> Reply:
    fields = (
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
    )
    return Reply(status, fields + extra_fields, body, result)


def error_reply(status: int, message: str, extra_fields: str = "", result: str = "") -> Reply:
    return json_reply(status, {"error": message}, extra_fields, result)
