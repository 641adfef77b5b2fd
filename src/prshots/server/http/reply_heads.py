"""Writes the head of a reply, and says how its body is sent."""

from collections.abc import Sequence
from enum import Enum, auto
from http import HTTPStatus
from typing import NamedTuple

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_NEVER_WITH_BODY = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
_CLOSE = (b"connection", b"close")


class Framing(Enum):
    NO_BODY = auto()
    AS_IT_IS = auto()
    IN_CHUNKS = auto()


class ReplyHead(NamedTuple):
    data: bytes
    framing: Framing
    keeps_alive: bool

    def framed(self, data: bytes, *, is_last: bool) -> bytes:
        """Return a part of the body as it is sent."""
        if self.framing is Framing.NO_BODY:
            return b""
        if self.framing is Framing.AS_IT_IS:
            return data
        chunk = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
        return chunk + b"0\r\n\r\n" if is_last else chunk


def reply_head(
    status: int,
    fields: Sequence[tuple[bytes, bytes]],
    *,
    method: str,
    version: str,
    keeps_alive: bool,
    date_field: bytes,
    length: int | None,
) -> ReplyHead:
    """Return the head of a reply with these fields, whose names are in lower case.

    `length` is that of the body; None if more of it follows than is known yet. Raises ValueError.
    """
    lines = [b"%b: %b\r\n" % field for field in fields]
    if sum(line.count(b"\n") for line in lines) != len(lines):
        raise ValueError("a header of the reply has a line break")
    names = {name for name, _ in fields}
    keeps_alive = keeps_alive and _CLOSE not in fields
    framing = Framing.NO_BODY if method == "HEAD" else Framing.AS_IT_IS
    if status in _NEVER_WITH_BODY:
        framing = Framing.NO_BODY
    elif b"content-length" in names:
        pass
    elif length is not None:
        lines.append(b"content-length: %d\r\n" % length)
    elif version == "1.1":
        lines.append(b"transfer-encoding: chunked\r\n")
        framing = Framing.NO_BODY if method == "HEAD" else Framing.IN_CHUNKS
    else:
        keeps_alive = False  # the end of the connection is the end of the body
    if b"date" not in names:
        lines.append(date_field)
    if not keeps_alive and _CLOSE not in fields:
        lines.append(b"connection: close\r\n")
    elif keeps_alive and version == "1.0":
        lines.append(b"connection: keep-alive\r\n")
    return ReplyHead(b"".join([_LINES[status], *lines, b"\r\n"]), framing, keeps_alive)
