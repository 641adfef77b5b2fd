"""Readers that parse the text of a variable, or a value from a TOML file.

Each reader raises ValueError for invalid input. The setting's `takes` text describes valid input to people.
"""

import ipaddress
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.:_~/\[\]-]+")
_OWN_CGROUP, _CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def text(least: int = 0, most: int = 65_536) -> Callable[[object], str]:
    def read(given: object) -> str:
        if not isinstance(given, str) or not least <= len(given) <= most:
            raise ValueError("not a text of valid length")
        return given

    return read


def one_of(*choices: str) -> Callable[[object], str]:
    def read(given: object) -> str:
        if given not in choices:
            raise ValueError("not one of the choices")
        return str(given)

    return read


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
    """Read a number of processes. `auto` means the number of usable processors, up to 8."""
    if given == "auto":
        return min(usable_processors(), MAX_AUTOMATIC_WORKERS)
    return whole(1, MAX_WORKERS)(given)


def usable_processors() -> int:
    """Return the size of the CPU affinity, limited by the container's quota, but at least 1."""
    with_affinity = hasattr(os, "sched_getaffinity")
    available = len(os.sched_getaffinity(0)) if with_affinity else os.cpu_count() or 1
    return max(1, math.ceil(min(available, quota(_OWN_CGROUP, _CGROUPS))))


def quota(own_cgroup: Path, cgroups: Path) -> float:
    """Return how many processors the cgroup may use, as set by `docker run --cpus` or `CPUQuota`."""
    try:
        own = own_cgroup.read_text().strip().removeprefix("0::/")
        microseconds, period = (cgroups / own / "cpu.max").read_text().split()
        return int(microseconds) / int(period)  # raises ValueError for "max", which means no quota
    except (OSError, ValueError):
        return math.inf


def workers_or_empty(given: object) -> int:
    """Read a number of processes like `workers`. Return 0 for empty text."""
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
    """Read a URL that the service hands out. It may be empty."""
    # It ends up in markdown and HTML, so characters that need escaping there are invalid.
    # For an invalid port, `urlsplit(…).port` itself raises ValueError.
    url = text()(given)
    if url and not (_PUBLIC_URL.fullmatch(url) and urlsplit(url).hostname and urlsplit(url).port != 0):
        raise ValueError("not an http:// or https:// URL without a query or spaces")
    return url.rstrip("/")


MAX_ISSUER = 300


def issuers(given: object) -> str:
    """Read comma-separated URLs of OpenID issuers. Keeps each one exactly as written."""
    for issuer in split_by_commas(text()(given)):
        parts = urlsplit(public_url(issuer))
        # The service fetches the issuer's keys from this URL, so plain http is only safe on this machine.
        safe = parts.scheme == "https" or is_this_machine(parts.hostname or "")
        if not safe or len(issuer) > MAX_ISSUER:
            raise ValueError("not an https:// URL")
    return str(given)


def hosts(given: object) -> str:
    """Read comma-separated hosts, each with or without a port."""
    hosts = split_by_commas(text()(given).lower())
    if not all(re.fullmatch(r"[a-z0-9.-]+(:[0-9]+)?|\[[0-9a-f:.]+\](:[0-9]+)?", host) for host in hosts):
        raise ValueError("not hosts")
    return ",".join(hosts)


Networks = Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]


def networks(given: object) -> str:
    """Read comma-separated IP addresses and networks, such as 10.0.0.0/8."""
    parse_networks(text()(given))
    return str(given)


def parse_networks(given: str) -> Networks:
    return [ipaddress.ip_network(entry) for entry in split_by_commas(given)]


def is_in(networks: Networks, address: str) -> bool:
    return any(ipaddress.ip_address(address) in network for network in networks)


def split_by_commas(given: str) -> list[str]:
    return [entry.strip() for entry in given.split(",") if entry.strip()]


def is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost" or host.endswith(".localhost")


PERCENT_ENCODE = "in the password, write everything but letters and digits as %XX, for example @ as %40"

_HOSTS = re.compile(r"(?:\[[^\]]*\]|[^\[\]:@,]*)(?::[0-9]*)?")


def database_url(given: object) -> str:
    url = text()(given)
    if url.startswith("sqlite:"):
        _require_path(url, "sqlite:///")
        if url == "sqlite:///:memory:":
            raise ValueError("each of our processes would have its own database")
    elif url:
        # The query may name the server, as a socket or as several hosts. The path always names the database.
        if not url.startswith("postgresql://") or not urlsplit(url).path.strip("/"):
            raise ValueError("not postgresql://<host>/<name>")
        _require_encoded_password(url)
    return url


def store_url(given: object) -> str:
    url = text()(given)
    if url.startswith("file:"):
        _require_path(url, "file:///")
    elif url:
        _require_server(url, "s3", "gs", "az")
    return url


def counter_url(given: object) -> str:
    url = text(1)(given)
    if url != "memory://":
        _require_server(url, "redis", "rediss", "valkey", "valkeys")
        _require_encoded_password(url)
    return url


def _require_path(url: str, prefix: str) -> None:
    if url.removeprefix(prefix) in {"", url}:
        raise ValueError(f"not {prefix}<path>")


def _require_server(url: str, *schemes: str) -> None:
    """Require one of these schemes and a host. The adapter validates the rest."""
    parts = urlsplit(url)
    if parts.scheme not in schemes or not parts.hostname or parts.port == 0:
        raise ValueError(f"not a URL with one of the schemes {', '.join(schemes)}")


def _require_encoded_password(url: str) -> None:
    """Refuse a URL whose password has an unescaped @, /, ? or #.

    Such a character ends the password too early. The rest of the password would count as the host or path,
    and would appear in messages.
    """
    parts = urlsplit(url)
    user, _, hosts = parts.netloc.rpartition("@")
    is_plain = all(_HOSTS.fullmatch(host) for host in hosts.split(","))
    if "@" in user + parts.path or "#" in url or not is_plain:
        raise ValueError("the password is not percent-encoded")
