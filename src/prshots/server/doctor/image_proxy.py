"""Check that GitHub's image proxy could fetch an image: from outside, by URL alone."""

import secrets
import struct
import time
import zlib

from prshots.contract.object_names import origin_key
from prshots.contract.sizes import readable_size
from prshots.server import wiring
from prshots.server.config.settings import Settings
from prshots.server.doctor import DoctorFinding, ok, problem, warning
from prshots.server.doctor.addresses import GITHUB_LIMIT
from prshots.server.doctor.fetch import REQUEST_SECONDS, FetchError, Response, fetch
from prshots.server.links.signing import KeyRing

ABOUT = "image proxy"
SLOW_SECONDS = 3.0
URL_SECONDS = 600
HEADERS = {
    "User-Agent": "github-camo (prshots doctor)",
    "Accept": "image/png,image/svg+xml,image/*;q=0.8",
    "Accept-Encoding": "identity",
}


async def check_image_proxy(
    settings: Settings, ring: KeyRing | None, *, can_store: bool
) -> list[DoctorFinding]:
    """Store an image of the maximum size, fetch it by its signed URL, and delete it."""
    if ring is None or not can_store:
        return [warning(ABOUT, "skipped: it needs working signing keys and a working image store")]
    image_id, image = secrets.token_hex(16), png_of(min(settings.max_image_bytes, GITHUB_LIMIT) - 1)
    key = origin_key(image_id, "png")
    store = wiring.open_store(settings)
    try:
        await store.put(key, [image])
        try:
            target = ring.sign(image_id, "png", int(time.time()) + URL_SECONDS, ring.signing_kid)
            return await _fetch_both(settings.img_url, target, image)
        finally:
            await store.delete([key])  # if this fails, the sweep deletes it as a file without a record
    finally:
        store.close()


async def _fetch_both(img_url: str, target: str, image: bytes) -> list[DoctorFinding]:
    try:
        response = await fetch(img_url + target, HEADERS, most_bytes=len(image))
        forged = await fetch(img_url + _tamper(target), HEADERS, most_bytes=len(image))
    except FetchError as error:
        return [problem(ABOUT, f"an image at {img_url} could not be fetched: {error}")]
    if wrong := _what_is_wrong(response, img_url, image):
        return [problem(ABOUT, wrong)]
    if forged.is_ok:
        words = (
            "a proxy in front serves images without asking delivery, or its cache key leaves out the query"
        )
        return [problem(ABOUT, f"{img_url} also delivers images with an invalid signature: {words}")]
    took = f"{response.seconds:.1f} s"
    words = f"as GitHub's proxy fetches them ({readable_size(len(image))} in {took}) and rejects forged URLs"
    found = [ok(ABOUT, f"{img_url} delivers images {words}")]
    if response.seconds > SLOW_SECONDS:
        words = f"GitHub's image proxy gives up after {REQUEST_SECONDS:.0f} s"
        found.append(warning(ABOUT, f"the image took {took}, and {words}"))
    if "Set-Cookie" in response.headers:
        words = "a proxy in front sets a cookie on images, so caches do not store them: turn it off there"
        found.append(warning(ABOUT, words))
    return found


def _what_is_wrong(response: Response, img_url: str, image: bytes) -> str:
    """Return the problem with the response and its fix, or "" if the response is the image."""
    content_type = response.headers.get("Content-Type", "nothing")
    if not response.is_ok:
        return f"{img_url} returned {response.status} for a signed image: {_hint(response, img_url)}"
    if content_type.startswith("text/html"):
        return f"{img_url} returned a page instead of the image: a sign-in or error page of a proxy in front"
    if content_type != "image/png":
        return f"{img_url} returned an image/png as {content_type}: a proxy in front changes the type"
    if response.body != image:
        return (
            f"{img_url} returned {len(response.body):,} bytes that differ from the {len(image):,} stored: a "
            "proxy in front truncates, compresses or converts images"
        )
    return ""


_MAKE_PUBLIC = "Make /i/ public: its URLs are signed"
_FROM_DELIVERY = {
    403: "delivery does not know the key. Give it the same PRSHOTS_SIGNING_KEYS_FILE as these settings",
    410: "delivery does not find it. Give it the same PRSHOTS_STORE_URL as these settings; check its clock",
}
_FROM_A_PROXY = {
    401: f"a proxy in front requires a sign-in. {_MAKE_PUBLIC}",
    403: f"a proxy in front refuses it. {_MAKE_PUBLIC}",
    404: "another program answers there. Route /i/ to the delivery component",
}


def _hint(response: Response, img_url: str) -> str:
    location = response.headers.get("Location", "").partition("?")[0][:200]
    if location.startswith("https:") and img_url.startswith("http:"):
        return "it redirects to https. Set PRSHOTS_IMG_URL to that URL"
    if location:
        return f"a redirect to {location}. An image proxy cannot sign in. {_MAKE_PUBLIC}"
    is_ours = b'{"error"' in response.body[:20]
    unknown = "delivery, or a proxy in front of it, is not working. See its log and its /readyz"
    return (_FROM_DELIVERY if is_ours else _FROM_A_PROXY).get(response.status, unknown)


def _tamper(target: str) -> str:
    return target[:-1] + ("0" if target[-1] != "0" else "1")


def png_of(size: int) -> bytes:
    """Return a valid PNG of exactly this many bytes: one pixel, padded with a private chunk."""
    header = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    rest = _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")
    padding = secrets.token_bytes(size - len(header) - len(rest) - len(_chunk(b"prSh", b"")))
    return header + _chunk(b"prSh", padding) + rest


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
