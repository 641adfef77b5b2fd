"""Reads the head of a request for an image, with the grammar that both HTTP servers share."""

import re
from collections.abc import Mapping
from functools import lru_cache

from prshots.server.delivery.decision import METHOD_NOT_ALLOWED, METHODS
from prshots.server.delivery.replies import Reply, Request, error_reply
from prshots.server.http.request_grammar import (
    BAD_REQUEST,
    REQUEST_LINE,
    HeadRefusal,
    names_path,
    read_framing,
)

CACHED_FIELDS, CACHED_BYTES = 1024, 2048
"""How many sets of header fields to cache, and their maximum length: 2 MB in total. A browser sends the same
fields for all images, and parsing them would take longer than the rest of the head."""

_CONDITIONS = re.compile(r"(?:\A|\n)(range|if-range|if-none-match):[ \t]*([^\r]*)", re.IGNORECASE)


def read_head(head: bytes) -> Request | Reply:
    """Parse a complete head, or return the reply that refuses it."""
    line = REQUEST_LINE.match(head)
    if line is None:
        return error_reply(*BAD_REQUEST)
    method, target, version = line.groups()
    fields = head[line.end() :]
    read = _read_cached if len(fields) <= CACHED_BYTES else _read_fields
    conditions, is_last, refusal = read(fields, version)
    if refusal is not None:
        return refusal
    request = Request(method.decode(), target.decode(), conditions, is_last)
    if request.method not in METHODS:
        return METHOD_NOT_ALLOWED
    return request if names_path(request.target) else error_reply(*BAD_REQUEST)


def _read_fields(fields: bytes, version: bytes) -> tuple[Mapping[str, str], bool, Reply | None]:
    """Return the conditions, whether the connection then closes, and the reply that refuses the fields."""
    framing = read_framing(fields, version)
    if isinstance(framing, HeadRefusal):
        return {}, True, error_reply(*framing)
    # A body could look like another request.
    return _read_conditions(fields), framing.is_last or framing.is_upgrade or framing.has_body, None


_read_cached = lru_cache(CACHED_FIELDS)(_read_fields)


def _read_conditions(fields: bytes) -> Mapping[str, str]:
    """Return the fields that affect the reply."""
    found: dict[str, str] = {}
    for name, value in _CONDITIONS.findall(fields.decode("latin-1")):
        # Repeated fields form a list. That is correct for If-None-Match, and a list in Range is ignored.
        key, given = name.lower(), value.rstrip()
        found[key] = f"{found[key]}, {given}" if key in found else given
    return found
