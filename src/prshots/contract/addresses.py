"""Facts from an address: the location of GitHub's API, and whether the internet can reach a host."""

import ipaddress
import re

_OF_A_NETWORK = (".local", ".internal", ".lan", ".localhost")


def github_api(url: str) -> str:
    """Return the base URL of the API for GitHub's web address.

    github.com and GHE.com have a separate host for it, Enterprise Server a path.
    """
    scheme, _, host = url.partition("://")
    if host.lower() == "github.com" or host.lower().endswith(".ghe.com"):
        return f"{scheme}://api.{host}"
    return f"{url}/api/v3"


def is_loopback(host: str) -> bool:
    """Return whether this host is the machine itself."""
    return re.fullmatch(r"localhost|127(?:\.\d+){3}|::1", host, re.ASCII) is not None


def is_public(host: str) -> bool:
    """Return whether the internet can reach this host, judging by its name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return "." in host and not host.lower().rstrip(".").endswith(_OF_A_NETWORK)
