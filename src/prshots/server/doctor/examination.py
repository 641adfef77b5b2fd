"""Run all checks in order. Later checks use the results of earlier ones."""

import asyncio
import contextlib
import json
import logging
import os
import secrets
import struct
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from prshots.contract.addresses import is_public
from prshots.contract.errors import PrshotsError, SettingsError
from prshots.contract.object_names import origin_key
from prshots.contract.redaction import redact
from prshots.contract.sizes import readable_size
from prshots.server import wiring
from prshots.server.adapters.forges.forge_opener import CHECKS
from prshots.server.adapters.keys import FixedKeys
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.config.settings import PREFIX, Settings, load_settings
from prshots.server.config.values import is_this_machine
from prshots.server.doctor import DoctorFinding, check_clock, ok, problem, warning
from prshots.server.doctor.engines import Engines
from prshots.server.doctor.fetch import REQUEST_SECONDS, FetchError, Response, fetch
from prshots.server.domain.outbox.models import Connection
from prshots.server.links import KeyRing
from prshots.server.wiring.forges import github_app, open_forges
from prshots.server.wiring.sign_in import allow_list

CHECK_SECONDS = 30.0
"""The limit for a whole check. Each of its requests has its own, shorter timeout."""

MAX_CONNECTIONS = 40
"""How many connections to check. If most forges answer, that takes less time than the doctor allows."""

Check = Callable[[], Awaitable[list[DoctorFinding]]]


def examine_settings(config: Path | None) -> tuple[Settings | None, list[DoctorFinding]]:
    """Load the settings. Report and ignore invalid variables, to check the rest."""
    findings: list[DoctorFinding] = []
    with _restore_environment():
        while True:
            try:
                settings = load_settings(config)
            except SettingsError as error:
                variable = str(error).partition(":")[0]
                known = variable.startswith(PREFIX) and os.environ.pop(variable, None) is not None
                rest = ". It is ignored for the rest of the checks" if known else ""
                findings.append(problem("settings", f"{error}{rest}"))
                if not known:
                    return None, findings
            else:
                return settings, findings or [ok("settings", "all settings are valid")]


async def examine(settings: Settings, starts: Callable[[str], None]) -> AsyncIterator[DoctorFinding]:
    """Run all checks, even after a failure. Calls `starts` with each check's name before it runs."""
    engines = Engines(settings)
    checks: dict[str, Check] = {
        "data folder": engines.check_data_folder,
        "signing keys": engines.check_keys,
        "database": engines.check_database,
        "image store": engines.check_store,
        "counter": engines.check_counter,
        "sign-in": lambda: _check_sign_in(settings),
        "GitHub App": lambda: check_app(settings),
        "connections": lambda: _check_connections(settings, engines),
        "addresses": lambda: check_addresses(settings),
        "components": lambda: check_components(settings),
        "image proxy": lambda: check_image_proxy(settings, engines.ring, can_store=engines.can_store),
    }
    with _silent_logs():
        for about, check in checks.items():
            starts(about)
            for finding in await _findings(about, check):
                yield finding


async def _findings(about: str, check: Check) -> list[DoctorFinding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return [
            problem(about, f"the check took longer than {CHECK_SECONDS:.0f} s: something does not answer")
        ]
    except PrshotsError as error:
        return [problem(about, redact(str(error)))]
    except OSError as error:
        return [problem(about, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))]


async def _check_connections(settings: Settings, engines: Engines) -> list[DoctorFinding]:
    if engines.ring is None or not engines.has_usable_schema:
        return []  # other checks have reported it
    return await check_connections(settings, engines.ring)


async def _check_sign_in(settings: Settings) -> list[DoctorFinding]:
    settings.check_providers()
    if not settings.providers:
        return [ok("sign-in", "no login provider: people sign in with a link from `prshots login-link`")]
    found = [ok("sign-in", f"with {', '.join(settings.providers)}")]
    if settings.allowed_users.strip() == "*":
        found.append(
            warning("sign-in", f"{PREFIX}ALLOWED_USERS is *: everyone with an account there can sign in")
        )
    return found + [
        warning("sign-in", message) for message in allow_list(settings).never_matching(settings.providers)
    ]


@contextlib.contextmanager
def _restore_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.update(before)


@contextlib.contextmanager
def _silent_logs() -> Iterator[None]:
    """Hide log lines, to print only findings. Adapters raise every error that they log."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


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
    with contextlib.closing(wiring.open_store(settings)) as store:
        await store.put(key, [image])
        try:
            target = ring.sign(image_id, "png", int(time.time()) + URL_SECONDS, ring.signing_kid)
            return await _fetch_both(settings.img_url, target, image)
        finally:
            await store.delete([key])  # if this fails, the sweep deletes it as a file without a record


async def _fetch_both(img_url: str, target: str, image: bytes) -> list[DoctorFinding]:
    try:
        tampered = target[:-1] + ("0" if target[-1] != "0" else "1")
        response = await fetch(img_url + target, HEADERS, most_bytes=len(image))
        forged = await fetch(img_url + tampered, HEADERS, most_bytes=len(image))
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


def png_of(size: int) -> bytes:
    """Return a valid PNG of exactly this many bytes: one pixel, padded with a private chunk."""
    header = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    rest = _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")
    padding = secrets.token_bytes(size - len(header) - len(rest) - len(_chunk(b"prSh", b"")))
    return header + _chunk(b"prSh", padding) + rest


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


GITHUB_LIMIT = 5 * 1024**2
"""GitHub's image proxy refuses larger images."""

_READYZ_BLOCKED = {401, 403, 404}


async def check_addresses(settings: Settings) -> list[DoctorFinding]:
    found = [*_reach(settings), *_encryption(settings)]
    if settings.max_image_bytes > GITHUB_LIMIT:
        limit = readable_size(GITHUB_LIMIT)
        words = f"PRSHOTS_MAX_IMAGE_BYTES is over {limit}: GitHub's image proxy does not show larger images"
        found.append(warning("addresses", words))
    return found or [ok("addresses", "all URLs are public and use https")]


def _reach(settings: Settings) -> list[DoctorFinding]:
    host = urlsplit(settings.img_url).hostname or ""
    if is_this_machine(host):
        words = "GitHub's image proxy cannot reach this machine under that name: set it to a public URL"
    elif not is_public(host):
        words = "this is a private network: github.com cannot reach it, but a forge in that network can"
    else:
        return []
    return [warning("addresses", f"PRSHOTS_IMG_URL is {settings.img_url}: {words}")]


def _encryption(settings: Settings) -> list[DoctorFinding]:
    risks = {
        "PRSHOTS_WEB_URL": (settings.web_url, "session cookies are not Secure"),
        "PRSHOTS_BASE_URL": (settings.base_url, "upload tokens are sent unencrypted"),
        "PRSHOTS_IMG_URL": (settings.img_url, "browsers may block the images on https pages"),
    }
    return [
        warning("addresses", f"{variable} uses http, so {risk}: put a TLS proxy in front and use https://…")
        for variable, (url, risk) in risks.items()
        if urlsplit(url).scheme == "http" and not is_this_machine(urlsplit(url).hostname or "")
    ]


async def check_components(settings: Settings) -> list[DoctorFinding]:
    """Check each component at its public URL, and report whether it is up and ready."""
    components = {"API": settings.base_url, "dashboard": settings.web_url, "delivery": settings.img_url}
    return [finding for about, url in components.items() for finding in await _check_component(about, url)]


async def _check_component(about: str, url: str) -> list[DoctorFinding]:
    try:
        alive, ready = await fetch(f"{url}/healthz"), await fetch(f"{url}/readyz")
    except FetchError as error:
        return [problem(about, f"{url} does not answer: {error}")]
    found = check_clock(about, alive.clock_ahead or 0.0)
    if not alive.is_ok or _json(alive).get("status") != "ok":
        words = f"{url}/healthz returned {_describe(alive)}: another program answers there, not prshots"
        return [*found, problem(about, words)]
    return [*found, _readiness(about, url, ready)]


def _readiness(about: str, url: str, ready: Response) -> DoctorFinding:
    body = _json(ready)
    checks = body.get("checks")
    listed = checks.items() if isinstance(checks, dict) else []
    down = [f"{name}: {state}" for name, state in listed if state != "ok"]
    if ready.is_ok and not down:
        return ok(about, f"{url} is ready")
    if ready.is_ok:
        return warning(about, redact(f"{url} is ready, but {'; '.join(down)}"))
    if ready.status in _READYZ_BLOCKED and not body.get("checks"):
        return ok(about, f"{url} answers (its /readyz is not public)")
    return problem(about, redact(f"{url} is not ready: {'; '.join(down) or _describe(ready)}"))


def _json(response: Response) -> dict[str, object]:
    try:
        value = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _describe(response: Response) -> str:
    location, status = response.headers.get("Location"), response.status
    return f"{status}, a redirect to {location.partition('?')[0]}" if location else str(status)


async def check_app(settings: Settings) -> list[DoctorFinding]:
    app = github_app(settings)
    return [ok("GitHub App", f"GitHub knows it as {await asyncio.to_thread(app.name)}")] if app else []


async def check_connections(settings: Settings, ring: KeyRing) -> list[DoctorFinding]:
    database = wiring.database_as_it_is(settings)
    try:
        connections = await SqlConnections(database).connections()
        projects = {project.id: project.name for project in await wiring.projects_in(database).projects()}
    finally:
        await database.close()
    turns = asyncio.Semaphore(CHECKS)
    with closing(open_forges(settings, FixedKeys(ring))) as forges:

        async def check(connection: Connection) -> DoctorFinding | None:
            try:
                async with turns:
                    await forges.check(connection)
            except PrshotsError as error:
                project = projects.get(connection.project_id, "")
                return problem(
                    "connections", redact(f"project {project!r}, {connection.repository}: {error}")
                )
            return None

        found = list(filter(None, await asyncio.gather(*map(check, connections[:MAX_CONNECTIONS]))))
    if len(connections) > MAX_CONNECTIONS:
        found.append(
            warning("connections", f"only {MAX_CONNECTIONS} of {len(connections):,} connections were checked")
        )
    if found or not connections:
        return found
    return [ok("connections", f"every connection to a forge works: {len(connections):,}")]
