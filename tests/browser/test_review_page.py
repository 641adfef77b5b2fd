"""Reviewing a pull request's changes in real Chromium: decisions, notes and pins, undo, and what happens if it fails."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from support.chromium import too_wide_for_a_phone, violations
from support.connected_project import ConnectedForge
from support.drawn_pages import drawn_page, sha
from support.drawn_shop import PLAIN, RED, VIEWPORT, Shop, shop_with_baselines
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


def group(page: Page, name: str) -> Locator:
    return page.locator(".group").filter(has=page.get_by_role("heading", name=re.compile(name)))


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
    expect(bar(page)).to_contain_text("4 of 4 to review")  # the list listens to keys once its bar is there
    expect(pair(page, "gone").locator("a")).to_be_visible()
    page.keyboard.press("a")  # selects
    expect(pair(page, "gone").locator("a")).to_be_focused()
    expect(bar(page)).to_contain_text("4 of 4 to review")
    page.wait_for_timeout(DOUBLE_PRESS_MS)
    page.keyboard.press("a")
    expect(bar(page)).to_contain_text("3 of 4 to review")
    expect(pair(page, "banner").locator("a")).to_be_focused()
    expect(page.locator(".group.done")).to_have_text(re.compile("gone.*Approved by ann"))
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
    expect(page.locator(".group.done").last).to_have_text(re.compile("step-1, step-2.*Approved by ann"))
    page.locator(".group.done").last.get_by_role("button", name="Show").click()
    expect(pair(page, "step-2")).to_contain_text(re.compile("Approved by ann.* · just now"))
    assert set(states(ann, shop, 1).values()) == {"approved", "passed"}
    page.goto(f"/projects/{shop.id}")
    expect(page.get_by_role("listitem").filter(has_text="#1")).to_contain_text("Passed")


def test_approves_one_of_two_groups_of_a_screenshot(page: Page, ann: Person, shop: Shop) -> None:
    both = drawn_page(button="red", badge="NEW!")
    shop.push(21, "parts", **{"step-1": both, "step-2": RED, "banner": PLAIN, "gone": PLAIN})
    found = shop.compare(21, "parts", "main")
    assert [len(shot["groups"]) for shot in found["shots"] if shot["name"].startswith("step")] == [2, 1]
    page.goto(shop.page(21))
    expect(bar(page)).to_contain_text("3 of 3 to review")
    button, badge = group(page, "step-1, step-2|2 screenshots"), group(page, "^step-1: ")
    expect(button.locator(".pair")).to_have_count(2)
    expect(badge.locator(".pair")).to_have_count(1)
    expect(badge.locator(".closeups img")).to_have_count(1)
    shown = [each.locator("img").first.get_attribute("src") for each in (button, badge)]
    assert shown[0] != shown[1]
    with page.expect_request("**/decisions") as sent:
        button.get_by_role("button", name="Approve 2 screenshots").click()
    boxes = {pair["name"]: pair["regions"] for pair in sent.value.post_data_json["pairs"]}
    (shot,) = (shot for shot in found["shots"] if shot["name"] == "step-1")
    assert len(boxes["step-1"]) < len(shot["regions"])
    expect(bar(page)).to_contain_text("1 of 3 to review")
    expect(button).to_have_text(re.compile("Approved by ann"))
    expect(badge.locator(".pair")).to_contain_text("Open")
    wait_for(lambda: states(ann, shop, 21)["step-2"], "approved".__eq__)
    assert states(ann, shop, 21)["step-1"] == "open"
    page.reload()
    expect(bar(page)).to_contain_text("1 of 3 to review")
    expect(page.locator(".group.done")).to_have_text(re.compile("Approved by ann"))
    badge.get_by_role("button", name="Approve step-1").click()
    expect(bar(page)).to_contain_text(FINISHED)
    wait_for(lambda: states(ann, shop, 21)["gate"], "passed".__eq__)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(bar(page)).to_contain_text("1 of 3 to review")
    wait_for(lambda: states(ann, shop, 21)["step-1"], "open".__eq__)
    page.reload()
    expect(page.locator(".group.done")).to_have_text(re.compile("Approved by ann"))
    expect(badge.locator(".pair")).to_contain_text("Open")
    badge.locator(".pair a").click()
    page.locator("dialog.pair-viewer").get_by_role("button", name="Approve step-1").click()
    expect(bar(page)).to_contain_text(FINISHED)


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


def test_bar_shows_the_state_of_the_check_without_a_reload(page: Page, ann: Person, service: Service) -> None:
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
        lost = "prshots can.t send the statuses of 1 pull request"
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
    expect(page.locator(".group.done")).to_have_text(re.compile("banner.*Approved by ann"))
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


def test_a_group_is_rejected_with_one_note_and_undone_at_once(
    new_context: Callable[..., BrowserContext], ann: Person, shop: Shop
) -> None:
    page = new_context(bypass_csp=True).new_page()
    push(shop, 7)
    page.goto(shop.page(7))
    steps = group(page, "step-1, step-2")
    page.keyboard.press("g")  # selects
    steps.get_by_role("heading").focus()
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog", name="Reject 2 screenshots")
    field = dialog.get_by_role("textbox", name="What is wrong?")
    expect(field).to_be_focused()
    page.keyboard.type("too red")
    assert violations(page) == []
    assert not too_wide_for_a_phone(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.route("**/decisions", lambda route: route.fulfill(status=500, json={"error": "broken"}))
    steps.get_by_role("button", name="Reject 2 screenshots").click()
    expect(field).to_have_value("too red")
    field.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Not recorded. Broken.")
    page.unroute("**/decisions")
    with page.expect_request("**/decisions") as sent:
        field.press("Enter")
    asked = sent.value.post_data_json
    assert (asked["decision"], asked["note"]) == ("rejected", "too red")
    assert [each["name"] for each in asked["pairs"]] == ["step-1", "step-2"]
    expect(dialog).to_have_count(0)
    expect(steps).to_contain_text(re.compile("Rejected by ann.*too red.*too red"))
    expect(steps.get_by_role("button", name="2 screenshots")).to_have_count(0)
    expect(bar(page)).to_contain_text("2 of 4 to review")
    rejected = {"step-1": "rejected", "step-2": "rejected", "banner": "open", "gone": "open"}
    wait_for(lambda: states(ann, shop, 7), lambda found: found == {"gate": "rejected"} | rejected)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(bar(page)).to_contain_text("4 of 4 to review")
    assert violations(page) == []

    pair(page, "step-2").get_by_role("button", name="Approve").click()
    expect(bar(page)).to_contain_text("3 of 4 to review")
    pair(page, "step-1").locator("a").click()
    viewer = page.locator("dialog.pair-viewer")
    viewer.get_by_role("button", name="More actions").click()
    expect(viewer.get_by_role("button", name="Reject 2 screenshots…")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+G")
    field.press_sequentially("both")
    field.press("Enter")
    expect(viewer.locator(".bar-title")).to_contain_text("gone")
    page.keyboard.press("u")
    expect(bar(page)).to_contain_text("3 of 4 to review")
    page.keyboard.press("Escape")
    expect(pair(page, "step-2")).to_contain_text("Approved by ann")


def test_a_group_says_if_only_some_of_it_is_rejected(page: Page, shop: Shop) -> None:
    push(shop, 8)
    viewer = open_viewer(page, shop, 8, "step-1")
    page.keyboard.press("r")
    viewer.get_by_role("textbox", name="What is wrong?").press("Enter")
    expect(viewer.locator(".bar-title")).to_contain_text("step-2")
    page.keyboard.press("Escape")
    steps = group(page, "step-1, step-2").locator(".group-head")
    expect(steps).to_contain_text("1 of 2 rejected by ann")
    page.get_by_role("button", name="Approve all 3 open").click()
    expect(steps).to_contain_text("1 of 2 rejected by ann")
    page.reload()
    expect(steps).to_contain_text("1 of 2 rejected by ann")


def test_a_link_to_a_decided_group_lands_on_it(page: Page, ann: Person, shop: Shop) -> None:
    push(shop, 9)
    found = ann.get_json(f"/projects/{shop.id}/pulls/9/comparison")["comparison"]["groups"]
    steps = next(each["id"] for each in found if "step-1" in each["names"])
    link = shop.page(9, f"?group={steps}")
    page.goto(link)
    heading = group(page, "step-1, step-2").get_by_role("heading")
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()
    page.keyboard.press("g")
    expect(bar(page)).to_contain_text("2 of 4 to review")
    expect(pair(page, "step-1")).to_have_count(0)  # folds
    wait_for(lambda: states(ann, shop, 9), lambda found: found["step-2"] == "approved")  # the page is ahead
    page.goto(link)
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()
    expect(pair(page, "step-1")).to_contain_text("Approved by ann")
    page.keyboard.press("Shift+G")
    page.get_by_role("textbox", name="What is wrong?").press("Enter")
    expect(group(page, "step-1, step-2")).to_contain_text("Rejected by ann")
    wait_for(lambda: states(ann, shop, 9), lambda found: found["step-2"] == "rejected")
    page.goto(link)
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()


def test_screenshots_that_cannot_be_read_are_named_before_anything_is_decided(
    new_context: Callable[..., BrowserContext], shop: Shop
) -> None:
    page = new_context(bypass_csp=True).new_page()
    shop.push(10, "push", **{"step-1": RED[:400], "step-2": RED[:400], "banner": RED})
    shop.compare(10, "push", "main", complete=True)
    page.goto(shop.page(10))
    words = f"2 screenshots can't be read: step-1 {VIEWPORT}, step-2 {VIEWPORT}. Take them again."
    expect(page.locator(".base > *").first).to_have_text(words)
    expect(bar(page)).to_have_text(re.compile(re.escape(words) + ".*2 of 2 to review"))
    expect(page.locator(".pair-name")).to_have_text(["step-1", "step-2", "gone", "banner"])
    for name in ("step-1", "step-2"):
        expect(pair(page, name)).to_contain_text("Cannot be decoded")
        expect(pair(page, name).get_by_role("button")).to_have_count(0)
    assert violations(page) == []
    assert not too_wide_for_a_phone(page)
    page.get_by_role("button", name="Approve all 2 open").click()
    expect(bar(page)).not_to_contain_text("to review")
    expect(bar(page)).to_contain_text(words)


def test_the_head_leads_to_the_other_projects_of_the_pull_request(
    new_context: Callable[..., BrowserContext], service: Service, ann: Person
) -> None:
    page = new_context(bypass_csp=True).new_page()
    with (
        shop_with_baselines(service, ann, "web") as web,
        shop_with_baselines(service, ann, "mobile") as mobile,
    ):
        push(web, 11)
        mobile.push(11, "push", **dict.fromkeys(("step-1", "step-2", "banner", "gone"), PLAIN))
        mobile.compare(11, "push", "main")
        for each in (web, mobile):
            body = {"pr_number": 11, "repository": "https://git.example/acme/head"}
            each.ci.post("/v1/pull", json=body).raise_for_status()
        page.goto(mobile.page(11))
        head, others = page.locator(".pull-facts"), "Other projects in this pull request:"
        expect(head.first).to_contain_text("Passed")
        expect(head.last).to_have_text(re.compile(f"{others}web.*Waiting: 4 to review"))
        assert violations(page) == []
        assert not too_wide_for_a_phone(page)
        head.last.get_by_role("link", name="web").click()
        expect(page).to_have_url(re.compile(web.page(11)))
        expect(head.last).to_have_text(re.compile(f"{others}mobile.*Passed"))
