"""Staged screenshots in real Chromium: the link to them, the page, and deleting one."""

import secrets
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from support.chromium import loaded, too_wide_for_a_phone, violations
from support.drawn_pages import drawn_page, sha
from support.service import Service
from support.signed_in_people import Person

pytestmark = pytest.mark.slow  # its own service and browser


class Shop(NamedTuple):
    id: str
    ci: httpx.Client

    def stage(self, name: str, branch: str = "fix-cart", repository: str = "", *, pair: bool = False) -> None:
        form = {"name": name, "viewport": "320x240", "commit_sha": sha("1"), "branch": branch}
        files = {"image": ("shot.png", drawn_page(button="red"), "image/png")}
        if pair:
            files["before"] = ("before.png", drawn_page(), "image/png")
        form |= {"repository": repository} if repository else {}
        self.ci.post("/v1/staged", data=form, files=files).raise_for_status()


@pytest.fixture
def shop(service: Service, ann: Person) -> Iterator[Shop]:
    project = ann.project(f"shop-{secrets.token_hex(4)}")
    with service.client(ann.token(project)) as ci:
        yield Shop(project, ci)


def test_staged_screenshots_are_linked_shown_and_deleted(page: Page, shop: Shop) -> None:
    page.goto(f"/projects/{shop.id}")
    expect(page.get_by_text("No screenshots yet")).to_be_visible()
    expect(page.get_by_role("link", name="staged")).to_have_count(0)
    shop.stage("checkout/cart")
    shop.stage("checkout/pay", pair=True)
    shop.stage("checkout/cart", repository="eve/shop")
    expect(page.get_by_text("No pull requests yet")).to_be_visible()
    page.get_by_role("link", name="3 screenshots staged").click()
    expect(page.get_by_role("region", name="Branch fix-cart of eve/shop")).to_contain_text("checkout/cart")
    ours = page.get_by_role("region", name="Branch fix-cart", exact=True)
    expect(ours.get_by_role("heading", level=3)).to_have_text(["checkout/pay", "checkout/cart"])
    expect(ours.get_by_role("link", name="Before")).to_be_visible()
    loaded(ours.get_by_role("img").first)
    ours.get_by_role("button", name="Delete checkout/pay").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete screenshot").click()
    expect(page.get_by_text("Deleted checkout/pay.")).to_be_visible()
    expect(ours.get_by_role("heading", level=3)).to_have_text(["checkout/cart"])


def test_the_page_passes_axe_and_fits_a_phone(new_context: Callable[..., BrowserContext], shop: Shop) -> None:
    page = new_context(bypass_csp=True).new_page()
    page.goto(f"/projects/{shop.id}/staged")
    expect(page.get_by_text("Nothing is staged")).to_be_visible()
    shop.stage("a/very/long/name/of/a/screenshot/without/any/space/in/it/which/has/to/be/broken" * 2)
    shop.stage("checkout/pay", branch="a-long-branch-name-without-any-space-" * 6, pair=True)
    shop.stage("checkout/pay", repository="eve/shop")
    page.reload()
    loaded(page.get_by_role("img").first)
    assert violations(page) == []
    assert not too_wide_for_a_phone(page)
