"""Recognize an address that only delivers images when it is given as the service's address."""

from urllib.parse import urlsplit

import httpx

from prshots.contract.errors import ImageAddressError
from prshots.contract.statements import message

API_PORT, IMAGE_PORT = 8081, 8082
"""The default ports of a service."""

_ANSWERS: dict[int, bytes] = {
    httpx.codes.NOT_FOUND: b'{"error":"not found"}',
    httpx.codes.METHOD_NOT_ALLOWED: b'{"error":"method not allowed"}',
}


def refuse_image_address(url: str, reply: httpx.Response) -> None:
    """Raise ImageAddressError if delivery answered a call to the API.

    For an unknown route, the API sends the same body, but with an X-Request-Id.
    """
    is_delivery = (
        _ANSWERS.get(reply.status_code) == reply.content
        and reply.headers.get("x-content-type-options") == "nosniff"
        and "x-request-id" not in reply.headers
    )
    if is_delivery:
        raise ImageAddressError(message("image_address", url=url, advice=_advice(url)))


def _advice(url: str) -> str:
    if urlsplit(url).port == IMAGE_PORT:
        meant = url.replace(f":{IMAGE_PORT}", f":{API_PORT}", 1)
        return f"; {message('did_you_mean', meant=meant)}"
    return message("use_service_address")
