"""Decides how to answer a request for an image. `server.py` sends the bytes.

A request gets a 200 if its signature is valid, its `exp` is in the future, and the bytes exist. Delivery
checks nothing else, so it needs no database and writes nothing.
"""

import os
import re
import secrets
import time
from collections.abc import Callable
from functools import partial

import structlog

from prshots.contract.errors import KeysError, StoreError
from prshots.contract.object_names import CONTENT_TYPES, origin_key
from prshots.server.bounded_cache import BoundedCache
from prshots.server.delivery.replies import (
    Pending,
    Reply,
    Request,
    Streamed,
    error_reply,
    json_reply,
)
from prshots.server.http.headers import names_tag
from prshots.server.links import (
    UNKNOWN_KEY,
    VALID,
    Checked,
    FileReader,
    KeyRing,
    KeySource,
    LinkState,
    OpenObject,
    RemoteReader,
    check,
)
from prshots.server.observability.outages import Outage

MAX_VERIFIED = 4096
"""How many checked URLs to cache. They take about 3 MB."""

CHECK = "/check"
CHECK_SECONDS = 60
"""How long a proxy may cache that a URL is valid. A removed key keeps working there for this long."""

_log = structlog.get_logger()


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
    LinkState.EXPIRED: EXPIRED,
    LinkState.INVALID: _INVALID,
    LinkState.UNKNOWN_KEY: _INVALID,
    LinkState.NOT_AN_IMAGE_PATH: error_reply(404, "not found"),
}
# For a proxy that asks first (deploy/nginx/). Not a 200, because nginx caches a 200 in a file, but errors in
# memory. nginx counts whole seconds and caches until the last one is over, hence the - 1.
PROXY_SENDS = Reply(
    305, f"Content-Length: 0\r\nCache-Control: max-age={CHECK_SECONDS - 1}\r\n", b"", "checked"
)
DELIVERY_SENDS = Reply(421, "Content-Length: 0\r\nCache-Control: no-store\r\n", b"", "checked")


def _kind(ext: str) -> str:
    """Return the ETag's suffix after the image's id: ".thumb" for `thumb.webp`, "" for `webp`."""
    return f".{ext}".rpartition(".")[0]


# Other sites may embed an image, but a browser must never run code in it.
_SAFE = (
    "X-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: default-src 'none'; sandbox\r\n"
    "Cross-Origin-Resource-Policy: cross-origin\r\n"
)
_IMAGE_FIELDS = {
    ext: f'{_kind(ext)}"\r\n{_SAFE}Accept-Ranges: bytes\r\nContent-Type: {content_type}\r\n'
    for ext, content_type in CONTENT_TYPES.items()
}

_EXPIRED_SINCE = Checked(LinkState.EXPIRED)
METHODS = frozenset({"GET", "HEAD"})


class Delivery:
    def __init__(
        self,
        reader: FileReader | RemoteReader,
        keys: KeySource,
        cache_seconds: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = reader if isinstance(reader, FileReader) else None
        self._keys = keys
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._outage = Outage("storage unavailable", "storage is back")
        self._verified = BoundedCache[str, Checked](MAX_VERIFIED)
        self._verified_with: KeyRing | None = None
        self._long_valid_fields = {
            ext: fields + _cache_control(cache_seconds) for ext, fields in _IMAGE_FIELDS.items()
        }
        self._find = (
            self._find_on_disk(reader) if isinstance(reader, FileReader) else self._find_remotely(reader)
        )

    def respond(self, request: Request) -> Reply | Pending:
        """Answer without ever raising. Logs an unexpected error under the request id in the reply."""
        try:
            reply = self._answer(request)
        except KeysError:
            reply = _answer_without_keys(request.target)
        except Exception:  # noqa: BLE001 - here and in `_answer_from_remote`, a bug becomes a 500
            reply = _internal_error(request)
        if request.method == "HEAD" and isinstance(reply, Reply):
            return _drop_body(reply)
        return reply

    def send_plainly(self, target: str) -> Reply | None:
        """Answer a GET without conditions from disk, in two thirds of the time of `respond`.

        Without it, images per second drop by up to 20 %. Returns None if it isn't that simple: `respond` then
        decides. It makes the same checks.
        """
        if self._files is None:
            return None
        now = self._clock()
        try:
            image = self._verify(target, now)
            if image.verdict is not VALID or image.exp - now < self._cache_seconds:
                return None
            file = self._files.open(origin_key(image.image_id, image.ext))
        except Exception:  # noqa: BLE001 - `respond` meets the same error, and reports it
            return None
        if file is None:
            return None
        self._outage.note_success("read")
        fields = f'ETag: "{image.image_id}{self._long_valid_fields[image.ext]}Content-Length: {file.size}\r\n'
        return Reply(200, fields, file, "sent")

    def storage_failed(self, error: StoreError) -> Reply:
        if not error.count_request:  # a remote reader logs its own outages
            self._outage.note("read", error)
        if error.count_request:
            error.count_request()
        return STORAGE_UNAVAILABLE

    def _answer(self, request: Request) -> Reply | Pending:
        if request.method not in METHODS:
            return METHOD_NOT_ALLOWED
        now = self._clock()
        image = self._verify(request.target, now)
        if image.verdict is VALID:
            return self._find(request, image, now)
        if request.target.startswith(CHECK):
            return self._check(request.target.removeprefix(CHECK), now)
        return HEALTHY if request.target.partition("?")[0] == "/healthz" else _REFUSALS[image.verdict]

    def _check(self, target: str, now: float) -> Reply:
        """Tell a proxy with access to the files whether to send one. Otherwise, the proxy forwards our reply.

        The proxy caches the answer, and its clients cache the image. If both caches together could outlive
        the URL, delivery sends the image itself.
        """
        image = self._verify(target, now)
        if image.verdict is not VALID:
            return _REFUSALS[image.verdict]
        expires_soon = image.exp - now < self._cache_seconds + CHECK_SECONDS
        return DELIVERY_SENDS if expires_soon else PROXY_SENDS

    def _verify(self, target: str, now: float) -> Checked:
        """Check a URL. Caches valid URLs, because all readers of a comment request the same images."""
        ring = self._keys.ring()
        if ring is not self._verified_with:
            self._forget_verified(ring)
        image = self._verified.get(target)
        if image is not None:
            return image if image.exp > now else _EXPIRED_SINCE
        checked = check(ring, target, now)
        if checked.verdict is UNKNOWN_KEY:  # the key may have just been created
            ring = self._keys.fresh_ring()
            self._forget_verified(ring)
            checked = check(ring, target, now)
        if checked.verdict is not VALID:
            return checked
        self._verified.put(target, checked)
        return checked

    def _forget_verified(self, ring: KeyRing) -> None:
        """Clear the cache when the keys change, because URLs signed with removed keys are no longer valid."""
        self._verified_with = ring
        self._verified.clear()

    def _fields(self, image: Checked, now: float) -> str:
        seconds_left = image.exp - now
        if seconds_left >= self._cache_seconds:
            return f'ETag: "{image.image_id}{self._long_valid_fields[image.ext]}'
        return f'ETag: "{image.image_id}{_IMAGE_FIELDS[image.ext]}{_cache_control(max(0, int(seconds_left)))}'

    def _find_on_disk(self, reader: FileReader) -> Callable[[Request, Checked, float], Reply]:
        def find(request: Request, image: Checked, now: float) -> Reply:
            try:
                file = reader.open(origin_key(image.image_id, image.ext))
            except StoreError as error:
                return self.storage_failed(error)
            self._outage.note_success("read")
            if file is None:
                return EXPIRED
            return _send_file(request, _tag(image), file, self._fields(image, now))

        return find

    def _find_remotely(self, reader: RemoteReader) -> Callable[[Request, Checked, float], Pending]:
        return lambda request, image, _: partial(self._answer_from_remote, reader, request, image)

    async def _answer_from_remote(self, reader: RemoteReader, request: Request, image: Checked) -> Reply:
        try:
            reply = await self._fetch(reader, request, image)
        except StoreError as error:
            reply = self.storage_failed(error)
        except Exception:  # noqa: BLE001 - see `respond`
            reply = _internal_error(request)
        else:
            self._outage.note_success("read")
        return _drop_body(reply) if request.method == "HEAD" else reply

    async def _fetch(self, reader: RemoteReader, request: Request, image: Checked) -> Reply:
        """Request the bytes immediately if the reply is sure to need them. Otherwise, get the size first."""
        part: range | None = None
        key = origin_key(image.image_id, image.ext)
        if request.headers or request.method == "HEAD":
            size = await reader.size(key)
            if size is None:
                return EXPIRED
            answer = apply_conditions(request, _tag(image), size, self._fields(image, self._clock()))
            if isinstance(answer, Reply):
                return answer
            part = answer
        stream = await reader.stream(key, part)
        if stream is None:
            return EXPIRED
        status, fields = status_and_fields(part, stream.size, self._fields(image, self._clock()))
        length = stream.size if part is None else len(part)
        return Reply(status, fields, Streamed(stream.chunks, length), "sent")


def _tag(image: Checked) -> str:
    return f"{image.image_id}{_kind(image.ext)}"


def _cache_control(max_age: int) -> str:
    return f"Cache-Control: public, max-age={max_age}\r\n"


def _drop_body(reply: Reply) -> Reply:
    """Drop the body for HEAD. It is never a file or stream, because `apply_conditions` opens neither."""
    return reply._replace(body=b"")


def _answer_without_keys(target: str) -> Reply:
    """Answer a request while there are no keys to check URLs with."""
    path = target.partition("?")[0]
    if path == "/healthz":
        return HEALTHY
    return KEYS_UNAVAILABLE if path.startswith(("/i/", CHECK)) else _REFUSALS[LinkState.NOT_AN_IMAGE_PATH]


def _internal_error(request: Request) -> Reply:
    request_id = request.request_id or secrets.token_hex(8)
    _log.exception("internal error", request_id=request_id, path=request.target.partition("?")[0][:200])
    new = "" if request.request_id else f"X-Request-Id: {request_id}\r\n"  # the server adds a given one
    return error_reply(500, "internal error", new, result="failed")


def _send_file(request: Request, tag: str, file: OpenObject, fields: str) -> Reply:
    """Answer according to the request's conditions. Close the file unless the reply sends it."""
    try:
        answer = apply_conditions(request, tag, file.size, fields)
    except Exception:
        os.close(file.fd)
        raise
    if isinstance(answer, Reply):
        os.close(file.fd)
        return answer
    status, fields = status_and_fields(answer, file.size, fields)
    if answer is not None:
        file = OpenObject(file.fd, len(answer), answer.start)
    return Reply(status, fields, file, "sent")


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
        if part is not None and not part:  # beyond the end
            extra = f"Content-Range: bytes */{size}\r\n"
            return error_reply(416, "range not satisfiable", extra, result="unsatisfiable")
        return part
    return None


def _read_range(first: str, last: str, size: int) -> range | None:
    """Return the requested range. It is empty if beyond the end, and None if the header is invalid."""
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


def status_and_fields(part: range | None, size: int, fields: str) -> tuple[int, str]:
    """Return the status and header lines for a reply with this range of the image."""
    if part is None:
        return 200, f"{fields}Content-Length: {size}\r\n"
    content_range = f"Content-Range: bytes {part.start}-{part.stop - 1}/{size}\r\n"
    return 206, f"{fields}{content_range}Content-Length: {len(part)}\r\n"
