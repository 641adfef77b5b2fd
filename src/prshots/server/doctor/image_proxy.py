"""Whether an image can be fetched as GitHub's image proxy does it: from outside, with nothing but its URL."""

import secrets
import struct
import time
import zlib

from prshots.contract.object_names import origin_key
from prshots.server import wiring
from prshots.server.config.settings import Settings
from prshots.server.doctor import Finding, ok, problem, warning
from prshots.server.doctor.addresses import GITHUB_LIMIT
from prshots.server.doctor.fetching import REQUEST_SECONDS, Reply, UnreachableError, fetch
from prshots.server.domain.signing import KeyRing

ABOUT = "image proxy"
SLOW_SECONDS = 3.0
URL_SECONDS = 600
HEADERS = {
    "User-Agent": "github-camo (prshots doctor)",
    "Accept": "image/png,image/svg+xml,image/*;q=0.8",
    "Accept-Encoding": "identity",
}


async def fetched_as_by_github(settings: Settings, ring: KeyRing | None, *, can_store: bool) -> list[Finding]:
    """Store an image as large as they may be, fetch it by its signed URL, and delete it."""
    if ring is None or not can_store:
        return [warning(ABOUT, "not tried: it takes the signing keys and the image store")]
    image_id, image = secrets.token_hex(16), png_of(min(settings.max_image_bytes, GITHUB_LIMIT) - 1)
    key = origin_key(image_id, "png")
    store = wiring.open_store(settings)
    try:
        await store.put(key, [image])
        try:
            target = ring.sign(image_id, "png", int(time.time()) + URL_SECONDS, ring.signing_kid)
            return await _fetched(settings.img_url, target, image)
        finally:
            await store.delete([key])  # if that fails, it is an orphan, and the sweep finds it
    finally:
        store.close()


async def _fetched(img_url: str, target: str, image: bytes) -> list[Finding]:
    try:
        reply = await fetch(img_url + target, HEADERS, most_bytes=len(image))
        forged = await fetch(img_url + _tampered(target), HEADERS, most_bytes=len(image))
    except UnreachableError as error:
        return [problem(ABOUT, f"an image at {img_url} could not be fetched: {error}")]
    if wrong := _what_is_wrong(reply, img_url, image):
        return [problem(ABOUT, wrong)]
    if forged.is_ok:
        return [
            problem(
                ABOUT,
                f"{img_url} also delivers with a wrong signature: something in front serves images without "
                "asking delivery, or its cache leaves the query out of the key",
            )
        ]
    size = f"{len(image) / 1024**2:.1f} MB in {reply.seconds:.1f} s"
    found = [
        ok(ABOUT, f"{img_url} delivers as GitHub's image proxy fetches: {size}, and refuses a forged URL")
    ]
    if reply.seconds > SLOW_SECONDS:
        words = (
            f"it took {reply.seconds:.1f} s, and GitHub's image proxy gives up after {REQUEST_SECONDS:.0f}"
        )
        found.append(warning(ABOUT, words))
    if "Set-Cookie" in reply.headers:
        words = "something in front sets a cookie on images: caches then keep none of them. Turn it off there"
        found.append(warning(ABOUT, words))
    return found


def _what_is_wrong(reply: Reply, img_url: str, image: bytes) -> str:
    """Return what an operator can do about a reply that is not the image; "" if it is."""
    content_type = reply.headers.get("Content-Type", "nothing")
    if not reply.is_ok:
        return f"{img_url} gave {reply.status} for a signed image: {_hint(reply, img_url)}"
    if content_type.startswith("text/html"):
        return f"{img_url} gave a page instead of the image: a sign-in or error page of something in front"
    if content_type != "image/png":
        return f"{img_url} gave an image/png as {content_type}: something in front changes the type"
    if reply.body != image:
        return (
            f"{img_url} gave {len(reply.body):,} bytes that are not the {len(image):,} stored: something in "
            "front cuts, compresses or converts images"
        )
    return ""


_OPEN = "Let /i/ through to everyone: its URLs are signed"
_FROM_DELIVERY = {
    403: "delivery does not know the key. Give it the same PRSHOTS_SIGNING_KEYS_FILE as these settings",
    410: "delivery does not find it. Give it the same PRSHOTS_STORE_URL as these settings, and see its clock",
}
_FROM_IN_FRONT = {
    401: f"something in front wants a sign-in. {_OPEN}",
    403: f"something in front refuses it. {_OPEN}",
    404: "something else answers there. Send /i/ to the delivery part",
}


def _hint(reply: Reply, img_url: str) -> str:
    location = reply.headers.get("Location", "").partition("?")[0][:200]
    if location.startswith("https:") and img_url.startswith("http:"):
        return "it redirects to https. Set PRSHOTS_IMG_URL to that address"
    if location:
        return f"a redirect to {location}. An image proxy cannot sign in. {_OPEN}"
    is_ours = b'{"error"' in reply.body[:20]
    in_doubt = "delivery, or what is on the way to it, does not do its work. See its log and its /readyz"
    return (_FROM_DELIVERY if is_ours else _FROM_IN_FRONT).get(reply.status, in_doubt)


def _tampered(target: str) -> str:
    return target[:-1] + ("0" if target[-1] != "0" else "1")


def png_of(size: int) -> bytes:
    """Return a valid PNG of exactly this many bytes: one pixel, and the rest in a chunk that nobody reads."""
    header = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    rest = _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")
    padding = secrets.token_bytes(size - len(header) - len(rest) - len(_chunk(b"prSh", b"")))
    return header + _chunk(b"prSh", padding) + rest


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
