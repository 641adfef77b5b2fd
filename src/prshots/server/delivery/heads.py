"""Reads the head of a request for an image, with the grammar that both HTTP servers share."""

import re
from collections.abc import Mapping

from prshots.server.bounded_cache import BoundedCache
from prshots.server.delivery.decision import METHOD_NOT_ALLOWED, METHODS
from prshots.server.delivery.replies import Reply, Request, error_reply
from prshots.server.http.request_grammar import (
    BAD_REQUEST,
    REQUEST_ID_VALUE,
    REQUEST_LINE,
    TARGET,
    HeadRefusal,
    names_path,
    read_framing,
)

CACHED_FIELDS, CACHED_BYTES = 1024, 2048
"""How many sets of header fields to cache, and their maximum length: 2 MB in total."""

_VERSION = b" HTTP/1.1\r\n"
_IMAGE_LINE = re.compile(rb"GET (/i/" + TARGET + rb")")
_CONDITIONS = re.compile(r"(?:\A|\n)(range|if-range|if-none-match):[ \t]*([^\r]*)", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"(?:\A|\n)x-request-id:[ \t]*([^\r]*)", re.IGNORECASE)
_plain_fields = BoundedCache[bytes, bool](CACHED_FIELDS)


def plain_target(received: bytes) -> str | None:
    """Return the target if this is exactly one GET of an image, without conditions or a body.

    The fields must be ones that `read_head` has parsed: a browser sends the same ones for all images, and
    parsing them takes longer than the rest of the head.
    """
    line, _, fields = received.partition(_VERSION)
    if not _plain_fields.get(fields):
        return None
    found = _IMAGE_LINE.fullmatch(line)
    return None if found is None else found[1].decode()


def read_head(head: bytes) -> Request | Reply:
    """Parse a complete head, or return the reply that refuses it."""
    line = REQUEST_LINE.match(head)
    if line is None:
        return error_reply(*BAD_REQUEST)
    fields = head[line.end() :]
    framing = read_framing(fields, line["version"])
    if isinstance(framing, HeadRefusal):
        return error_reply(*framing)
    # A body could look like another request, so the connection closes after it.
    is_last = framing.is_last or framing.is_upgrade or framing.has_body
    conditions = _read_conditions(fields)
    request_id = _read_request_id(fields)
    if (
        not (conditions or is_last or request_id)
        and len(fields) <= CACHED_BYTES
        and line[0].endswith(_VERSION)
    ):
        _plain_fields.put(fields, True)
    request = Request(line["method"].decode(), line["target"].decode(), conditions, is_last, request_id)
    if request.method not in METHODS:
        return METHOD_NOT_ALLOWED
    return request if names_path(request.target) else error_reply(*BAD_REQUEST)


def _read_request_id(fields: bytes) -> str:
    """Return the id that a proxy gave the request, or "" if there is none or it isn't valid."""
    given = [value.rstrip() for value in _REQUEST_ID.findall(fields)]
    return given[0].decode() if len(given) == 1 and REQUEST_ID_VALUE.fullmatch(given[0]) else ""


def _read_conditions(fields: bytes) -> Mapping[str, str]:
    """Return the fields that affect the reply."""
    found: dict[str, str] = {}
    for name, value in _CONDITIONS.findall(fields.decode("latin-1")):
        # Repeated fields form a list. That is correct for If-None-Match, and a list in Range is ignored.
        key, given = name.lower(), value.rstrip()
        found[key] = f"{found[key]}, {given}" if key in found else given
    return found
