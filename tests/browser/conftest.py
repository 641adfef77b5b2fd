"""A browser for each file, in which somebody is signed in to the shared service."""

import contextlib
import secrets
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from support.chromium import PATIENCE_MS, WIDE, chromium
from support.service import Service
from support.signed_in_people import Person, sign_in


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.fixture(scope="module")
def running_browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def ann(service: Service) -> Iterator[Person]:
    with sign_in(service, f"ann-{secrets.token_hex(4)}") as person:
        yield person


@pytest.fixture
def new_context(
    running_browser: Browser, service: Service, ann: Person
) -> Iterator[Callable[..., BrowserContext]]:
    """Create browser contexts in which Ann is signed in. Fail if a page reported an error."""
    complaints: list[str] = []
    with contextlib.ExitStack() as stack:

        def make(**options: object) -> BrowserContext:
            context = running_browser.new_context(
                base_url=service.web_url,
                permissions=["clipboard-read", "clipboard-write"],
                **({"viewport": WIDE} | options),  # type: ignore[arg-type]
            )
            context.set_default_timeout(PATIENCE_MS)
            context.add_cookies(ann.browser_cookies)
            context.on("console", lambda said: _note(complaints, said.type, said.text))
            context.on("weberror", lambda error: complaints.append(str(error.error)))
            stack.callback(context.close)
            return context

        yield make
    assert complaints == []


def _note(complaints: list[str], kind: str, text: str) -> None:
    """Record errors and policy violations that a page reports, but not failed requests."""
    if kind == "error" and "Failed to load resource" not in text:
        complaints.append(text)


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context().new_page()


@pytest.fixture
def project(ann: Person) -> str:
    return ann.project()


@pytest.fixture
def ci(service: Service, ann: Person, project: str) -> Iterator[httpx.Client]:
    with service.client(ann.token(project)) as client:
        yield client
