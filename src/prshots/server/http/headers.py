"""What the components share about headers: conditional requests, and origins as browsers write them."""

import re
from urllib.parse import urlsplit

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def names_tag(if_none_match: str, tag: str) -> bool:
    """Tell whether the header names this tag, given without its quotes."""
    return if_none_match == "*" or tag in _TAG.findall(if_none_match)


def origin_of(url: str) -> str:
    scheme, host, *_ = urlsplit(url)
    return f"{scheme}://{host}"
