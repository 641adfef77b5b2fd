"""Decides how to answer a request for an image; `connection.py` sends the bytes.

A valid signature, an `exp` in the future and existing bytes make a 200. Nothing else is checked, so delivery
needs no database and writes nothing.
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

from prshots.contract.errors import KeysError, StoreError
from prshots.contract.object_names import CONTENT_TYPES, origin_key
from prshots.server.domain.ports import FileReader, KeySource, OpenObject, RemoteReader
from prshots.server.domain.signing import KeyRing, Verdict, check
from prshots.server.http.headers import names_tag
from prshots.server.observability.outages import Outage

MAX_VERIFIED = 4096
"""How many checked URLs are cached; they take about 3 MB."""

CHECK = "/check"
CHECK_SECONDS = 60
"""How long a proxy may cache that a URL is valid, and so how long a removed key still works there."""

_log = structlog.get_logger()


class Request(NamedTuple):
    """The target is exactly as the client sent it. Header names are lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


class FileSlice(NamedTuple):
    """A part of an open file. The receiver must close the file."""

    file: OpenObject
    offset: int
    length: int


class Streamed(NamedTuple):
    """`length` bytes that arrive from a remote store in chunks. The receiver must close `chunks`."""

    chunks: AsyncGenerator[bytes, None]
    length: int


class Reply(NamedTuple):
    """`fields` are the header lines, each with its line end.

    `result` is the outcome of a request for an image, as the metrics count it; "" for any other request.
    """

    status: int
    fields: str
    body: bytes | FileSlice | Streamed
    result: str = ""


Pending = Callable[[], Coroutine[Any, Any, Reply]]
"""Gets the reply from a remote store. It never raises."""


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
KEYS_UNAVAILABLE = error_reply(
    503, "signing keys unavailable, retry later", RETRY_LATER, result="unavailable"
)
_INVALID = error_reply(403, "invalid signature", result="invalid")
_REFUSALS = {
    Verdict.EXPIRED: EXPIRED,
    Verdict.INVALID: _INVALID,
    Verdict.UNKNOWN_KEY: _INVALID,
    Verdict.NOT_AN_IMAGE_PATH: error_reply(404, "not found"),
}
# For a proxy that asks first (deploy/nginx/). Not 200, because nginx caches a 200 in a file, but errors in
# memory. It counts whole seconds and caches until the last one is over, hence the - 1.
PROXY_SENDS = Reply(
    305, f"Content-Length: 0\r\nCache-Control: max-age={CHECK_SECONDS - 1}\r\n", b"", "checked"
)
DELIVERY_SENDS = Reply(421, "Content-Length: 0\r\nCache-Control: no-store\r\n", b"", "checked")

# Other sites may embed an image, but a browser must never run anything in it.
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
# Thirty digits exceed the size of any file, and int() accepts them.
_RANGE = re.compile(r"bytes=([0-9]{0,30})-([0-9]{0,30})", re.IGNORECASE)


class _Verified(NamedTuple):
    """An image whose URL was checked, with the header lines that all its replies share."""

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
        self._outage = Outage("storage unavailable", "storage is back")
        self._verified: dict[str, _Verified] = {}
        self._verified_with: KeyRing | None = None
        self._find = self._on_disk(reader) if isinstance(reader, FileReader) else self._remotely(reader)

    def respond(self, request: Request) -> Reply | Pending:
        """Answer without ever raising. An unexpected error is logged under the request id in the reply."""
        try:
            reply = self._answer(request)
        except KeysError:
            reply = _without_keys(request.target)
        except Exception:  # noqa: BLE001 - here and in `_from_remote` a bug becomes a 500
            reply = _internal_error(request)
        return _without_body_for_head(request, reply) if isinstance(reply, Reply) else reply

    def storage_failed(self, error: StoreError) -> Reply:
        if not error.count_request:  # a remote reader notes its own outages
            self._outage.note("read", error)
        if error.count_request:
            error.count_request()
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
        """Tell a proxy with access to the files whether to send one. Otherwise it passes our reply on.

        The proxy caches the answer, and its clients cache the image. If both together could outlive the URL,
        the proxy is told to let delivery send the image.
        """
        image = self._verify(target, now)
        if not isinstance(image, _Verified):
            return _REFUSALS[image]
        expires_soon = image.exp - now < self._cache_seconds + CHECK_SECONDS
        return DELIVERY_SENDS if expires_soon else PROXY_SENDS

    def _verify(self, target: str, now: float) -> "_Verified | Verdict":
        """Check a URL. Valid ones are cached, because all readers of a comment ask for the same images."""
        ring = self._keys.ring()
        if ring is not self._verified_with:
            self._forget_verified(ring)
        image = self._verified.get(target)
        if image is not None:
            return image if image.exp > now else Verdict.EXPIRED
        checked = check(ring, target, now)
        if checked.verdict is Verdict.UNKNOWN_KEY:  # it may have been created a moment ago
            ring = self._keys.fresh_ring()
            self._forget_verified(ring)
            checked = check(ring, target, now)
        if checked.verdict is not Verdict.VALID:
            return checked.verdict
        if len(self._verified) >= MAX_VERIFIED:
            self._verified.clear()
        tag = f"{checked.image_id}.{checked.ext}".rpartition(".")[0]  # a thumbnail's is `<id>.thumb`
        image = self._verified[target] = _Verified(
            tag,
            checked.exp,
            origin_key(checked.image_id, checked.ext),
            f'ETag: "{tag}"\r\n{_IMAGE_FIELDS[checked.ext]}',
        )
        return image

    def _forget_verified(self, ring: KeyRing) -> None:
        """Empty the cache when the keys change, because URLs of removed keys are no longer valid."""
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
            self._outage.works("read")
            if file is None:
                return EXPIRED
            fields = self._fields(image, now)
            if not request.headers and request.method == "GET":
                return Reply(
                    200, f"{fields}Content-Length: {file.size}\r\n", FileSlice(file, 0, file.size), "sent"
                )
            return _with_file(request, image.tag, file, fields)

        return find

    def _remotely(self, reader: RemoteReader) -> "Callable[[Request, _Verified, float], Pending]":
        return lambda request, image, _: partial(self._from_remote, reader, request, image)

    async def _from_remote(self, reader: RemoteReader, request: Request, image: "_Verified") -> Reply:
        try:
            reply = await self._fetch(reader, request, image)
        except StoreError as error:
            reply = self.storage_failed(error)
        except Exception:  # noqa: BLE001 - see `respond`
            reply = _internal_error(request)
        else:
            self._outage.works("read")
        return _without_body_for_head(request, reply)

    async def _fetch(self, reader: RemoteReader, request: Request, image: "_Verified") -> Reply:
        """Ask for the bytes right away if they are surely needed, otherwise for the size first."""
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


def _without_body_for_head(request: Request, reply: Reply) -> Reply:
    """Drop the body for HEAD. It is never a file or stream, because `_conditional` opens none for HEAD."""
    return reply._replace(body=b"") if request.method == "HEAD" else reply


def _without_keys(target: str) -> Reply:
    """Answer while there are no keys yet. Whether the URL of an image is valid is not known then."""
    path = target.partition("?")[0]
    if path == "/healthz":
        return HEALTHY
    return KEYS_UNAVAILABLE if path.startswith(("/i/", CHECK)) else _REFUSALS[Verdict.NOT_AN_IMAGE_PATH]


def _internal_error(request: Request) -> Reply:
    request_id = secrets.token_hex(8)
    _log.exception("internal error", request_id=request_id, path=request.target.partition("?")[0][:200])
    return error_reply(500, "internal error", f"X-Request-Id: {request_id}\r\n", result="failed")


class _Bytes(NamedTuple):
    """A reply with this range of the image's bytes."""

    status: int
    fields: str
    part: range


def _with_file(request: Request, tag: str, file: OpenObject, fields: str) -> Reply:
    """Answer according to the request's conditions. The file stays open only if the reply sends it."""
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
    """Return the requested range; empty if it is beyond the end, None if the header is invalid."""
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
