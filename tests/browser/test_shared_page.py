"""Share links in real Chromium: the dialog that makes them, and the page that people without an account see."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from support.chromium import PATIENCE_MS, WIDE, too_wide_for_a_phone, violations
from support.drawn_pages import drawn_page
from support.drawn_shop import RED, VIEWPORT, Shop, shop_with_baselines
from support.service import Service
from support.signed_in_people import Person, sign_in

pytestmark = pytest.mark.slow

ENDED = "This link has ended or doesn\u2019t exist. Ask whoever sent it for a new one."


@pytest.fixture(scope="module")
def shop(service: Service, ann: Person) -> Iterator[Shop]:
    with shop_with_baselines(service, ann, "shared") as made:
        yield made


def push(shop: Shop, pr_number: int) -> None:
    shots = {"step-1": RED, "step-2": RED, "banner": drawn_page(banner=24)}
    shop.push(pr_number, "push", **shots)
    shop.compare(pr_number, "push", "main", complete=True)


def share(ann: Person, shop: Shop, pr_number: int) -> str:
    """Create a link, and return its address."""
    reply = ann.ask("POST", f"/projects/{shop.id}/pulls/{pr_number}/share-links")
    assert reply.status_code == 201, reply.text
    return str(reply.json()["url"])


@pytest.fixture
def guest(running_browser: Browser) -> Iterator[Page]:
    """Open a browser in which nobody is signed in."""
    context = running_browser.new_context(viewport=WIDE)
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def pair(page: Page, name: str) -> Locator:
    return page.locator(".pair").filter(has_text=name)


def test_creates_copies_lists_and_revokes_a_link(page: Page, guest: Page, shop: Shop) -> None:
    push(shop, 1)
    page.goto(shop.page(1))
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share the changes of #1")
    dialog.get_by_label("Days").fill("30")
    dialog.get_by_role("button", name="Create link").click()
    dialog.get_by_role("button", name="Copy link").click()
    address = page.evaluate("navigator.clipboard.readText()")
    expect(dialog.get_by_role("listitem")).to_contain_text("Until")
    guest.goto(address)
    expect(guest.get_by_role("heading", level=1)).to_contain_text("#1")
    dialog.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name="Revoke the link?").get_by_role("button", name="Revoke link").click()
    expect(dialog.get_by_role("listitem")).to_contain_text("Revoked by ann")
    guest.reload()
    expect(guest.get_by_text(ENDED)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Share")).to_be_focused()


def test_a_guest_sees_the_changes_decides_nothing_and_keeps_the_address(
    guest: Page, ann: Person, shop: Shop
) -> None:
    push(shop, 2)
    address = share(ann, shop, 2)
    requested: list[str] = []
    guest.on("request", lambda request: requested.append(request.url))
    guest.goto(address)
    expect(guest.locator(".pull-facts")).to_contain_text("Waiting: 4 to review")
    expect(guest.locator(".pair")).to_have_count(4)
    for name in ("Approve", "Reject", "Share", "Undo"):
        expect(guest.get_by_role("button", name=name)).to_have_count(0)
    links = guest.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert {link.partition("?")[0].partition("#")[0] for link in links} <= {"/shared", ""}
    guest.get_by_role("button", name="Whole pages").click()
    expect(pair(guest, "gone").locator("img")).to_have_js_property("complete", True)
    guest.keyboard.press("j")
    for key in "arg":
        guest.keyboard.press(key)
    pair(guest, "banner").locator("a").click()
    viewer = guest.locator("dialog.pair-viewer")
    expect(viewer.locator(".bar-title")).to_contain_text("banner")
    for name in ("Approve", "Reject", "History", "Notes", "More actions"):
        expect(viewer.get_by_role("button", name=name)).to_have_count(0)
    guest.keyboard.press("2")
    guest.keyboard.press("a")
    guest.keyboard.press("h")
    expect(viewer.locator("aside")).to_have_count(0)
    assert guest.url.startswith(f"{address.partition('#')[0]}?tab=changes&shot=banner")
    assert guest.url.endswith(f"#{address.partition('#')[2]}")
    guest.reload()
    expect(viewer.locator(".bar-title")).to_contain_text("banner")
    guest.keyboard.press("Escape")
    expect(viewer).to_have_count(0)
    guest.keyboard.press("Tab")
    assert ann.get_json(f"/projects/{shop.id}/pulls/2/comparison")["comparison"]["gate"]["open"] == 4
    assert [url for url in requested if "/v1/dashboard" in url or address.partition("#")[2] in url] == []


def test_a_viewer_neither_decides_nor_shares(
    new_context: Callable[..., BrowserContext], service: Service, ann: Person
) -> None:
    with sign_in(service) as viewer:
        organization = ann.organization(viewer)
        role = ann.ask("PATCH", f"/organizations/{organization}/members/{viewer.user_id}", role="viewer")
        assert role.status_code == 200, role.text
        made = ann.ask("POST", "/projects", name="looked-at", organization_id=organization).json()["id"]
        with service.client(ann.token(made)) as ci:
            shop = Shop(made, ci)
            shop.push(7, "push", before=drawn_page(), cart=RED)
            shop.compare(7, "push")
        context = new_context()
        context.clear_cookies()
        context.add_cookies(viewer.browser_cookies)
        page = context.new_page()
        page.goto(shop.page(7))
        expect(page.locator(".review-bar")).to_contain_text("1 of 1 to review")
        page.wait_for_load_state("networkidle")
        for name in ("Approve", "Reject", "Share"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        page.get_by_role("link", name="cart").click()
        expect(page.get_by_role("button", name="History")).to_be_visible()
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)


def test_skipping_to_the_content_keeps_the_secret(guest: Page, ann: Person, shop: Shop) -> None:
    push(shop, 3)
    guest.goto(address := share(ann, shop, 3))
    expect(guest.locator(".pair")).to_have_count(4)
    guest.keyboard.press("Tab")
    guest.keyboard.press("Enter")
    expect(guest.locator("#main")).to_be_focused()
    assert guest.url == address


def test_an_open_page_ends_with_its_link(guest: Page, ann: Person, shop: Shop) -> None:
    push(shop, 4)
    guest.goto(share(ann, shop, 4))
    expect(guest.locator(".pair")).to_have_count(4)
    shop.ci.post("/v1/expire", json={"pr_number": 4})
    guest.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # polls at once
    expect(guest.get_by_text(ENDED)).to_be_visible()
    expect(guest.locator(".pair")).to_have_count(0)


def test_the_dialog_and_the_page_pass_axe_and_fit_a_phone(
    new_context: Callable[..., BrowserContext], ann: Person, shop: Shop
) -> None:
    push(shop, 5)
    context = new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(shop.page(5))
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share the changes")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("button", name="Copy link")).to_be_visible()
    found = {"dialog": (violations(page), too_wide_for_a_phone(page))}
    context.clear_cookies()
    address = share(ann, shop, 5)
    path, _, secret = address.partition("#")
    for each in (address, f"{path}#x", f"{path}?tab=changes&shot=banner&viewport={VIEWPORT}#{secret}"):
        page.goto("about:blank")
        page.goto(each)
        expect(page.locator("h1")).to_have_count(1)
        page.wait_for_load_state("networkidle")
        found[each] = (violations(page), too_wide_for_a_phone(page))
        assert page.title().endswith("prshots")
    assert set(map(str, found.values())) == {"([], False)"}, found
