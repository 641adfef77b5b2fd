"""Helpers for headers: conditional requests, and origins."""

import re
from urllib.parse import urlsplit

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def names_tag(if_none_match: str, tag: str) -> bool:
    """Return whether the If-None-Match header contains this tag, which is given without quotes."""
    return if_none_match == "*" or tag in _TAG.findall(if_none_match)


def origin_of(url: str) -> str:
    scheme, host, *_ = urlsplit(url)
    return f"{scheme}://{host}"
