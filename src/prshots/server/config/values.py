"""Readers that turn the text of a variable, or a value in a TOML file, into the value we work with.

Each raises ValueError for invalid input. The setting's own `takes` text describes valid input to people.
"""

import ipaddress
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from prshots.server.config.processors import usable_processors

_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.:_~/\[\]-]+")
_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def text(least: int = 0, most: int = 65_536) -> Callable[[object], str]:
    def read(given: object) -> str:
        if not isinstance(given, str) or not least <= len(given) <= most:
            raise ValueError("not a text of valid length")
        return given

    return read


def log_format(given: object) -> Literal["console", "json"]:
    match given:
        case "console" | "json":
            return given
        case _:
            raise ValueError("not a log format")


def path(given: object) -> Path:
    if not isinstance(given, str | Path):
        raise ValueError("not a path")  # noqa: TRY004 - one error type for every invalid value
    return Path(given)


def whole(least: int, most: int = 2**63 - 1) -> Callable[[object], int]:
    def read(given: object) -> int:
        if not isinstance(given, str | int) or isinstance(given, bool):
            raise ValueError("not a whole number")  # noqa: TRY004 - as above
        number = int(given)
        if not least <= number <= most:
            raise ValueError("out of range")
        return number

    return read


MAX_WORKERS, MAX_AUTOMATIC_WORKERS = 256, 8
WORKERS = f"a whole number from 1 to {MAX_WORKERS}, or auto"


def workers(given: object) -> int:
    """Read a number of processes. `auto` is the number of usable processors, at most 8."""
    if given == "auto":
        return min(usable_processors(), MAX_AUTOMATIC_WORKERS)
    return whole(1, MAX_WORKERS)(given)


def workers_or_empty(given: object) -> int:
    """Read like `workers`. Return 0 for an empty text."""
    return 0 if given == "" else workers(given)


def number(least: float, most: float) -> Callable[[object], float]:
    def read(given: object) -> float:
        if not isinstance(given, str | int | float) or isinstance(given, bool):
            raise ValueError("not a number")  # noqa: TRY004 - as above
        number = float(given)
        if not math.isfinite(number) or not least <= number <= most:
            raise ValueError("out of range")
        return number

    return read


def truth(given: object) -> bool:
    if isinstance(given, bool):
        return given
    if not isinstance(given, str) or given.lower() not in _YES | _NO:
        raise ValueError("not true or false")
    return given.lower() in _YES


def public_url(given: object) -> str:
    """Read a URL that we hand out; empty is valid."""
    # It ends up in markdown and HTML, so characters that need escaping there are invalid.
    # For an invalid port, `urlsplit(…).port` raises ValueError itself.
    url = text()(given)
    if url and not (_PUBLIC_URL.fullmatch(url) and urlsplit(url).hostname and urlsplit(url).port != 0):
        raise ValueError("not an http:// or https:// URL without a query or spaces")
    return url.rstrip("/")


MAX_ISSUER = 300


def issuers(given: object) -> str:
    """Read comma-separated URLs of OpenID issuers. Each is kept exactly as written."""
    for issuer in split_by_commas(text()(given)):
        parts = urlsplit(public_url(issuer))
        # We fetch the issuer's keys from this URL, so plain http is only safe on this machine.
        safe = parts.scheme == "https" or is_this_machine(parts.hostname or "")
        if not safe or len(issuer) > MAX_ISSUER:
            raise ValueError("not an https:// URL")
    return str(given)


def split_by_commas(given: str) -> list[str]:
    return [entry.strip() for entry in given.split(",") if entry.strip()]


def is_this_machine(host: str) -> bool:
    address = ip_address_of(host)
    return address.is_loopback if address else host == "localhost" or host.endswith(".localhost")


def ip_address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the host as an IP address; None when it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def database_url(given: object) -> str:
    # SQLite accepts :memory:, but each of our processes would then have its own database.
    return _either(text()(given), "sqlite:", _file_url("sqlite", no_path=":memory:"), _postgresql)


def store_url(given: object) -> str:
    return _either(text()(given), "file:", _file_url("file"), _one_of("s3", "gs", "az"))


def counter_url(given: object) -> str:
    return _either(text(1)(given), "memory:", _memory, _redis)


Check = Callable[[str], None]


def _either(url: str, embedded_scheme: str, embedded: Check, server: Check) -> str:
    if url:
        (embedded if url.startswith(embedded_scheme) else server)(url)
    return url


def _file_url(scheme: str, no_path: str = "") -> Check:
    def check(url: str) -> None:
        if url.removeprefix(f"{scheme}:///") in {"", url, no_path}:
            raise ValueError(f"not {scheme}:///<path>")

    return check


def _postgresql(url: str) -> None:
    # The query may name the server, as a socket or as several hosts. The database is always the path.
    if not url.startswith("postgresql://") or not urlsplit(url).path.strip("/"):
        raise ValueError("not postgresql://<host>/<name>")
    _check_password_is_encoded(url)


PERCENT_ENCODE = "in the password, write everything but letters and digits as %XX, for example @ as %40"

_HOSTS = re.compile(r"(?:\[[^\]]*\]|[^\[\]:@,]*)(?::[0-9]*)?")


def _check_password_is_encoded(url: str) -> None:
    """Refuse a URL whose password has an unescaped @, /, ? or #.

    Such a character ends the password too early. The rest of the password would count as the host or the
    path, and appear in messages.
    """
    parts = urlsplit(url)
    user, _, hosts = parts.netloc.rpartition("@")
    is_plain = all(_HOSTS.fullmatch(host) for host in hosts.split(","))
    if "@" in user + parts.path or "#" in url or not is_plain:
        raise ValueError("the password is not percent-encoded")


def _one_of(*schemes: str) -> Check:
    """Return a check for URLs with one of these schemes. The adapter validates the rest."""

    def check(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in schemes or not parts.hostname or parts.port == 0:
            raise ValueError(f"not a URL with one of the schemes {', '.join(schemes)}")

    return check


def _redis(url: str) -> None:
    _one_of("redis", "rediss", "valkey", "valkeys")(url)
    _check_password_is_encoded(url)


def _memory(url: str) -> None:
    if url != "memory://":
        raise ValueError("not memory://")
