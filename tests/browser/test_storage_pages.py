"""Quotas and usage in the dashboard: the banner, the usage pages, and the operator's page."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from prshots.server.adapters.sql.storage.usage import SqlUsage
from prshots.server.domain.storage.models import Measured
from support.chromium import PATIENCE_MS, WIDE, too_wide_for_a_phone, violations
from support.service import Service, png, upload
from support.signed_in_people import Person, sign_in_operator
from support.stores_and_records import open_database

pytestmark = pytest.mark.slow

MB = 1024 * 1024
KINDS = {
    "images": 40,
    "before": 9,
    "staged": 3,
    "baselines": 120,
    "thumbnails": 8,
    "differences": 5,
    "closeups": 2,
}


@pytest.fixture
def operator(service: Service) -> Iterator[Person]:
    with sign_in_operator(service) as operator:
        yield operator


@pytest.fixture
def operators_page(running_browser: Browser, service: Service, operator: Person) -> Iterator[Page]:
    context = running_browser.new_context(base_url=service.web_url, viewport=WIDE, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies(operator.browser_cookies)
    yield context.new_page()
    context.close()


def measure(service: Service, project_id: str) -> None:
    """Write what sweeps of the last days would have measured."""
    today = int(time.time()) // 86_400

    async def write() -> None:
        database = open_database(service.data_dir)
        for age in range(20):
            size = MB * (40 - age)
            measured = [Measured(project_id, kind, files, files * size) for kind, files in KINDS.items()]
            await SqlUsage(database).replace_day(today - age, measured, is_estimated=False)
        await database.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, write()).result()


def test_the_banner_and_the_usage_page_show_a_nearly_full_quota(
    page: Page, ann: Person, operator: Person, ci: httpx.Client, project: str
) -> None:
    upload(ci, png(1000))
    page.goto(f"/projects/{project}")
    expect(page.get_by_text("1 image").first).to_be_visible()
    expect(page.get_by_text("% full")).to_have_count(0)
    operator.ask("PATCH", f"/installation/projects/{project}", quota_bytes=1200).raise_for_status()
    page.reload()
    expect(page.get_by_text("storage is 83 % full.")).to_be_visible()
    operator.ask("PATCH", f"/installation/projects/{project}", quota_bytes=1000).raise_for_status()
    page.reload()
    expect(page.get_by_text("project\u2019s storage is 100 % full. New uploads are refused.")).to_be_visible()
    page.get_by_role("link", name="See what frees space").click()
    expect(page.get_by_text("Project: 1000 B of 1000 B, 100 %")).to_be_visible()
    expect(page.get_by_text("New uploads are refused. To free space, close pull requests")).to_be_visible()
    expect(page.get_by_text("Nothing measured yet")).to_be_visible()
    organization = ann.organization_id
    operator.ask("PATCH", f"/installation/projects/{project}", quota_bytes=1200).raise_for_status()
    operator.ask("PATCH", f"/installation/organizations/{organization}", quota_bytes=1).raise_for_status()
    page.goto(f"/projects/{project}")
    # The fuller of the two.
    expect(page.get_by_text("organization\u2019s storage is 100 % full.")).to_be_visible()
    operator.ask("PATCH", f"/installation/organizations/{organization}", quota_bytes=None).raise_for_status()
    page.goto(f"/organizations/{organization}")
    page.get_by_role("link", name="Usage").click()
    expect(page.get_by_role("link", name="project-").first).to_be_visible()


def test_the_operator_changes_quotas(operators_page: Page, ann: Person) -> None:
    project = ann.project("limited")
    page = operators_page
    page.goto("/")
    page.get_by_role("button", name="operator").click()
    page.get_by_role("link", name="Installation").click()
    name = ann.get_json("/me")["user"]["login"]
    page.get_by_role("button", name=f"Change quota of {name}", exact=True).click()
    page.get_by_label("Quota", exact=True).fill("20 apples")
    expect(page.get_by_role("button", name="Save quota")).to_be_disabled()
    page.get_by_label("Quota", exact=True).fill("20 GB")
    page.get_by_role("button", name="Save quota").click()
    expect(page.get_by_text("Quota: 20 GB").first).to_be_visible()
    (quota,) = ann.get_json(f"/projects/{project}/quotas")["quotas"]
    assert (quota["of"], quota["limit"]) == ("organization", 20 * 1024**3)


def test_others_do_not_find_the_operators_page(page: Page) -> None:
    page.goto("/installation")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()


@pytest.fixture
def nearly_full(service: Service, operator: Person, ci: httpx.Client, project: str) -> str:
    """Return a project with measured files, whose quota is nearly full."""
    upload(ci, png(5000))
    operator.ask("PATCH", f"/installation/projects/{project}", quota_bytes=5500).raise_for_status()
    measure(service, project)
    return project


def test_the_storage_pages_pass_axe_and_fit_a_phone(
    new_context: Callable[..., BrowserContext], operators_page: Page, ann: Person, nearly_full: str
) -> None:
    mine = new_context(bypass_csp=True).new_page()
    addresses = {
        "usage": (mine, f"/projects/{nearly_full}/usage"),
        "pulls": (mine, f"/projects/{nearly_full}"),
        "organization-usage": (mine, f"/organizations/{ann.organization_id}/usage"),
        "installation": (operators_page, "/installation"),
        "installation-audit": (operators_page, "/installation/audit"),
    }
    for name, (page, address) in addresses.items():
        page.goto(address)
        page.wait_for_load_state("networkidle")
        if name == "installation":
            page.locator("summary").first.click()
            page.wait_for_load_state("networkidle")
        assert violations(page) == [], name
        assert not too_wide_for_a_phone(page), name
