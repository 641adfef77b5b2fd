"""Reads the head of a request for an image, with the grammar that both HTTP servers share."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from prshots.server.delivery.decision import METHOD_NOT_ALLOWED, METHODS
from prshots.server.delivery.replies import Reply, Request, error_reply
from prshots.server.http.request_grammar import BAD_REQUEST, HeadRefusal, names_path, parse_head

CACHED_HEADS, CACHED_BYTES = 1024, 2048
"""How many heads to cache, and their maximum length: 2 MB in total. A browser sends the same fields for all
images, and the readers of a comment request the same images."""

_CONDITIONS = re.compile(r"\n(range|if-range|if-none-match):[ \t]*([^\r]*)", re.IGNORECASE)


class Asked(NamedTuple):
    """A request, and whether its connection then closes because a body could look like another request."""

    request: Request
    is_last: bool


def read_head(head: bytes) -> Asked | Reply:
    """Parse a complete head, or return the reply that refuses it."""
    return _read_cached(head) if len(head) <= CACHED_BYTES else _read(head)


def _read(head: bytes) -> Asked | Reply:
    parsed = parse_head(head)
    if isinstance(parsed, HeadRefusal):
        return error_reply(*parsed)
    if parsed.method not in METHODS:
        return METHOD_NOT_ALLOWED
    if not names_path(parsed.target):
        return error_reply(*BAD_REQUEST)
    request = Request(parsed.method, parsed.target, _conditions(head))
    return Asked(request, is_last=parsed.is_last or parsed.is_upgrade or parsed.has_body)


_read_cached = lru_cache(CACHED_HEADS)(_read)


def _conditions(head: bytes) -> Mapping[str, str]:
    """Return the fields that affect the reply."""
    found: dict[str, str] = {}
    for name, value in _CONDITIONS.findall(head.decode("latin-1")):
        # Repeated fields form a list. That is correct for If-None-Match, and a list in Range is ignored.
        key, given = name.lower(), value.rstrip()
        found[key] = f"{found[key]}, {given}" if key in found else given
    return found
