"""/openapi.json covers the whole contract. `tests/e2e/test_schemathesis.py` holds the service to it."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from prshots.server.api.openapi import docs_page
from support.bare_api import bare_api
from support.chromium import chromium
from support.service import Service


@pytest.fixture(scope="module")
def document(shared_service: Service) -> dict[str, Any]:
    return dict(httpx.get(f"{shared_service.base_url}/openapi.json").raise_for_status().json())


# The document covers the contract

PR_NUMBER_REQUIRED = "pr_number required"
DECLARED = "declared image/{}, but the file content is not a valid {}"
CONTRACT = {
    ("post", "/v1/upload", 400): {
        "invalid multipart/form-data body",
        "image file required",
        "name required",
        PR_NUMBER_REQUIRED,
        "commit_sha required",
        "viewport must be like 1280x800",
        "theme must be light or dark",
        "Idempotency-Key must be 1 to 64 visible ASCII characters",
    },
    ("post", "/v1/upload", 401): {"unauthorized"},
    ("post", "/v1/upload", 413): {f"{which}payload too large (max 5MB)" for which in ("", "before: ")},
    ("post", "/v1/upload", 415): {
        which + message
        for which in ("", "before: ")
        for message in (
            "unsupported content-type (png/jpeg/webp)",
            DECLARED.format("png", "PNG"),
            DECLARED.format("jpeg", "JPEG"),
            DECLARED.format("webp", "WEBP"),
        )
    },
    ("post", "/v1/upload", 429): {"rate limited"},
    ("delete", "/v1/images/{image_id}", 401): {"unauthorized"},
    ("delete", "/v1/images/{image_id}", 404): {"not found"},
    ("delete", "/v1/images/{image_id}", 503): {
        "expire failed, retry later",
        "database unavailable, retry later",
    },
    ("get", "/v1/comment", 400): {
        PR_NUMBER_REQUIRED,
        "limit must be a whole number from 1024 to 65536",
        "marker must be html or link",
        "view must be all, latest or changes",
    },
    ("get", "/v1/comment", 401): {"unauthorized"},
    ("post", "/v1/expire", 400): {
        PR_NUMBER_REQUIRED,
        "merged_as must be 40 hexadecimal characters",
        "branch required",
    },
    ("post", "/v1/expire", 401): {"unauthorized"},
    ("post", "/v1/oidc/token", 401): {"unauthorized"},
    ("post", "/v1/compare", 404): {"not found"},
    ("post", "/v1/compare", 429): {"rate limited"},
    ("get", "/v1/compare", 429): {"rate limited"},
    ("post", "/v1/baseline/complete", 429): {"rate limited"},
    ("post", "/v1/upload/known", 429): {"rate limited"},
    ("post", "/v1/put-urls", 429): {"rate limited"},
}


def test_every_error_of_the_contract_is_described(document):
    for (method, path, status), messages in CONTRACT.items():
        reply = document["paths"][path][method]["responses"][str(status)]
        schema = reply["content"]["application/json"]["schema"]
        assert set(schema["properties"]["error"]["enum"]) == messages, (method, path, status)


def test_exactly_the_retryable_errors_have_retry_after(document):
    for operation in operations(document):
        for status, reply in operation["responses"].items():
            assert ("Retry-After" in reply.get("headers", {})) == (status in {"429", "503", "507"})


NEED_NO_TOKEN = {"/v1/oidc/token", "/v1/limits", "/v1/put/{secret}"}


def test_all_v1_operations_except_a_few_need_a_token(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            is_public = path.startswith("/v1/") and path not in NEED_NO_TOKEN
            assert ("security" in operation) == is_public
    assert document["components"]["securitySchemes"]["uploadToken"]["scheme"] == "bearer"


def test_the_upload_form_is_described(document):
    form = document["paths"]["/v1/upload"]["post"]["requestBody"]["content"]["multipart/form-data"]
    assert form["schema"]["required"] == ["image", "name", "pr_number", "commit_sha", "viewport"]
    assert form["encoding"]["image"]["contentType"] == "image/png, image/jpeg, image/webp"
    fields = form["schema"]["properties"]
    assert fields["image"]["format"] == "binary"
    assert "5,242,880 bytes" in fields["image"]["description"]
    assert (fields["name"]["minLength"], fields["name"]["maxLength"]) == (1, 200)
    assert (fields["pr_number"]["minimum"], fields["pr_number"]["maximum"]) == (1, 2_147_483_647)
    assert re.fullmatch(fields["commit_sha"]["pattern"], "0123abcdEF")
    assert re.fullmatch(fields["viewport"]["pattern"], fields["viewport"]["example"])


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


# The HTML page


def test_the_docs_page_shows_every_operation_and_error(shared_service, document):
    page = httpx.get(f"{shared_service.base_url}/docs")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy)
    assert page.headers["x-frame-options"] == "DENY"
    for message in set().union(*CONTRACT.values()):
        assert f"<code>{message}</code>" in page.text
    for operation in operations(document):
        assert f"<h2>{operation['summary']}</h2>" in page.text


async def test_document_and_page_are_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = []

    def build_page(document: dict[str, Any]) -> str:
        pages.append(document)
        return "page"

    monkeypatch.setattr(docs_page, "docs_page", build_page)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(bare_api()), base_url="http://api") as client:
        replies = [(await client.get(path)).content for path in ("/docs", "/openapi.json") * 2]
    assert replies[:2] == replies[2:]
    assert len(pages) == 1


@pytest.mark.slow
def test_the_docs_page_loads_nothing_else_and_fits_the_screen(shared_service):
    """The page logs nothing to the console, loads nothing else, and does not scroll sideways."""
    url = f"{shared_service.base_url}/docs"
    with chromium() as browser:
        for scheme, width in itertools.product(["light", "dark"], [360, 1280]):
            asked: list[str] = []
            said: list[str] = []
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, said=said: said.append(message.text))
            page.goto(url, wait_until="networkidle")
            root = "document.documentElement"
            assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
            assert (asked, said) == ([url], [])
