"""What a request for an image is answered with. It decides; `delivery_server.py` moves the bytes.

A valid signature, an `exp` that has not passed and bytes that are there make a 200: nothing else is asked, so
there is no database here, and nothing is ever written.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from prshots.errors import StoreError
from prshots.formats import FORMATS
from prshots.models import origin_key
from prshots.ports import KeySource, ObjectReader, OpenObject
from prshots.signing import Checked, Verdict, check

_log = structlog.get_logger()


class Request(NamedTuple):
    """Path and query are raw, just as on the wire; the names of the headers are lower-case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


class FileSlice(NamedTuple):
    """A part of an open file: whoever gets it closes the file."""

    file: OpenObject
    offset: int
    length: int


class Reply(NamedTuple):
    """`fields` are the header lines, each with its line end, ready to be sent."""

    status: int
    fields: str
    body: bytes | FileSlice


def json_reply(status: int, content: Mapping[str, str], extra_fields: str = "") -> Reply:
    body = json.dumps(content, separators=(",", ":")).encode()
    fields = (
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
    )
    return Reply(status, fields + extra_fields, body)


def error_reply(status: int, message: str, extra_fields: str = "") -> Reply:
    return json_reply(status, {"error": message}, extra_fields)


HEALTHY = json_reply(200, {"status": "ok"})
METHOD_NOT_ALLOWED = error_reply(405, "method not allowed", "Allow: GET, HEAD\r\n")
EXPIRED = error_reply(410, "expired")
STORAGE_UNAVAILABLE = error_reply(503, "storage unavailable, retry later", "Retry-After: 5\r\n")
_REFUSALS = {
    Verdict.EXPIRED: EXPIRED,
    Verdict.INVALID: error_reply(403, "invalid signature"),
    Verdict.UNKNOWN_KEY: error_reply(403, "invalid signature"),
    Verdict.NOT_AN_IMAGE_PATH: error_reply(404, "not found"),
}

# Other sites may show an image, but it is no page of ours: whatever its bytes are, nothing in it runs.
_SAFE = (
    "X-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: default-src 'none'; sandbox\r\n"
    "Cross-Origin-Resource-Policy: cross-origin\r\n"
)
_IMAGE_FIELDS = {
    image_format.ext: f"{_SAFE}Accept-Ranges: bytes\r\nContent-Type: {image_format.content_type}\r\n"
    for image_format in FORMATS
}

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
# Thirty digits are far past every file, and few enough for int() to take.
_RANGE = re.compile(r"bytes=([0-9]{0,30})-([0-9]{0,30})", re.IGNORECASE)


class Delivery:
    def __init__(
        self,
        reader: ObjectReader,
        keys: KeySource,
        cache_seconds: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._reader = reader
        self._keys = keys
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._storage_works = True

    def respond(self, request: Request) -> Reply:
        """Answer, whatever happens; a fault of our own is logged under the id that the reply carries."""
        try:
            reply = self._answer(request)
        except Exception:  # noqa: BLE001 - the one place where a fault becomes a reply
            request_id = secrets.token_hex(8)
            _log.exception("internal error", request_id=request_id, path=request.path[:200])
            reply = error_reply(500, "internal error", f"X-Request-Id: {request_id}\r\n")
        return reply if request.method != "HEAD" else reply._replace(body=b"")

    def _answer(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return METHOD_NOT_ALLOWED
        if request.path == "/healthz":
            return HEALTHY
        now = self._clock()
        checked = self._check(request, now)
        if checked.verdict is not Verdict.VALID:
            return _REFUSALS[checked.verdict]
        try:
            file = self._reader.open(origin_key(checked.image_id, checked.ext))
        except StoreError as error:
            return self._storage_failed(error)
        self._storage_works = True
        if file is None:
            return EXPIRED
        return self._image(request, checked, file, now)

    def _check(self, request: Request, now: float) -> Checked:
        checked = check(self._keys.ring(), request.path, request.query, now)
        if checked.verdict is Verdict.UNKNOWN_KEY:  # perhaps one made a moment ago
            checked = check(self._keys.fresh_ring(), request.path, request.query, now)
        return checked

    def _storage_failed(self, error: StoreError) -> Reply:
        if self._storage_works:  # one line for an outage, not one for each request in it
            _log.error("the origin store does not answer", reason=str(error))
        self._storage_works = False
        return STORAGE_UNAVAILABLE

    def _image(self, request: Request, checked: Checked, file: OpenObject, now: float) -> Reply:
        """Answer with the file, or as the request's conditions ask; only a reply with a body keeps it."""
        reply = None
        try:
            max_age = min(self._cache_seconds, int(checked.exp - now))
            fields = (
                f'ETag: "{checked.image_id}"\r\nCache-Control: public, max-age={max_age}\r\n'
                f"{_IMAGE_FIELDS[checked.ext]}"
            )
            reply = _with_file(request, checked.image_id, file, fields)
        finally:
            if reply is None or isinstance(reply.body, bytes):
                os.close(file.fd)
        return reply


def _with_file(request: Request, tag: str, file: OpenObject, fields: str) -> Reply:
    headers = request.headers
    if "if-none-match" in headers and _names_tag(headers["if-none-match"], tag):
        return Reply(304, fields, b"")
    if request.method == "HEAD":  # a range is defined for GET only
        return Reply(200, f"{fields}Content-Length: {file.size}\r\n", b"")
    if "range" in headers and headers.get("if-range", f'"{tag}"') == f'"{tag}"':
        asked = _RANGE.fullmatch(headers["range"])
        if asked is not None and (part := _part(asked[1], asked[2], file.size)) is not None:
            return _with_part(part, file, fields)
    return Reply(200, f"{fields}Content-Length: {file.size}\r\n", FileSlice(file, 0, file.size))


def _names_tag(if_none_match: str, tag: str) -> bool:
    return if_none_match == "*" or tag in _TAG.findall(if_none_match)


def _part(first: str, last: str, size: int) -> range | None:
    """Return the positions asked for, an empty range if there are none of them; None if it makes no sense."""
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


def _with_part(part: range, file: OpenObject, fields: str) -> Reply:
    if not part:
        return error_reply(416, "range not satisfiable", f"Content-Range: bytes */{file.size}\r\n")
    content_range = f"Content-Range: bytes {part.start}-{part.stop - 1}/{file.size}\r\n"
    return Reply(
        206, f"{fields}{content_range}Content-Length: {len(part)}\r\n", FileSlice(file, part.start, len(part))
    )
