"""Authentication: every public route checks the token first, and every refusal is the same."""

import httpx
import pytest

from prshots.server.api.openapi.document import openapi_document
from support.raw_requests import Reply, send
from support.service import Service

COMMENT = ("GET", "/v1/comment?pr_number=7")
ROUTES = [
    (method.upper(), path.replace("{image_id}", "0" * 32))
    for path, methods in openapi_document(version="", base_url="", max_image_bytes=1)["paths"].items()
    for method, operation in methods.items()
    if "security" in operation  # test_openapi.py checks which ones have it
]


def call(service: Service, route: tuple[str, str], *authorization: bytes) -> Reply:
    """Call a route with exactly these Authorization headers."""
    method, path = route
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n".encode()
    return send(service, head, *(b"Authorization: %b\r\n" % value for value in authorization), b"\r\n")


def assert_unauthorized(reply: Reply) -> None:
    assert (reply.status, reply.body) == (401, b'{"error":"unauthorized"}')
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["www-authenticate"] == "Bearer"


WRONG = {
    "missing": lambda _: [],
    "scheme alone": lambda _: [b"Bearer"],
    "wrong scheme": lambda token: [b"Token " + token],
    "no space": lambda token: [b"Bearer" + token],
    "nobody's token": lambda _: [b"Bearer msr_" + b"0" * 64],
    "upper case": lambda token: [b"Bearer msr_" + token[4:].upper()],
    "too long": lambda token: [b"Bearer " + token + b"0"],
    "two tokens": lambda token: [b"Bearer " + token + b", Bearer " + token],
    "header twice": lambda token: [b"Bearer " + token] * 2,
    "second of two headers right": lambda token: [b"Bearer wrong", b"Bearer " + token],
    "Latin-1": lambda _: [b"Bearer msr_" + b"\xe9" * 64],
    "no text at all": lambda _: [b"\xff\xfe\x80"],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_without_exactly_one_valid_bearer_token_a_request_is_401(shared_service, token, wrong):
    assert_unauthorized(call(shared_service, COMMENT, *WRONG[wrong](token.encode())))


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_every_public_route_requires_a_token(shared_service, token, route):
    assert_unauthorized(call(shared_service, route))
    assert call(shared_service, route, b"Bearer " + token.encode()).status != 401


@pytest.mark.parametrize("scheme", [b"Bearer", b"bearer", b"BEARER"])
def test_the_bearer_scheme_is_case_insensitive(shared_service, token, scheme):
    assert call(shared_service, COMMENT, scheme + b" " + token.encode()).status == 200


# Routes that need no token


def test_health_needs_no_token(shared_service):
    reply = httpx.get(f"{shared_service.base_url}/healthz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})
    assert reply.headers["cache-control"] == "no-store"
    head = httpx.head(f"{shared_service.base_url}/healthz")
    assert (head.status_code, head.content) == (200, b"")


UNKNOWN = [
    *("/", "/v1", "/v1/", "/v2/upload", "/V1/upload", "/v1//upload", "/v1/upload/", "/v1/images/"),
    *("/v1/images/a/b", "/v1/comment/7", "/docs/", "/redoc", "/favicon.ico"),
    *("/%ff", "/%00", "/..%2f..%2fetc"),
]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_route_is_404(client, method):
    for path in UNKNOWN:
        reply = client.request(method, path)
        assert (reply.status_code, reply.content) == (404, b'{"error":"not found"}'), path
        assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/upload", "POST"),
        ("OPTIONS", "/v1/upload", "POST"),
        ("BREW", "/v1/upload", "POST"),
        ("GET", f"/v1/images/{'0' * 32}", "DELETE"),
        ("POST", "/v1/comment", "GET, HEAD"),
        ("DELETE", "/healthz", "GET, HEAD"),
        ("POST", "/docs", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_405_with_the_allowed_methods(client, method, path, allowed):
    reply = client.request(method, path)
    assert (reply.status_code, reply.content) == (405, b'{"error":"method not allowed"}')
    assert sorted(reply.headers["allow"].split(", ")) == sorted(allowed.split(", "))
    assert reply.headers["content-type"] == "application/json"
