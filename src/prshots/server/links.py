"""Signed links to images, and the read-only ports behind them: all that delivery needs.

The HMAC-SHA256 covers `/i/<id>.<ext>?exp=<exp>`. A URL is checked exactly as received, without decoding, so
there is only one way to write a valid URL.
"""

import hmac
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Protocol, runtime_checkable

from prshots.contract.errors import SettingsError
from prshots.contract.object_names import EXTENSION_PATTERN, OBJECT_NAME

MIN_SECRET_BYTES = 16
REMEMBERED_URLS = 8192
"""After every upload, a comment or a gallery mostly repeats its URLs. The cache takes at most 4 MB."""

_KEY = re.compile(r"([A-Za-z0-9_-]{1,32}):([0-9a-fA-F]+)")
_BLOCK_BYTES = 64  # the block size of SHA-256
_PATH = re.compile(rf"/i/{OBJECT_NAME.pattern}")
_TARGET = re.compile(
    rf"(/i/([0-9a-f]{{32}})\.({EXTENSION_PATTERN})\?exp=([1-9][0-9]{{0,11}}))"
    r"&token=([A-Za-z0-9_-]{1,32})\.([0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True)
class Key:
    kid: str
    secret: bytes

    @property
    def fingerprint(self) -> str:
        """A value that identifies the secret without revealing it."""
        return sha256(b"prshots signing key\0" + self.secret).hexdigest()[:32]


class KeyRing:
    """The signing keys, in order. The first key signs, and all keys verify."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = tuple(keys)
        self._by_kid = {key.kid: _Mac(key.secret) for key in self.keys}
        if not self.keys:
            raise SettingsError("no signing key: at least one is required")
        if len(self._by_kid) != len(self.keys):
            raise SettingsError("two signing keys have the same kid: give each its own")
        self.sign = lru_cache(REMEMBERED_URLS)(self._sign)

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Parse `kid:hex` pairs, separated by commas or whitespace."""
        items = [item for item in re.split(r"[,\s]+", text) if item]
        return cls(_parse_key(item, number) for number, item in enumerate(items, 1))

    def format(self) -> str:
        return "".join(f"{key.kid}:{key.secret.hex()}\n" for key in self.keys)

    @property
    def signing_kid(self) -> str:
        return self.keys[0].kid

    def __contains__(self, kid: object) -> bool:
        return kid in self._by_kid

    def _sign(self, image_id: str, ext: str, exp: int, kid: str) -> str:
        """Return the signed path and query of the image's URL.

        If `kid` no longer exists, use the first key.
        """
        if kid not in self._by_kid:
            kid = self.signing_kid
        signed = f"/i/{image_id}.{ext}?exp={exp}"
        return f"{signed}&token={kid}.{self._by_kid[kid].of(signed)}"

    def verifies(self, kid: str, signed: str, mac: str) -> bool:
        key = self._by_kid.get(kid)
        return key is not None and hmac.compare_digest(key.of(signed), mac)


class LinkState(Enum):
    VALID = auto()
    EXPIRED = auto()
    INVALID = auto()
    UNKNOWN_KEY = auto()
    NOT_AN_IMAGE_PATH = auto()


# In Python 3.11, reading an Enum member takes almost a microsecond, and delivery does so for every URL.
VALID, UNKNOWN_KEY, EXPIRED = LinkState.VALID, LinkState.UNKNOWN_KEY, LinkState.EXPIRED


class Checked(NamedTuple):
    verdict: LinkState
    image_id: str = ""
    ext: str = ""
    exp: int = 0


def check(ring: KeyRing, target: str, now: float) -> Checked:
    """Check a request target (path and query) exactly as the client sent it."""
    match = _TARGET.fullmatch(target)
    if match is None:
        is_image = _PATH.fullmatch(target.partition("?")[0])
        return Checked(LinkState.INVALID if is_image else LinkState.NOT_AN_IMAGE_PATH)
    signed, image_id, ext, exp, kid, mac = match.groups()
    if not ring.verifies(kid, signed, mac):
        return Checked(LinkState.INVALID if kid in ring else LinkState.UNKNOWN_KEY)
    expires = int(exp)
    return Checked(VALID if expires > now else EXPIRED, image_id, ext, expires)


class _Mac:
    """HMAC-SHA256 (RFC 2104) that hashes the key only once.

    Delivery checks one per request. `hmac.digest` would take a quarter of the request's time.
    """

    def __init__(self, secret: bytes) -> None:
        block = (secret if len(secret) <= _BLOCK_BYTES else sha256(secret).digest()).ljust(
            _BLOCK_BYTES, b"\0"
        )
        self._inner = sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = sha256(bytes(byte ^ 0x5C for byte in block))

    def of(self, signed: str) -> str:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(signed.encode())
        outer.update(inner.digest())
        return outer.hexdigest()


def _parse_key(item: str, number: int) -> Key:
    match = _KEY.fullmatch(item)
    if match is None or len(match[2]) % 2 or len(match[2]) < 2 * MIN_SECRET_BYTES:
        # Don't quote the value: without a colon, any part of it may be the secret, and the message is logged.
        raise SettingsError(
            f"signing key number {number} is invalid: use kid:hex, with {MIN_SECRET_BYTES} bytes or more"
        )
    return Key(match[1], bytes.fromhex(match[2]))


class OpenObject(NamedTuple):
    """An open file in the origin store, or `size` bytes of it from `offset`. The receiver must close it."""

    fd: int
    size: int
    offset: int = 0


@runtime_checkable
class FileReader(Protocol):
    """Reads a local store for delivery, which sends its files with sendfile."""

    def open(self, key: str) -> OpenObject | None:
        """Open an object for reading. Return None if it doesn't exist. Raises StoreError."""

    def check(self) -> None:
        """Raise StoreError if the store can't currently read objects."""


class ObjectStream(NamedTuple):
    """An object that is being received from a remote store. The receiver must close `chunks`.

    `size` is the size of the whole object, even if only a range was requested. `chunks` raises StoreError if
    the transfer is interrupted.
    """

    size: int
    chunks: AsyncGenerator[bytes, None]


class RemoteReader(Protocol):
    """Reads a remote store for delivery, one chunk at a time."""

    async def size(self, key: str) -> int | None:
        """Return an object's size, or None if it doesn't exist. Raises StoreError."""

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        """Start reading an object or a range of it. Return None if it doesn't exist. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if the store can't currently read objects."""


class KeySource(Protocol):
    def ring(self) -> KeyRing:
        """Return the keys, at most a few seconds old. Fast enough for every request."""

    def fresh_ring(self) -> KeyRing:
        """Return the current keys, for a URL signed with an unknown key."""
