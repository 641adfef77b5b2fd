"""Check the public URLs: who can reach them, and whether the components answer there."""

import json
from urllib.parse import urlsplit

from prshots.contract.addresses import is_public
from prshots.contract.redaction import redact
from prshots.contract.sizes import readable_size
from prshots.server.config.settings import Settings
from prshots.server.config.values import is_this_machine
from prshots.server.doctor import DoctorFinding, check_clock, ok, problem, warning
from prshots.server.doctor.fetch import FetchError, Response, fetch

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
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _describe(response: Response) -> str:
    location, status = response.headers.get("Location"), response.status
    return f"{status}, a redirect to {location.partition('?')[0]}" if location else str(status)
