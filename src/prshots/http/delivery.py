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
from prshots.formats import BY_EXT, FORMATS
from prshots.http.conditions import names_tag
from prshots.models import THUMBNAIL_EXT, origin_key
from prshots.ports import KeySource, ObjectReader, OpenObject
from prshots.signing import KeyRing, Verdict, check

MAX_VERIFIED = 4096
"""How many checked URLs are remembered: about 3 MB."""

_log = structlog.get_logger()


class Request(NamedTuple):
    """The target is raw, just as on the wire; the names of the headers are lower-case."""

    method: str
    target: str
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
_CONTENT_TYPES = {image_format.ext: image_format.content_type for image_format in FORMATS} | {
    THUMBNAIL_EXT: BY_EXT["webp"].content_type
}
_IMAGE_FIELDS = {
    ext: f"{_SAFE}Accept-Ranges: bytes\r\nContent-Type: {content_type}\r\n"
    for ext, content_type in _CONTENT_TYPES.items()
}

_METHODS = frozenset({"GET", "HEAD"})
# Thirty digits are far past every file, and few enough for int() to take.
_RANGE = re.compile(r"bytes=([0-9]{0,30})-([0-9]{0,30})", re.IGNORECASE)


class _Verified(NamedTuple):
    """An image whose URL has been checked, and what every reply with it says."""

    tag: str
    exp: int
    key: str
    fields: str


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
        self._verified: dict[str, _Verified] = {}
        self._verified_with: KeyRing | None = None

    def respond(self, request: Request) -> Reply:
        """Answer, whatever happens; a fault of our own is logged under the id that the reply carries."""
        try:
            reply = self._answer(request)
        except Exception:  # noqa: BLE001 - the one place where a fault becomes a reply
            request_id = secrets.token_hex(8)
            _log.exception(
                "internal error", request_id=request_id, path=request.target.partition("?")[0][:200]
            )
            reply = error_reply(500, "internal error", f"X-Request-Id: {request_id}\r\n")
        return reply._replace(body=b"") if request.method == "HEAD" else reply

    def _answer(self, request: Request) -> Reply:
        if request.method not in _METHODS:
            return METHOD_NOT_ALLOWED
        now = self._clock()
        image = self._verify(request.target, now)
        if not isinstance(image, _Verified):
            is_health_check = request.target.partition("?")[0] == "/healthz"
            return HEALTHY if is_health_check else _REFUSALS[image]
        try:
            file = self._reader.open(image.key)
        except StoreError as error:
            return self._storage_failed(error)
        self._storage_works = True
        if file is None:
            return EXPIRED
        return self._image(request, image, file, now)

    def _verify(self, target: str, now: float) -> "_Verified | Verdict":
        """Check a URL, or remember having done so: who opens a comment asks for what others just did."""
        ring = self._keys.ring()
        if ring is not self._verified_with:
            self._forget_verified(ring)
        image = self._verified.get(target)
        if image is not None:
            return image if image.exp > now else Verdict.EXPIRED
        checked = check(ring, target, now)
        if checked.verdict is Verdict.UNKNOWN_KEY:  # perhaps one made a moment ago
            ring = self._keys.fresh_ring()
            self._forget_verified(ring)
            checked = check(ring, target, now)
        if checked.verdict is not Verdict.VALID:
            return checked.verdict
        if len(self._verified) >= MAX_VERIFIED:
            self._verified.clear()
        tag = f"{checked.image_id}.thumb" if checked.ext == THUMBNAIL_EXT else checked.image_id
        image = self._verified[target] = _Verified(
            tag,
            checked.exp,
            origin_key(checked.image_id, checked.ext),
            f'ETag: "{tag}"\r\n{_IMAGE_FIELDS[checked.ext]}',
        )
        return image

    def _forget_verified(self, ring: KeyRing) -> None:
        """Begin anew with other keys: a retired one's URLs are not valid any more."""
        self._verified_with = ring
        self._verified.clear()

    def _storage_failed(self, error: StoreError) -> Reply:
        if self._storage_works:  # one line for an outage, not one for each request in it
            _log.error("the origin store does not answer", reason=str(error))
        self._storage_works = False
        return STORAGE_UNAVAILABLE

    def _image(self, request: Request, image: "_Verified", file: OpenObject, now: float) -> Reply:
        """Answer with the file, or as the request's conditions ask; only a reply with a body keeps it."""
        max_age = min(self._cache_seconds, int(image.exp - now))
        fields = f"{image.fields}Cache-Control: public, max-age={max_age}\r\n"
        if not request.headers and request.method == "GET":
            return _with_all(file, fields)
        reply = None
        try:
            reply = _with_file(request, image.tag, file, fields)
        finally:
            if reply is None or isinstance(reply.body, bytes):
                os.close(file.fd)
        return reply


def _with_file(request: Request, tag: str, file: OpenObject, fields: str) -> Reply:
    headers = request.headers
    if "if-none-match" in headers and names_tag(headers["if-none-match"], tag):
        return Reply(304, fields, b"")
    if request.method == "HEAD":  # a range is defined for GET only
        return Reply(200, f"{fields}Content-Length: {file.size}\r\n", b"")
    if "range" in headers and headers.get("if-range", f'"{tag}"') == f'"{tag}"':
        asked = _RANGE.fullmatch(headers["range"])
        if asked is not None and (part := _part(asked[1], asked[2], file.size)) is not None:
            return _with_part(part, file, fields)
    return _with_all(file, fields)


def _with_all(file: OpenObject, fields: str) -> Reply:
    return Reply(200, f"{fields}Content-Length: {file.size}\r\n", FileSlice(file, 0, file.size))


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
