"""Recognize addresses that are given as the service's, but only deliver images or redirect elsewhere."""

from urllib.parse import urlsplit

import httpx

from prshots.contract.errors import ImageAddressError, WrongAddressError
from prshots.contract.redaction import redact
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


def refuse_redirect(url: str, reply: httpx.Response) -> None:
    """Raise WrongAddressError for a redirect. Following it would turn a POST into a GET, without the image.

    A service that has moved keeps the route. Anything else is most likely a sign-in page.
    """
    if reply.next_request is None:
        return
    target = reply.next_request.url
    route = "/v1/" + reply.request.url.path.rpartition("/v1/")[2]
    name = "redirects" if target.path.endswith(route) else "redirects_to_sign_in"
    address = f"{target.scheme}://{target.netloc.decode()}{target.path.removesuffix(route)}".rstrip("/")
    raise WrongAddressError(message(name, url=url, target=redact(address)[:200]))


def _advice(url: str) -> str:
    if urlsplit(url).port == IMAGE_PORT:
        meant = url.replace(f":{IMAGE_PORT}", f":{API_PORT}", 1)
        return f"; {message('did_you_mean', meant=meant)}"
    return message("use_service_address")
