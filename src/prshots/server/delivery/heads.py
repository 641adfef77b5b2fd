"""Reads the heads of requests.

Most requests ask for an image without a body or conditions, and do not need the parser: `plain_target`. It is
no looser than the parser, so a request means the same on either path.
"""

import re
from functools import lru_cache

CACHED_HEADERS = 128
"""Lists of headers that are cached. A browser sends the same ones for every image of a page."""

# The parser accepts two spaces or a missing version. We do not, so there is only one way to write a request.
REQUEST_LINE = re.compile(r"([A-Z-]+) ([^ \r\n]*) HTTP/1\.[01]\r\n")
UNKNOWN_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^ \r\n]+ HTTP/1\.[01]\r\n")
_VERSION = b" HTTP/1.1\r\n"
_PLAIN_LINE = re.compile(rb"GET (/i/[!-~]{1,256})")
_HEADERS = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]++:[\t -~\x80-\xff]*+\r\n)*+\r\n")
_NOT_PLAIN = re.compile(rb"connection|content-length|transfer-encoding|upgrade|range|if-none-match")
_CONDITIONS = re.compile(r"\r\n((?i:range|if-range|if-none-match)):[ \t]*([^\r\n]*)")


def plain_target(data: bytes) -> str | None:
    """Return the target if this is one complete request for an image, without a body and conditions."""
    line, _, headers = data.partition(_VERSION)
    if not _are_plain(headers):
        return None
    match = _PLAIN_LINE.fullmatch(line)
    return None if match is None else match[1].decode("ascii")


@lru_cache(CACHED_HEADERS)
def _are_plain(headers: bytes) -> bool:
    return _HEADERS.fullmatch(headers) is not None and _NOT_PLAIN.search(headers.lower()) is None


def conditions(head: str) -> dict[str, str]:
    """Return the headers that change the reply. The parser has already validated the head."""
    found: dict[str, str] = {}
    for name, value in _CONDITIONS.findall(head):
        # Repeated headers form a list: correct for If-None-Match, and a list in Range is ignored.
        key = name.lower()
        found[key] = f"{found[key]}, {value.rstrip()}" if key in found else value.rstrip()
    return found
