"""Roles, invitation links and groups in the dashboard."""

import re
import secrets
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from support.chromium import copied, too_wide_for_a_phone, violations
from support.drawn_pages import drawn_page, sha
from support.project_client import Project
from support.service import Service, upload
from support.signed_in_people import Person, sign_in

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ann(service: Service) -> Iterator[Person]:
    with sign_in(service, f"ann-{secrets.token_hex(4)}", groups=["acme", "acme/web"]) as person:
        yield person


@pytest.fixture(scope="module")
def bob(service: Service) -> Iterator[Person]:
    with sign_in(service, f"bob-{secrets.token_hex(4)}") as person:
        yield person


@pytest.fixture
def theirs(new_context: Callable[..., BrowserContext]) -> Page:
    """Open a browser in which nobody is signed in."""
    context = new_context()
    context.clear_cookies()
    return context.new_page()


def test_a_colleague_signs_in_and_joins_with_a_link(
    page: Page, theirs: Page, ann: Person, bob: Person
) -> None:
    team = ann.organization()
    page.goto(f"/organizations/{team}")
    links = page.get_by_role("heading", name="Invitation links").locator("..")
    links.get_by_label("Role").select_option("maintainer")
    links.get_by_role("button", name="Create link").click()
    page.get_by_role("dialog").get_by_role("button", name="Copy link").click()
    link = copied(page)
    page.get_by_role("button", name="copied it").click()
    expect(links.get_by_role("listitem")).to_have_count(1)

    theirs.goto(link)
    expect(theirs).to_have_url(re.compile(r"/sign-in\?return_to=%2Fjoin$"))
    theirs.context.add_cookies(bob.browser_cookies)
    theirs.goto("/join")  # where signing in returns to
    expect(theirs.get_by_role("heading", level=1)).to_have_text(re.compile("^Join team-"))
    expect(theirs.get_by_text("You join as a maintainer.")).to_be_visible()
    assert theirs.url.endswith("/join")
    theirs.get_by_role("button", name="Join").click()
    expect(theirs.get_by_role("heading", level=2, name="Members")).to_be_visible()
    expect(theirs.get_by_role("button", name="Leave")).to_be_visible()
    theirs.goto("/")
    theirs.goto(link)
    expect(theirs.get_by_text("This link was used or revoked")).to_be_visible()


def test_an_owner_adds_and_removes_a_group(page: Page, ann: Person) -> None:
    page.goto(f"/organizations/{ann.organization()}")
    groups = page.get_by_role("heading", name="Groups").locator("..")
    groups.get_by_label("Group").select_option("acme/web")
    groups.get_by_label("Role").select_option("viewer")
    groups.get_by_role("button", name="Add group").click()
    expect(groups.get_by_role("listitem")).to_contain_text("acme/web")
    groups.get_by_role("button", name="Remove acme/web").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove group").click()
    expect(groups.get_by_role("listitem")).to_have_count(0)


def test_a_viewer_sees_everything_and_no_button_that_changes_something(
    theirs: Page, service: Service, ann: Person, bob: Person
) -> None:
    team = ann.organization()
    ann.add_member(team, bob, "viewer")
    project = ann.ask("POST", "/projects", name="looked-at", organization_id=team).json()["id"]
    with service.client(ann.token(project)) as ci:
        client = Project(ci)
        client.build("1", cart=drawn_page())
        upload(ci, drawn_page(button="#d70022"), name="cart", viewport="320x240", commit_sha=sha("2"))
        client.compare("2", "1")
    theirs.context.add_cookies(bob.browser_cookies)
    theirs.goto(f"/projects/{project}/prs/7")
    expect(theirs.get_by_text("Only reviewers can decide.")).to_be_visible()
    expect(theirs.get_by_role("button", name=re.compile("Approve|Reject"))).to_have_count(0)
    theirs.locator("[data-cell]").first.click()
    expect(theirs.get_by_role("dialog")).to_be_visible()
    for key in "arg":
        theirs.keyboard.press(key)
    expect(theirs.get_by_role("button", name=re.compile("Approve|Reject|Quarantine"))).to_have_count(0)
    assert ann.get_json(f"/projects/{project}/pulls/7/comparison")["comparison"]["gate"]["state"] == "waiting"
    for part in ("tokens", "settings", "setup"):
        theirs.goto(f"/projects/{project}/{part}")
        expect(theirs.get_by_text(re.compile("This page is for maintainers of team-"))).to_be_visible()
        expect(theirs.get_by_role("link", name="Show members")).to_be_visible()
    ann.ask("PATCH", f"/organizations/{team}/members/{bob.user_id}", role="maintainer").raise_for_status()
    expect(theirs.get_by_role("button", name="Create token")).to_be_visible()
    for part in ("webhooks", "audit"):
        theirs.goto(f"/organizations/{team}/{part}")
        expect(theirs.get_by_text(re.compile("This page is for owners of team-"))).to_be_visible()


def test_the_pages_pass_axe_and_fit_a_phone(
    new_context: Callable[..., BrowserContext], ann: Person, bob: Person
) -> None:
    team = ann.organization()
    ann.add_member(team, bob, "viewer")
    links = f"/organizations/{team}/invitation-links"
    url = ann.ask("POST", links, role="viewer").json()["url"]
    ann.ask("POST", f"/organizations/{team}/groups", name="acme", role="viewer").raise_for_status()
    project = ann.ask("POST", "/projects", name="shop", organization_id=team).json()["id"]
    for days in (3, 30):
        ann.ask("POST", f"/projects/{project}/tokens", label="x" * 60, expires_days=days).raise_for_status()
    context = new_context(bypass_csp=True, viewport={"width": 360, "height": 800}, has_touch=True)
    page = context.new_page()
    for who, address in (
        (ann, f"/organizations/{team}"),
        (ann, f"/projects/{project}/tokens"),
        (ann, url),
        (bob, f"/projects/{project}/tokens"),
        (bob, f"/organizations/{team}/webhooks"),
        (bob, "/organizations/0000000000000000"),
        (bob, "/join"),
    ):
        context.clear_cookies()
        context.add_cookies(who.browser_cookies)
        page.goto(address)
        page.wait_for_load_state("networkidle")
        expect(page.locator("h1")).to_have_count(1)
        assert violations(page) == [], address
        assert not too_wide_for_a_phone(page), address
