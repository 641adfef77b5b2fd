"""The web component in front of the real API: clients get exactly what the API replies."""

import re
from collections.abc import Iterator

import httpx
import pytest

from prshots import __version__
from support.service import MAX_BYTES, Service

PER_REPLY = {"date", "x-request-id"}


@pytest.fixture(scope="module")
def web_client(shared_service: Service, token: str) -> Iterator[httpx.Client]:
    with shared_service.client(token, shared_service.web_url) as made:
        yield made


def kept_headers(response: httpx.Response) -> list[tuple[str, str]]:
    return sorted(header for header in response.headers.multi_items() if header[0] not in PER_REPLY)


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/v1/comment?pr_number=7", {}),
        ("HEAD", "/v1/comment?pr_number=7", {}),
        ("GET", "/v1/comment?pr_number=7", {"headers": {"Authorization": "Bearer wrong"}}),
        ("DELETE", "/v1/images/%2e%2e", {}),
        ("POST", "/v1/expire", {"json": {"pr_number": 0}}),
        ("POST", "/v1/upload", {"content": bytes(2 * MAX_BYTES)}),
        ("PUT", "/v1/upload", {"content": b"x"}),
        ("OPTIONS", "/v1/upload", {"headers": {"Origin": "https://elsewhere.test"}}),
        ("GET", "/auth/nothing/here", {}),
    ],
)
def test_a_reply_is_the_same_as_from_the_api(
    client: httpx.Client, web_client: httpx.Client, method: str, path: str, options: dict[str, object]
) -> None:
    through_web = web_client.request(method, path, **options)
    direct = client.request(method, path, **options)
    assert through_web.status_code == direct.status_code
    assert through_web.content == direct.content
    assert kept_headers(through_web) == kept_headers(direct)
    assert len(through_web.headers.get_list("x-request-id")) == 1
    assert not [name for name in through_web.headers if name.startswith("access-control-")]


def test_web_does_not_relay_the_api_docs_or_health_check(shared_service: Service) -> None:
    """Web relays only the API's own paths. The API's docs and health check stay at its own address."""
    health = httpx.get(f"{shared_service.web_url}/healthz", trust_env=False)
    assert health.json() == {"status": "ok"}
    assert "content-security-policy" in health.headers
    manual = httpx.get(f"{shared_service.web_url}/docs", trust_env=False)
    assert "prshots API" not in manual.text


def test_llms_txt_is_served_at_both_addresses_with_those_of_this_installation(
    shared_service: Service,
) -> None:
    texts = [
        httpx.get(f"{address}/llms.txt", trust_env=False)
        for address in (shared_service.web_url, shared_service.base_url)
    ]
    for reply in texts:
        assert reply.status_code == 200
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        assert f"PRSHOTS_URL={shared_service.base_url}`" in reply.text
        assert f"prshots=={__version__}`" in reply.text
        assert shared_service.web_url in reply.text
    assert texts[0].text == texts[1].text
    for address in re.findall(r"\]\((http[^)]+)\)", texts[0].text):
        assert httpx.get(address, trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("component", "path"),
    [
        *(
            ("base_url", path)
            for path in ("/v1/limits", "/v1/comment", "/nothing", "/healthz", "/openapi.json", "/%")
        ),
        *(("web_url", path) for path in ("/v1/limits", "/v1/dashboard/me", "/auth/providers", "/healthz")),
        *(("img_url", path) for path in ("/healthz", "/nothing")),
    ],
)
def test_every_json_reply_forbids_sniffing_its_type(
    shared_service: Service, component: str, path: str
) -> None:
    reply = httpx.get(getattr(shared_service, component) + path, trust_env=False)
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers.get_list("x-content-type-options") == ["nosniff"]
