"""Staged screenshots in real Chromium: the link to them, the page, and deleting one."""

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from support.chromium import loaded, too_wide_for_a_phone, violations
from support.drawn_pages import drawn_page
from support.service import upload

pytestmark = pytest.mark.slow  # its own service and browser


def stage(ci: httpx.Client, name: str, *, is_pair: bool = False, **place: str) -> None:
    before = drawn_page() if is_pair else None
    about = {"name": name, "viewport": "320x240", "branch": "fix-cart", "pr_number": None} | place
    upload(ci, drawn_page(button="red"), path="/v1/staged", before=before, **about).raise_for_status()


def test_staged_screenshots_are_linked_shown_and_deleted(page: Page, ci: httpx.Client, project: str) -> None:
    page.goto(f"/projects/{project}")
    expect(page.get_by_text("No screenshots yet")).to_be_visible()
    expect(page.get_by_role("link", name="staged")).to_have_count(0)
    stage(ci, "checkout/cart")
    stage(ci, "checkout/pay", is_pair=True)
    stage(ci, "checkout/cart", repository="eve/shop")
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


def test_the_page_passes_axe_and_fits_a_phone(
    new_context: Callable[..., BrowserContext], ci: httpx.Client, project: str
) -> None:
    page = new_context(bypass_csp=True).new_page()
    page.goto(f"/projects/{project}/staged")
    expect(page.get_by_text("Nothing is staged")).to_be_visible()
    stage(ci, "a/very/long/name/of/a/screenshot/without/any/space/in/it/which/has/to/be/broken" * 2)
    stage(ci, "checkout/pay", branch="a-long-branch-name-without-any-space-" * 6, is_pair=True)
    stage(ci, "checkout/pay", repository="eve/shop")
    page.reload()
    loaded(page.get_by_role("img").first)
    assert violations(page) == []
    assert not too_wide_for_a_phone(page)
