"""Sign a delivery URL and check one: pure, and every key of the ring verifies.

The HMAC-SHA256 is taken over `/i/<id>.<ext>?exp=<exp>`. A URL is checked as the bytes it came in as: nothing
is decoded, so there is one way only to write a valid URL.
"""

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from prshots.errors import SettingsError

MIN_SECRET_BYTES = 16
_KEY = re.compile(r"([A-Za-z0-9_-]{1,32}):([0-9a-fA-F]+)")
_PATH = re.compile(r"/i/([0-9a-f]{32})\.(png|jpg|webp)")
_QUERY = re.compile(r"exp=([1-9][0-9]{0,11})&token=([A-Za-z0-9_-]{1,32})\.([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Key:
    kid: str
    secret: bytes


class KeyRing:
    """The signing keys in order: the first signs, all verify."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = tuple(keys)
        self._by_kid = {key.kid: key.secret for key in self.keys}
        if not self.keys:
            raise SettingsError("no signing key: there must be at least one")
        if len(self._by_kid) != len(self.keys):
            raise SettingsError("two signing keys have the same name")

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Read `kid:hex` pairs, apart by commas or white space."""
        items = [item for item in re.split(r"[,\s]+", text) if item]
        return cls(_parse_key(item, number) for number, item in enumerate(items, 1))

    def format(self) -> str:
        return "".join(f"{key.kid}:{key.secret.hex()}\n" for key in self.keys)

    @property
    def signing_kid(self) -> str:
        return self.keys[0].kid

    def __contains__(self, kid: object) -> bool:
        return kid in self._by_kid

    def sign(self, image_id: str, ext: str, exp: int, kid: str) -> str:
        """Return path and query of the image's URL, signed with `kid`; if that is gone, with the first."""
        if kid not in self._by_kid:
            kid = self.signing_kid
        signed = f"/i/{image_id}.{ext}?exp={exp}"
        return f"{signed}&token={kid}.{_mac(self._by_kid[kid], signed)}"

    def verifies(self, kid: str, signed: str, mac: str) -> bool:
        secret = self._by_kid.get(kid)
        return secret is not None and hmac.compare_digest(_mac(secret, signed), mac)


class Verdict(Enum):
    VALID = auto()
    EXPIRED = auto()
    INVALID = auto()
    UNKNOWN_KEY = auto()
    NOT_AN_IMAGE_PATH = auto()


@dataclass(frozen=True, slots=True)
class Checked:
    verdict: Verdict
    image_id: str = ""
    ext: str = ""
    exp: int = 0


def check(ring: KeyRing, path: str, query: str, now: float) -> Checked:
    """Judge a request's raw path and raw query, just as they came over the wire."""
    at = _PATH.fullmatch(path)
    if at is None:
        return Checked(Verdict.NOT_AN_IMAGE_PATH)
    asked = _QUERY.fullmatch(query)
    if asked is None:
        return Checked(Verdict.INVALID)
    exp, kid, mac = asked.groups()
    if kid not in ring:
        return Checked(Verdict.UNKNOWN_KEY)
    if not ring.verifies(kid, f"{path}?exp={exp}", mac):
        return Checked(Verdict.INVALID)
    verdict = Verdict.VALID if int(exp) > now else Verdict.EXPIRED
    return Checked(verdict, at[1], at[2], int(exp))


def _mac(secret: bytes, signed: str) -> str:
    return hmac.digest(secret, signed.encode(), "sha256").hex()


def _parse_key(item: str, number: int) -> Key:
    match = _KEY.fullmatch(item)
    if match is None or len(match[2]) % 2 or len(match[2]) < 2 * MIN_SECRET_BYTES:
        # Not a word of it: with the colon missing, any part may be the secret, and this ends up in a log.
        raise SettingsError(
            f"signing key number {number} is not of the form kid:hex with {MIN_SECRET_BYTES} bytes or more"
        )
    return Key(match[1], bytes.fromhex(match[2]))
