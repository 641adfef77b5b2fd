"""Where a page or a picture comes from, as browsers write it."""

from urllib.parse import urlsplit


def origin_of(url: str) -> str:
    scheme, host, *_ = urlsplit(url)
    return f"{scheme}://{host}"
