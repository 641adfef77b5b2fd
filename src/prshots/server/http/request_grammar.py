"""The grammar of request heads. Both HTTP servers apply it to a whole head.

It is stricter than HTTP: there is only one way to write each request, so no proxy in front of the service can
interpret it differently. A head is checked when it is complete, so the pieces in which it arrives don't
matter.
"""

import re
from typing import NamedTuple


class HeadRefusal(NamedTuple):
    """The reply to an invalid head. The connection closes after it."""

    status: int
    message: str


class Framing(NamedTuple):
    """What the header fields say about the body and the connection."""

    is_chunked: bool = False
    length: int = 0
    is_upgrade: bool = False
    is_last: bool = False
    """Whether the client sends no further request on this connection."""

    @property
    def has_body(self) -> bool:
        return self.is_chunked or self.length > 0


BAD_REQUEST = HeadRefusal(400, "bad request")
URI_TOO_LONG = HeadRefusal(414, "uri too long")
FIELDS_TOO_LARGE = HeadRefusal(431, "request header fields too large")
UNKNOWN_CODING = HeadRefusal(501, "transfer coding not supported")

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
TARGET = rb"[!-\"$-~]++"  # without a fragment
REQUEST_LINE = re.compile(
    rb"(?P<method>" + _TOKEN + rb") (?P<target>" + TARGET + rb") HTTP/(?P<version>1\.[01])\r\n"
)
_URL_WITH_PATH = re.compile(r"https?://[^/?]+/", re.IGNORECASE)
_FIELDS = re.compile(rb"(?:" + _TOKEN + rb":[\t -~\x80-\xff]*+\r\n)*+\r\n")
_NEVER_IN_A_HEAD = re.compile(rb"[^\t\r\n -~\x80-\xff]|(?<!\r)\n|\r(?!\n|\Z)")
_LINE_BEGINS = re.compile(_TOKEN + rb" [!-~]")
_ABOUT_THE_MESSAGE = re.compile(
    rb"(?:\A|\n)(host|content-length|transfer-encoding|connection|upgrade):[ \t]*([^\r]*)", re.IGNORECASE
)
REQUEST_ID_VALUE = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+;=:%\[\]-]*")
_LENGTH = re.compile(rb"[0-9]{1,18}")  # fits into 64 bits, and no client sends more


def find_end(received: bytes, seen: int, most_bytes: int) -> int | HeadRefusal | None:
    """Return where the first head ends, or None if it is incomplete. `seen` bytes are already checked."""
    end = received.find(b"\r\n\r\n", seen - 3 if seen > 3 else 0) + 4  # noqa: PLR2004 - the blank line's length
    if 4 <= end <= most_bytes:  # noqa: PLR2004
        return end
    begun = received[:most_bytes]
    if _NEVER_IN_A_HEAD.search(begun, max(0, seen - 1)):  # refuse it without waiting for the end
        return BAD_REQUEST
    if len(received) < most_bytes:
        return None
    if b"\r\n" in begun:
        return FIELDS_TOO_LARGE
    return URI_TOO_LONG if _LINE_BEGINS.match(begun) else BAD_REQUEST


def names_path(target: str) -> bool:
    """Return whether the target is a path, or a full URL with a path, as clients send to a proxy."""
    return target.startswith("/") or _URL_WITH_PATH.match(target) is not None


def read_framing(fields: bytes, version: bytes) -> Framing | HeadRefusal:
    """Read the fields after the first line, including the blank line at the end."""
    if not _FIELDS.fullmatch(fields):
        return BAD_REQUEST
    values: dict[bytes, list[bytes]] = {}
    for name, value in _ABOUT_THE_MESSAGE.findall(fields):
        values.setdefault(name.lower(), []).append(value.rstrip(b" \t"))
    hosts = values.get(b"host", [])
    if len(hosts) > 1 or (not hosts and version != b"1.0") or not all(map(_HOST.fullmatch, hosts)):
        return BAD_REQUEST
    lengths, codings = values.get(b"content-length", []), values.get(b"transfer-encoding", [])
    if codings and (lengths or version == b"1.0"):
        return BAD_REQUEST
    if codings and [coding.lower() for coding in codings] != [b"chunked"]:
        return UNKNOWN_CODING
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        return BAD_REQUEST
    options = {
        option.strip() for value in values.get(b"connection", []) for option in value.lower().split(b",")
    }
    return Framing(
        is_chunked=bool(codings),
        length=int(lengths[0]) if lengths else 0,
        is_upgrade=b"upgrade" in values,
        is_last=b"close" in options or (version == b"1.0" and b"keep-alive" not in options),
    )
