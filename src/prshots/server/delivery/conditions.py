"""Chooses which bytes of an image to send: If-None-Match, HEAD, Range and If-Range."""

import re

from prshots.server.delivery.replies import Reply, Request, error_reply
from prshots.server.http.headers import names_tag

# Thirty digits exceed any file size, and int() accepts them.
_RANGE = re.compile(r"bytes=([0-9]{0,30})-([0-9]{0,30})", re.IGNORECASE)


def apply_conditions(request: Request, tag: str, size: int, fields: str) -> Reply | range | None:
    """Return a reply without image bytes, or the range to send. None means the whole image."""
    headers = request.headers
    if "if-none-match" in headers and names_tag(headers["if-none-match"], tag):
        return Reply(304, fields, b"", "not_modified")
    if request.method == "HEAD":  # ranges apply only to GET
        return Reply(200, f"{fields}Content-Length: {size}\r\n", b"", "sent")
    if "range" in headers and headers.get("if-range", f'"{tag}"') == f'"{tag}"':
        asked = _RANGE.fullmatch(headers["range"])
        part = _read_range(asked[1], asked[2], size) if asked else None
        is_beyond_end = part is not None and not part
        return _refuse(size) if is_beyond_end else part
    return None


def _read_range(first: str, last: str, size: int) -> range | None:
    """Return the requested range. It is empty if beyond the end, and None if the header is invalid."""
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


def _refuse(size: int) -> Reply:
    extra = f"Content-Range: bytes */{size}\r\n"
    return error_reply(416, "range not satisfiable", extra, result="unsatisfiable")


def status_and_fields(part: range | None, size: int, fields: str) -> tuple[int, str]:
    """Return the status and header lines for a reply with this range of the image."""
    if part is None:
        return 200, f"{fields}Content-Length: {size}\r\n"
    content_range = f"Content-Range: bytes {part.start}-{part.stop - 1}/{size}\r\n"
    return 206, f"{fields}{content_range}Content-Length: {len(part)}\r\n"
