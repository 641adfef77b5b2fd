"""What a request for an image is answered with. It decides; `delivery_server.py` moves the bytes.

A valid signature, an `exp` that has not passed and bytes that are there make a 200: nothing else is asked, so
there is no database here, and nothing is ever written.
"""

import json
import os
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple

import structlog

from prshots.contract.errors import StoreError
from prshots.contract.object_names import CONTENT_TYPES, THUMBNAIL_EXT, origin_key
from prshots.server.domain.ports import FileReader, KeySource, OpenObject, RemoteReader
from prshots.server.domain.signing import KeyRing, Verdict, check
from prshots.server.http.headers import names_tag

MAX_VERIFIED = 4096
"""How many checked URLs are remembered: about 3 MB."""

CHECK = "/check"
CHECK_SECONDS = 60
"""How long a proxy may take a URL for valid that it has asked about. A key that is retired ends after it."""

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


class Streamed(NamedTuple):
    """`length` bytes that come from a remote store a chunk at a time: whoever gets it closes `chunks`."""

    chunks: AsyncGenerator[bytes, None]
    length: int


class Reply(NamedTuple):
    """`fields` are the header lines, each with its line end, ready to be sent.

    `result` says in a word what became of a request for an image; it is empty for any other request.
    """

    status: int
    fields: str
    body: bytes | FileSlice | Streamed
    result: str = ""


Pending = Callable[[], Coroutine[Any, Any, Reply]]
"""Gets a reply from a remote store, whatever happens: it does not raise."""


def json_reply(status: int, content: Mapping[str, Any], extra_fields: str = "", result: str = "") -> Reply:
    body = json.dumps(content, separators=(",", ":")).encode()
    fields = (
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
    )
    return Reply(status, fields + extra_fields, body, result)


def error_reply(status: int, message: str, extra_fields: str = "", result: str = "") -> Reply:
    return json_reply(status, {"error": message}, extra_fields, result)


RETRY_LATER = "Retry-After: 5\r\n"
HEALTHY = json_reply(200, {"status": "ok"})
METHOD_NOT_ALLOWED = error_reply(405, "method not allowed", "Allow: GET, HEAD\r\n")
EXPIRED = error_reply(410, "expired", result="expired")
STORAGE_UNAVAILABLE = error_reply(503, "storage unavailable, retry later", RETRY_LATER, result="unavailable")
_INVALID = error_reply(403, "invalid signature", result="invalid")
_REFUSALS = {
    Verdict.EXPIRED: EXPIRED,
    Verdict.INVALID: _INVALID,
    Verdict.UNKNOWN_KEY: _INVALID,
    Verdict.NOT_AN_IMAGE_PATH: error_reply(404, "not found"),
}
# To a proxy that asks first. No 200: nginx remembers errors in memory, a 200 in a file (deploy/nginx/). It
# counts in whole seconds, and remembers until the last of them is over.
PROXY_SENDS = Reply(
    305, f"Content-Length: 0\r\nCache-Control: max-age={CHECK_SECONDS - 1}\r\n", b"", "checked"
)
DELIVERY_SENDS = Reply(421, "Content-Length: 0\r\nCache-Control: no-store\r\n", b"", "checked")

# Other sites may show an image, but it is no page of ours: whatever its bytes are, nothing in it runs.
_SAFE = (
    "X-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: default-src 'none'; sandbox\r\n"
    "Cross-Origin-Resource-Policy: cross-origin\r\n"
)
_IMAGE_FIELDS = {
    ext: f"{_SAFE}Accept-Ranges: bytes\r\nContent-Type: {content_type}\r\n"
    for ext, content_type in CONTENT_TYPES.items()
}

PARTIAL = 206
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
        reader: FileReader | RemoteReader,
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
        self._find = self._on_disk(reader) if isinstance(reader, FileReader) else self._elsewhere(reader)

    def respond(self, request: Request) -> Reply | Pending:
        """Answer, whatever happens; a fault of our own is logged under the id that the reply carries."""
        try:
            reply = self._answer(request)
        except Exception:  # noqa: BLE001 - here and in `_from_remote` a fault becomes a reply
            reply = _fault(request)
        return _fit(request, reply) if isinstance(reply, Reply) else reply

    def storage_failed(self, error: StoreError) -> Reply:
        if self._storage_works:  # one line for an outage, not one for each request in it
            _log.error("the origin store does not answer", reason=str(error))
        self._storage_works = False
        return STORAGE_UNAVAILABLE

    def _answer(self, request: Request) -> Reply | Pending:
        if request.method not in _METHODS:
            return METHOD_NOT_ALLOWED
        now = self._clock()
        image = self._verify(request.target, now)
        if isinstance(image, _Verified):
            return self._find(request, image, now)
        if request.target.startswith(CHECK):
            return self._check(request.target.removeprefix(CHECK), now)
        return HEALTHY if request.target.partition("?")[0] == "/healthz" else _REFUSALS[image]

    def _check(self, target: str, now: float) -> Reply:
        """Tell a proxy that has the bytes itself whether to send them; if not, the reply is its client's.

        It will send them for as long as it remembers, and tell its clients to keep them for the usual time.
        Where that could end after the URL does, it is told to have delivery send them.
        """
        image = self._verify(target, now)
        if not isinstance(image, _Verified):
            return _REFUSALS[image]
        near_its_end = image.exp - now < self._cache_seconds + CHECK_SECONDS
        return DELIVERY_SENDS if near_its_end else PROXY_SENDS

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

    def _fields(self, image: "_Verified", now: float) -> str:
        max_age = max(0, min(self._cache_seconds, int(image.exp - now)))
        return f"{image.fields}Cache-Control: public, max-age={max_age}\r\n"

    def _on_disk(self, reader: FileReader) -> "Callable[[Request, _Verified, float], Reply]":
        def find(request: Request, image: _Verified, now: float) -> Reply:
            try:
                file = reader.open(image.key)
            except StoreError as error:
                return self.storage_failed(error)
            self._storage_works = True
            if file is None:
                return EXPIRED
            fields = self._fields(image, now)
            if not request.headers and request.method == "GET":
                return Reply(
                    200, f"{fields}Content-Length: {file.size}\r\n", FileSlice(file, 0, file.size), "sent"
                )
            return _with_file(request, image.tag, file, fields)

        return find

    def _elsewhere(self, reader: RemoteReader) -> "Callable[[Request, _Verified, float], Pending]":
        return lambda request, image, _: partial(self._from_remote, reader, request, image)

    async def _from_remote(self, reader: RemoteReader, request: Request, image: "_Verified") -> Reply:
        try:
            reply = await self._asked_of(reader, request, image)
        except StoreError as error:
            reply = self.storage_failed(error)
        except Exception:  # noqa: BLE001 - see `respond`
            reply = _fault(request)
        else:
            self._storage_works = True
        return _fit(request, reply)

    async def _asked_of(self, reader: RemoteReader, request: Request, image: "_Verified") -> Reply:
        """Ask for the bytes at once if they are sure to be wanted; else for the size first."""
        part = None
        if request.headers or request.method == "HEAD":
            size = await reader.size(image.key)
            if size is None:
                return EXPIRED
            answer = _conditional(request, image.tag, size, self._fields(image, self._clock()))
            if isinstance(answer, Reply):
                return answer
            part = answer.part if answer.status == PARTIAL else None
        stream = await reader.stream(image.key, part)
        if stream is None:
            return EXPIRED
        fields = self._fields(image, self._clock())
        answer = _all(stream.size, fields) if part is None else _some(part, stream.size, fields)
        return Reply(answer.status, answer.fields, Streamed(stream.chunks, len(answer.part)), "sent")


def _fit(request: Request, reply: Reply) -> Reply:
    """Leave the body out for HEAD; it had the conditions answered without the bytes."""
    return reply._replace(body=b"") if request.method == "HEAD" else reply


def _fault(request: Request) -> Reply:
    request_id = secrets.token_hex(8)
    _log.exception("internal error", request_id=request_id, path=request.target.partition("?")[0][:200])
    return error_reply(500, "internal error", f"X-Request-Id: {request_id}\r\n", result="failed")


class _Bytes(NamedTuple):
    """A reply that needs bytes of the image: these positions of it."""

    status: int
    fields: str
    part: range


def _with_file(request: Request, tag: str, file: OpenObject, fields: str) -> Reply:
    """Answer as the request's conditions ask; only a reply with a body keeps the file."""
    answer = None
    try:
        answer = _conditional(request, tag, file.size, fields)
    finally:
        if not isinstance(answer, _Bytes):
            os.close(file.fd)
    if isinstance(answer, Reply):
        return answer
    return Reply(answer.status, answer.fields, FileSlice(file, answer.part.start, len(answer.part)), "sent")


def _conditional(request: Request, tag: str, size: int, fields: str) -> "Reply | _Bytes":
    headers = request.headers
    if "if-none-match" in headers and names_tag(headers["if-none-match"], tag):
        return Reply(304, fields, b"", "not_modified")
    if request.method == "HEAD":  # a range is defined for GET only
        return Reply(200, f"{fields}Content-Length: {size}\r\n", b"", "sent")
    if "range" in headers and headers.get("if-range", f'"{tag}"') == f'"{tag}"':
        asked = _RANGE.fullmatch(headers["range"])
        if asked is not None and (part := _part(asked[1], asked[2], size)) is not None:
            return _some(part, size, fields) if part else _none(size)
    return _all(size, fields)


def _all(size: int, fields: str) -> "_Bytes":
    return _Bytes(200, f"{fields}Content-Length: {size}\r\n", range(size))


def _part(first: str, last: str, size: int) -> range | None:
    """Return the positions asked for, an empty range if there are none of them; None if it makes no sense."""
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


def _some(part: range, size: int, fields: str) -> "_Bytes":
    content_range = f"Content-Range: bytes {part.start}-{part.stop - 1}/{size}\r\n"
    return _Bytes(PARTIAL, f"{fields}{content_range}Content-Length: {len(part)}\r\n", part)


def _none(size: int) -> Reply:
    extra = f"Content-Range: bytes */{size}\r\n"
    return error_reply(416, "range not satisfiable", extra, result="unsatisfiable")
