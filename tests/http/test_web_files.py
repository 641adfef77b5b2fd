"""The web component's own replies: the dashboard's files, how they are cached, and what browsers may do."""

import gzip
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import structlog

from prshots.server.config.settings import Settings
from prshots.server.web.app import accepts_gzip
from prshots.server.wiring import avatar_origins
from support.free_ports import free_port
from support.web_component import FILES, PAGE, WebComponent

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src https://img.test https://people.test {web_url}/favicon.svg; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebComponent]:
    folder = tmp_path_factory.mktemp("web")
    (folder / "secret").write_text("beside the dashboard")
    with WebComponent(folder, free_port(), FILES) as running:
        yield running


@pytest.fixture(scope="module")
def client(web: WebComponent) -> Iterator[httpx.Client]:
    with web.client() as made:
        yield made


def answer(response: httpx.Response) -> tuple[int, object]:
    return response.status_code, response.json()


# Files


@pytest.mark.parametrize(
    ("path", "content_type", "lifetime"),
    [
        ("assets/index-1a2b.js", "text/javascript; charset=utf-8", "31536000, immutable"),
        ("assets/index-3c4d.css", "text/css; charset=utf-8", "31536000, immutable"),
        ("assets/dot-5e6f.png", "image/png", "31536000, immutable"),
        ("favicon.svg", "image/svg+xml", "3600"),
    ],
)
def test_assets_are_cached_as_immutable_and_other_files_for_an_hour(
    client: httpx.Client, path: str, content_type: str, lifetime: str
) -> None:
    response = client.get(f"/{path}")
    assert response.status_code == 200
    assert response.content == FILES[path]
    assert response.headers["content-type"] == content_type
    assert response.headers["cache-control"] == f"public, max-age={lifetime}"


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/projects/1/prs/7", "/sign-in?problem=denied", "/v1", "/authors", "/x.js"]
)
def test_any_other_path_returns_the_page_which_is_never_cached(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert response.text == PAGE
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert "etag" not in response.headers


@pytest.mark.parametrize("path", ["/assets/index-old.js", "/assets/", "/assets/../index-1a2b.js"])
def test_a_missing_asset_is_404(web: WebComponent, path: str) -> None:
    reply = raw(web, f"GET {path} HTTP/1.1")
    assert reply.startswith(b"HTTP/1.1 404 ")
    assert b"cache-control: no-store\r\n" in reply
    assert reply.endswith(b'{"error":"not found"}')


@pytest.mark.parametrize(
    "path", ["/../secret", "/%2e%2e/secret", "/..%2fsecret", "//etc/passwd", "/favicon.svg/../../secret"]
)
def test_no_path_escapes_the_dashboard_folder(web: WebComponent, path: str) -> None:
    reply = raw(web, f"GET {path} HTTP/1.1")
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.endswith(PAGE.encode())


def test_only_text_files_are_compressed_and_only_for_clients_that_accept_gzip(client: httpx.Client) -> None:
    name = "assets/index-1a2b.js"
    with client.stream("GET", f"/{name}", headers={"Accept-Encoding": "br, gzip"}) as response:
        body = b"".join(response.iter_raw())
    plain = client.get(f"/{name}", headers={"Accept-Encoding": "identity"})
    assert response.headers["content-encoding"] == "gzip"
    assert gzip.decompress(body) == plain.content == FILES[name]
    assert len(body) == int(response.headers["content-length"]) < len(plain.content)
    assert response.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in plain.headers
    assert response.headers["etag"] != plain.headers["etag"]
    picture = client.get("/assets/dot-5e6f.png", headers={"Accept-Encoding": "gzip"})
    assert {"content-encoding", "vary"}.isdisjoint(picture.headers)


def test_a_matching_etag_is_304(client: httpx.Client) -> None:
    known = client.get("/favicon.svg").headers["etag"]
    response = client.get("/favicon.svg", headers={"If-None-Match": known})
    assert response.status_code == 304
    assert response.content == b""
    assert response.headers["etag"] == known
    assert response.headers["cache-control"] == "public, max-age=3600"
    assert client.get("/favicon.svg", headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_is_get_without_the_body(client: httpx.Client) -> None:
    for path in ("/", "/assets/index-1a2b.js", "/healthz"):
        head, get = client.head(path), client.get(path)
        assert head.content == b""
        for reply in (head, get):
            del reply.headers["date"], reply.headers["x-request-id"]
        assert head.headers == get.headers


# Browser policies


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/assets/none.js"), ("GET", "/favicon.svg"), ("PUT", "/"), ("GET", "/v1/comment")],
)
def test_every_reply_from_web_has_the_security_headers(
    web: WebComponent, client: httpx.Client, method: str, path: str
) -> None:
    headers = client.request(method, path, headers={"Origin": "https://elsewhere.test"}).headers
    assert headers["content-security-policy"] == POLICY.format(web_url=web.url)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert len(headers.get_list("x-request-id")) == 1
    assert not [name for name in headers if name.startswith("access-control-")]


# Everything else


@pytest.mark.parametrize("path", ["/", "/healthz", "/assets/index-1a2b.js", "/assets/none.js"])
@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS"])
def test_other_methods_are_405(client: httpx.Client, method: str, path: str) -> None:
    response = client.request(method, path)
    assert answer(response) == (405, {"error": "method not allowed"})
    assert response.headers["allow"] == "GET, HEAD"


def test_without_a_built_dashboard_pages_answer_503(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        structlog.testing.capture_logs() as logs,
        WebComponent(tmp_path_factory.mktemp("empty"), free_port(), {}) as web,
        web.client() as client,
    ):
        response = client.get("/projects/1")
        assert response.status_code == 503
        assert "without the dashboard" in response.json()["error"]
        assert "PRSHOTS_WITHOUT_DASHBOARD" in response.json()["error"]
        assert response.headers["cache-control"] == "no-store"
        assert client.get("/healthz").status_code == 200
    assert [line["event"] for line in logs] == ["no dashboard"]
    assert "PRSHOTS_WITHOUT_DASHBOARD" in logs[0]["reason"]


@pytest.mark.parametrize(
    ("accept_encoding", "wanted"),
    [
        ("", False),
        ("gzip", True),
        ("br;q=1.0, GZIP ; q=0.5", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("*", True),
        ("*;q=0", False),
        ("xgzip", False),
        ("gzip;q=much", False),
    ],
)
def test_accept_encoding_decides_whether_gzip_is_used(accept_encoding: str, wanted: bool) -> None:
    assert accepts_gzip(accept_encoding) is wanted


@pytest.mark.parametrize(
    ("settings", "origins"),
    [
        ({}, []),
        ({"github_client_id": "x"}, ["https://avatars.githubusercontent.com"]),
        ({"github_client_id": "x", "github_url": "https://git.corp.test/x"}, ["https://git.corp.test"]),
        (
            {"gitlab_client_id": "x", "gitea_client_id": "x", "gitea_url": "http://gitea.test:3000/git"},
            ["https://gitlab.com", "https://secure.gravatar.com", "http://gitea.test:3000"],
        ),
        ({"oidc_client_id": "x", "oidc_issuer": "https://id.test/realms/a"}, ["https://id.test"]),
    ],
)
def test_the_login_providers_decide_the_allowed_avatar_origins(
    settings: dict[str, Any], origins: list[str]
) -> None:
    assert avatar_origins(Settings(**settings)) == origins


def raw(web: WebComponent, line: str) -> bytes:
    """Request a path that an HTTP client would normalize."""
    with web.connect() as connection:
        connection.sendall(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))
