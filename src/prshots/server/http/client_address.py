"""The address that a request came from, behind our web component and the operator's proxies."""

import ipaddress

from prshots.server.config.values import Networks, is_in
from prshots.server.http.error_boundary import Message

FORWARDED_FOR = b"x-forwarded-for"


def client_address(scope: Message, trusted: Networks) -> str:
    """Return the IP address of the last hop that isn't a trusted proxy, or "" if it is unknown.

    Each proxy appends the address of its peer to `X-Forwarded-For`. Anyone can send that header, so it only
    counts from trusted proxies.
    """
    hops = [
        hop.strip()
        for name, value in scope["headers"]
        if name == FORWARDED_FOR
        for hop in value.decode("latin-1").split(",")
    ]
    hops.append(scope["client"][0] if scope.get("client") else "")
    address = ""
    for hop in reversed(hops):
        try:
            parsed = ipaddress.ip_address(hop.partition("%")[0])  # a zone is any text
        except ValueError:
            return address
        address = str(getattr(parsed, "ipv4_mapped", None) or parsed)
        if not is_in(trusted, address):
            return address
    return address
