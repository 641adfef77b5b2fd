"""Reviewing a pull request's changes in real Chromium: decisions, notes and pins, undo, and what happens if it fails."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from support.chromium import too_wide_for_a_phone, violations
from support.connected_project import ConnectedForge
from support.drawn_pages import drawn_page, sha
from support.drawn_shop import RED, VIEWPORT, Shop, shop_with_baselines
from support.service import Service
from support.signed_in_people import Person
from support.waiting import wait_for

pytestmark = pytest.mark.slow

DOUBLE_PRESS_MS = 200
"""After this, the same key is a second decision."""

FINISHED = "Everything is reviewed. Run the job again to update the check."


@pytest.fixture(scope="module")
def shop(service: Service, ann: Person) -> Iterator[Shop]:
    with shop_with_baselines(service, ann, "reviewed") as made:
        yield made


def push(shop: Shop, pr_number: int, commit: str = "push", step: bytes = RED) -> None:
    """Push four changes: a removed page, a banner, and the same change in two steps."""
    shots = {"step-1": step, "step-2": step, "banner": drawn_page(banner=24)}
    shop.push(pr_number, commit, **shots)
    shop.compare(pr_number, commit, "main", complete=True)


def states(ann: Person, shop: Shop, pr_number: int) -> dict[str, Any]:
    found = ann.get_json(f"/projects/{shop.id}/pulls/{pr_number}/comparison")["comparison"]
    return {"gate": found["gate"]["state"]} | {
        shot["name"]: shot["review"]["state"] for shot in found["shots"]
    }


def bar(page: Page) -> Locator:
    """Return the review bar on top."""
    return page.get_by_role("region", name="Review", exact=True).last


def pair(page: Page, name: str) -> Locator:
    return page.locator(".pair").filter(has_text=name)


def open_viewer(page: Page, shop: Shop, pr_number: int, name: str) -> Locator:
    page.goto(shop.page(pr_number, f"?tab=changes&shot={name}&viewport={VIEWPORT}"))
    expect(bar(page)).to_contain_text("to review")
    return page.locator("dialog.pair-viewer")


def test_approves_with_keys_until_nothing_is_left(page: Page, ann: Person, shop: Shop) -> None:
    push(shop, 1)
    # No image ever loads.
    page.route(re.compile(r"\.(png|webp)"), lambda _: None)
    page.goto(shop.page(1))
    expect(page.locator(".pull-facts")).to_contain_text("Waiting: 4 to review")
    page.keyboard.press("a")  # selects
    expect(pair(page, "gone").locator("a")).to_be_focused()
    expect(bar(page)).to_contain_text("4 of 4 to review")
    page.wait_for_timeout(DOUBLE_PRESS_MS)
    page.keyboard.press("a")
    expect(bar(page)).to_contain_text("3 of 4 to review")
    expect(pair(page, "banner").locator("a")).to_be_focused()
    expect(page.get_by_text("1 screenshot approved by ann")).to_be_visible()
    page.keyboard.press("Enter")
    viewer = page.locator("dialog.pair-viewer")
    expect(viewer.locator(".bar-title")).to_contain_text("banner")
    viewer.get_by_role("button", name="Approve banner").dblclick()
    expect(viewer.locator(".bar-title")).to_contain_text("step-1")
    expect(bar(page)).to_contain_text("2 of 4 to review")
    expect(viewer.get_by_role("button", name="Approve 2 screenshots")).to_be_visible()
    page.keyboard.press("g")
    expect(bar(page)).to_contain_text(FINISHED)
    page.keyboard.press("Escape")
    expect(page.locator(".group.done")).to_have_count(3)
    expect(page.locator(".pull-facts")).to_contain_text("Passed")
    page.reload()
    expect(bar(page)).to_contain_text(FINISHED)
    expect(page.get_by_text("2 screenshots approved by ann")).to_be_visible()
    page.locator(".group.done").last.get_by_role("button", name="Show").click()
    expect(pair(page, "step-2")).to_contain_text(re.compile("Approved by ann.* · just now"))
    assert set(states(ann, shop, 1).values()) == {"approved", "passed"}
    page.goto(f"/projects/{shop.id}")
    expect(page.get_by_role("listitem").filter(has_text="#1")).to_contain_text("Passed")


def test_rejects_with_a_note_and_a_pin_that_later_become_outdated(
    new_context: Callable[..., BrowserContext], ann: Person, shop: Shop
) -> None:
    page = new_context(bypass_csp=True).new_page()
    push(shop, 2)
    viewer = open_viewer(page, shop, 2, "step-1")
    page.keyboard.press("r")
    field = viewer.get_by_role("textbox", name="What is wrong?")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.keyboard.press("r")
    page.keyboard.type("<b>Too</b> red")
    viewer.get_by_role("button", name="Zoom in").click()
    image = viewer.get_by_role("img", name="step-1: after")
    box = image.bounding_box()
    assert box is not None
    image.click(position={"x": box["width"] * 0.25, "y": box["height"] * 0.75})
    expect(viewer.get_by_text("Pin placed.")).to_be_visible()
    page.keyboard.type("!")
    expect(field).to_have_value("<b>Too</b> red!")
    assert violations(page) == []
    field.press("Enter")
    expect(viewer.locator(".bar-title")).to_contain_text("step-2")
    page.keyboard.press("k")
    expect(bar(page)).to_contain_text(re.compile("Rejected by ann.*<b>Too</b> red!"))
    pin = viewer.get_by_role("button", name="<b>Too</b> red!")
    shown, picture = pin.bounding_box(), image.bounding_box()
    assert shown
    assert picture
    assert shown["x"] == pytest.approx(picture["x"] + picture["width"] * 0.25, abs=3)
    pin.focus()
    expect(pin.locator(".pin-note")).to_be_visible()
    page.keyboard.press("m")
    expect(viewer.get_by_role("complementary", name="Notes")).to_contain_text("<b>Too</b> red!")
    assert violations(page) == []
    assert not too_wide_for_a_phone(page)
    stored = next(
        shot["review"]
        for shot in ann.get_json(f"/projects/{shop.id}/pulls/2/comparison")["comparison"]["shots"]
        if shot["name"] == "step-1"
    )
    assert stored["pin"] == {"x": pytest.approx(0.25, abs=0.02), "y": pytest.approx(0.75, abs=0.02)}
    page.keyboard.press("Escape")
    expect(pair(page, "step-1")).to_contain_text("<b>Too</b> red!")
    expect(page.locator(".pull-facts")).to_contain_text("Rejected")
    push(shop, 2, "fix", drawn_page(button="green"))
    outdated = page.get_by_text("Outdated notes").locator("..")
    expect(outdated).to_contain_text(re.compile("step-1.*<b>Too</b> red!.*Outdated · Rejected by ann"))
    expect(pair(page, "step-1")).to_contain_text("Open")
    assert violations(page) == []
    assert not too_wide_for_a_phone(page)


def test_undo_restores_the_former_decision(page: Page, ann: Person, shop: Shop) -> None:
    push(shop, 3)
    viewer = open_viewer(page, shop, 3, "banner")
    page.keyboard.press("r")
    page.keyboard.type("too high")
    page.keyboard.press("Control+Enter")
    expect(viewer.locator(".bar-title")).to_contain_text("step-1")
    page.keyboard.press("k")
    page.keyboard.press("a")
    expect(viewer.locator(".bar-title")).to_contain_text("step-1")
    wait_for(lambda: states(ann, shop, 3), lambda found: found["banner"] == "approved")  # the page is ahead
    page.keyboard.press("u")
    expect(bar(page)).to_contain_text(re.compile("Rejected by ann.*too high"))
    page.wait_for_timeout(DOUBLE_PRESS_MS)
    page.keyboard.press("u")
    expect(bar(page)).to_contain_text("4 of 4 to review")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Approve all 4 open").click()
    expect(bar(page)).to_contain_text(FINISHED)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(bar(page)).to_contain_text("4 of 4 to review")
    expect(page.locator(".pull-facts")).to_contain_text("Waiting: 4 to review")
    wait_for(lambda: set(states(ann, shop, 3).values()), {"open", "waiting"}.__eq__)


def test_says_what_the_forge_shows_without_a_reload(page: Page, ann: Person, service: Service) -> None:
    with ConnectedForge() as forge, shop_with_baselines(service, ann, "connected") as shop:
        body = {
            "forge": "gitea",
            "url": forge.public_url,
            "repository": forge.repository,
            "token": forge.token,
        }
        assert ann.ask("PUT", f"/projects/{shop.id}/connection", **body).status_code == 200
        push(shop, 11)
        page.goto(shop.page(11))
        forge.revoke_token()
        page.get_by_role("button", name="Approve all 4 open").click()
        refused = "The check on the forge was not updated: Gitea refused the token"
        expect(bar(page)).to_contain_text(f"Everything is reviewed. {refused}")
        expect(page.get_by_text("The status was not sent")).to_be_visible()
        page.goto(f"/projects/{shop.id}/settings")
        lost = "The statuses of 1 pull request don.t arrive at the forge"
        expect(page.locator("#connection")).to_contain_text(re.compile(f"{lost}.*Gitea refused the token"))
        form = page.locator("#connection form")
        form.get_by_label("Repository").fill(forge.repository)
        form.get_by_label("Web address").fill(forge.public_url)
        form.get_by_label("Forge", exact=True).select_option("gitea")
        forge.restore_token()
        form.get_by_label("Token").fill(forge.no_status_token)
        form.get_by_role("button", name="Replace connection").click()
        expect(form).to_contain_text("The token can read acme/shop but can't set commit statuses")
        assert not too_wide_for_a_phone(page)
        page.goto(shop.page(11))
        expect(bar(page)).to_contain_text("Everything is reviewed. The check on the forge is green.")


def test_a_decision_about_images_that_changed_is_refused_and_keeps_the_note(
    page: Page, ann: Person, shop: Shop
) -> None:
    push(shop, 4)
    held: list[Any] = []

    def hold(route: Route) -> None:
        """Answer with the first reply, as if no poll had happened since."""
        if not held:
            held.append(route.fetch())
        if held[0] is None:
            route.continue_()
        else:
            route.fulfill(response=held[0])

    page.route("**/comparison", hold)
    viewer = open_viewer(page, shop, 4, "step-1")
    page.keyboard.press("r")
    page.keyboard.type("too red")
    push(shop, 4, "other", drawn_page(button="green"))
    viewer.get_by_role("button", name="Reject", exact=True).click()
    expect(bar(page)).to_contain_text("This changed since you looked.")
    held[0] = None
    field = viewer.get_by_role("textbox", name="What is wrong?")
    expect(field).to_have_value("too red")
    commit = viewer.locator(".pane-caption.after .mono")
    expect(commit).to_have_text(sha("other")[:7])
    field.press("Enter")
    expect(viewer.locator(".bar-title")).to_contain_text("step-2")
    wait_for(lambda: states(ann, shop, 4), lambda found: found["step-1"] == "rejected")  # the page is ahead


def test_a_failed_decision_is_taken_back_and_can_be_tried_again(page: Page, ann: Person, shop: Shop) -> None:
    push(shop, 5)
    page.route("**/decisions", lambda route: route.fulfill(status=500, json={"error": "broken"}))
    page.goto(shop.page(5))
    pair(page, "banner").get_by_role("button", name="Approve").click()
    expect(bar(page)).to_contain_text("Not recorded. Broken.")
    expect(bar(page)).to_contain_text("4 of 4 to review")
    expect(pair(page, "banner")).to_contain_text("Open")
    page.unroute("**/decisions")
    bar(page).get_by_role("button", name="Try again").click()
    expect(bar(page)).to_contain_text("3 of 4 to review")
    expect(page.get_by_text("1 screenshot approved by ann")).to_be_visible()
    wait_for(lambda: states(ann, shop, 5), lambda found: found["banner"] == "approved")  # the page is ahead


def test_a_quarantined_shot_is_folded_and_not_approved_with_the_others(
    page: Page, ann: Person, shop: Shop
) -> None:
    push(shop, 6)
    viewer = open_viewer(page, shop, 6, "banner")
    viewer.get_by_role("button", name="More actions").click()
    viewer.get_by_role("button", name="Quarantine…").click()
    dialog = page.get_by_role("dialog", name="Quarantine banner")
    dialog.get_by_label("Reason").fill("The banner rotates")
    dialog.get_by_label("Days").fill("3")
    dialog.get_by_role("button", name="Quarantine screenshot").click()
    expect(bar(page)).to_contain_text(re.compile("3 of 3 to review.*In quarantine"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Approve all 3 open").click()
    expect(bar(page)).to_contain_text(FINISHED)
    wait_for(
        lambda: states(ann, shop, 6), lambda found: found["banner"] == "quarantined"
    )  # the page is ahead
    folded = page.locator(".group.done").last
    expect(folded).to_contain_text("1 screenshot in quarantine")
    folded.get_by_role("link", name="Quarantine").click()
    row = page.get_by_role("listitem").filter(has_text="The banner rotates")
    expect(row).to_contain_text("Ends in 3 days: ")
    row.get_by_role("button", name="End").click()
    expect(page.get_by_text("Nothing is in quarantine")).to_be_visible()
