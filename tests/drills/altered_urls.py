"""Alterations of signed image URLs.

The target of a URL is its path and query, as sent. A target is altered if it differs from every issued target in at
least one byte: delivery does not decode or normalize, so `%69` is not `i`. The host is not part of the target and is
not signed.
"""

import base64
import hashlib
import hmac
import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self
from urllib.parse import quote

from drills.content_mutations import some_bytes_changed

HEX = "0123456789abcdef"
EXTENSIONS = (
    "png",
    "jpg",
    "jpeg",
    "webp",
    "thumb.webp",
    "closeup1.png",
    "gif",
    "svg",
    "PNG",
    "",
    "png.",
    ".png",
    "png/",
    "png%00",
)
KIDS = ("k0", "k1", "k2", "K1", "", "k", "k11", "k1.k1", "../k1", "*", "none", "k%31", "k1 ", "a" * 33)
NOT_IN_A_LINE = re.compile(rb"[\r\n]")
_TARGET = re.compile(r"/i/([0-9a-f]{32})\.([a-z0-9.]+)\?exp=([0-9]+)&token=([^.]+)\.([0-9a-f]{64})")


class Url(NamedTuple):
    """The pieces of an issued URL's target."""

    id: str
    ext: str
    exp: str
    kid: str
    mac: str

    @classmethod
    def parse(cls, target: str) -> Self:
        found = _TARGET.fullmatch(target)
        assert found is not None, target
        return cls(*found.groups())

    def __str__(self) -> str:
        return f"/i/{self.id}.{self.ext}?exp={self.exp}&token={self.kid}.{self.mac}"

    @property
    def signed(self) -> str:
        return f"/i/{self.id}.{self.ext}?exp={self.exp}"


Alter = Callable[[random.Random, Url, Url], str | bytes]
"""Gets a URL and another one, both issued."""


def altered(rng: random.Random, urls: Sequence[Url], issued: frozenset[bytes]) -> bytes:
    """Return a target that was never issued."""
    while True:
        url, other = rng.choice(urls), rng.choice(urls)
        made = rng.choice(ALTERATIONS)(rng, url, other)
        target = made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
        target = NOT_IN_A_LINE.sub(b"", target)
        if target and target not in issued:
            return target


def _one_character(rng: random.Random, url: Url, _: Url) -> str:
    target = str(url)
    at = rng.randrange(len(target))
    return target[:at] + rng.choice(HEX + "ghxyzAF.-_~/?&=%+") + target[at + 1 :]


def _one_piece(rng: random.Random, url: Url, _: Url) -> str:
    name = rng.choice(("id", "exp", "mac"))
    value = getattr(url, name)
    at, kind = rng.randrange(len(value)), rng.randrange(4)
    digit = rng.choice(HEX)
    changed = (
        value[:at] + digit + value[at + 1 :],
        value[:at] + value[at + 1 :],
        value[:at] + digit + value[at:],
        value[:at] + value[at:].swapcase() if name != "exp" else value[::-1],
    )[kind]
    return str(url._replace(**{name: changed}))


def _swapped(rng: random.Random, url: Url, other: Url) -> str:
    """Take some pieces from another valid URL."""
    names = rng.sample(Url._fields, rng.randrange(1, len(Url._fields)))
    return str(url._replace(**{name: getattr(other, name) for name in names}))


def _extension(rng: random.Random, url: Url, _: Url) -> str:
    return str(url._replace(ext=rng.choice(EXTENSIONS)))


def _kid(rng: random.Random, url: Url, _: Url) -> str:
    return str(url._replace(kid=rng.choice(KIDS)))


def _expiry(rng: random.Random, url: Url, _: Url) -> str:
    exp = int(url.exp)
    digits = "".join(chr(ord(digit) - ord("0") + rng.choice((0x0660, 0xFF10, 0x0966))) for digit in url.exp)
    return str(url._replace(exp=rng.choice((
        str(exp + rng.choice((-1, 1, 86_400, -86_400, 10**9))), str(rng.randrange(2**33)), "0", "-1", "1", f"0{exp}", f"+{exp}",
        f" {exp}", f"{exp}.0", f"{exp}e0", f"{exp:x}", hex(exp), f"{exp}&exp={exp}", "9" * 12, "9" * 13, "9" * 300, "",
        digits, f"{exp}%30", f"{exp}_000", "NaN", "inf", quote(digits),
    ))))  # fmt: skip


def _cut_or_longer(rng: random.Random, url: Url, other: Url) -> str:
    target = str(url)
    at = rng.randrange(1, len(target))
    return rng.choice(
        (target[:at], target[at:], target + target[:at], target + rng.choice(HEX), target + str(other))
    )


def _case(rng: random.Random, url: Url, _: Url) -> str:
    target = str(url)
    return rng.choice((
        target.upper(), target.swapcase(), target.title(), "/I/" + target[3:], str(url._replace(id=url.id.upper())),
        str(url._replace(mac=url.mac.upper())), target.replace("token", "Token"), target.replace("exp", "EXP"),
    ))  # fmt: skip


def _encoded(rng: random.Random, url: Url, _: Url) -> str:
    """Percent-encode some characters: an equal URL for a proxy that normalizes, but not as issued."""
    target = str(url)
    chosen = {rng.randrange(len(target)) for _ in range(rng.choice((1, 1, 2, 10, 300)))}
    form = rng.choice(("%{:02x}", "%{:02X}", "%25{:02x}", "%u00{:02x}", "&#{};"))
    return "".join(form.format(ord(char)) if at in chosen else char for at, char in enumerate(target))


def _path(rng: random.Random, url: Url, _: Url) -> str:
    target = str(url)
    name, _, query = target.removeprefix("/i/").partition("?")
    return rng.choice((
        f"//i/{name}", f"/i//{name}", f"/i/./{name}", f"/./i/{name}", f"/i/../i/{name}", f"/x/../i/{name}", f"/i/{name}/", f"/i/{name}/.",
        f"/i/{name};x", f"/i;x/{name}", f"/i\\{name}", f"/i/%2e/{name}", f"/i%2f{name}", f"/i/{name}%20", f"/i/ {name}", f"i/{name}",
        f"http://localhost/i/{name}", f"https://other.example/i/{name}", f"//other.example/i/{name}", f"/check/check/i/{name}", f"/img/i/{name}",
        f"/i/{url.id[:2]}/{name}", f"/i/{name}#", f"/i/{name}%00", f"/i/{name}\0", f"/ i/{name}", f"/i/{name}.", f"/j/{name}", f"/i/{name}%3f",
    )) + f"?{query}"  # fmt: skip


def _query(rng: random.Random, url: Url, other: Url) -> str:
    exp, token, more = f"exp={url.exp}", f"token={url.kid}.{url.mac}", f"token={other.kid}.{other.mac}"
    path = f"/i/{url.id}.{url.ext}"
    return path + rng.choice((
        f"?{token}&{exp}", f"?{exp}&{token}&x=1", f"?x=1&{exp}&{token}", f"?{exp}&{token}&", f"?&{exp}&{token}", f"?{exp}&&{token}", f"??{exp}&{token}",
        f"?{exp}&{exp}&{token}", f"?{exp}&{token}&{token}", f"?{exp}&{more}&{token}", f"?{exp}&{token}&{more}", f"?{exp};{token}", f"?{exp}&amp;{token}",
        f"?{exp}", f"?{token}", "", "?", f"?{exp}&token=", f"?{exp}&token", f"?{exp}&token={url.mac}", f"?{exp}&token={url.kid}.", f"?{exp}&token=.{url.mac}",
        f"?{exp}&token={url.kid}..{url.mac}", f"?{exp}&token={url.kid}.{url.mac}.{url.mac}", f"?{exp}&token[]={url.kid}.{url.mac}", f"?{exp}&{token}#{token}",
        f"?{exp}&token=%20{url.kid}.{url.mac}", f"?{exp}+&{token}", f"?{exp}&{token}+", f"?{exp}&{token}=", f"?{exp}&{token}%0a", f"&{exp}&{token}",
    ))  # fmt: skip


def _signature(rng: random.Random, url: Url, _: Url) -> str:
    """Write the signature in another way, or sign something else."""
    raw = bytes.fromhex(url.mac)
    urlsafe = base64.urlsafe_b64encode(raw).decode()
    last = chr(ord(urlsafe[-2]) ^ 1)  # 32 bytes leave two unused bits: other letters decode to the same bytes
    return str(url._replace(mac=rng.choice((
        urlsafe, urlsafe.rstrip("="), urlsafe[:-2] + last, base64.b64encode(raw).decode(), base64.b32encode(raw).decode(), f"0x{url.mac}",
        url.mac[:32], url.mac[:-2], url.mac + "00", "00" + url.mac, url.mac[::-1], "0" * 64, "", raw[::-1].hex(), str(int(url.mac, 16)),
        ":".join(f"{byte:02x}" for byte in raw), url.mac + "=", url.mac + "%3d", url.mac.translate({ord("0"): "\uff10"}),
    ))))  # fmt: skip


def _forged(rng: random.Random, url: Url, _: Url) -> str:
    """Sign with a secret that is not ours, or sign what an implementation could confuse with the target."""
    secret = rng.choice(
        (b"", b"\0" * 32, url.kid.encode(), url.mac.encode(), bytes.fromhex(url.mac), rng.randbytes(32))
    )
    wanted = url._replace(exp=str(int(url.exp) + rng.randrange(10**6)))
    message = rng.choice(
        (
            wanted.signed,
            str(wanted),
            wanted.id,
            f"{wanted.id}.{wanted.ext}",
            wanted.signed + f"&token={url.kid}",
        )
    )
    digest = rng.choice((hashlib.sha256, hashlib.sha256, hashlib.sha1, hashlib.md5, hashlib.sha512))
    mac = hmac.new(secret, message.encode(), digest).hexdigest()
    return str(wanted._replace(mac=rng.choice((mac, mac[:64], hashlib.sha256(message.encode()).hexdigest()))))


def _bytes(rng: random.Random, url: Url, _: Url) -> bytes:
    return some_bytes_changed(str(url).encode(), rng)


ALTERATIONS: tuple[Alter, ...] = (
    *(_one_character, _one_piece, _swapped, _expiry, _query, _signature) * 2,
    *(_extension, _kid, _cut_or_longer, _case, _encoded, _path, _forged, _bytes),
)
