"""What a pull request changed, in real Chromium: the contact sheet, the pair viewer, and the baselines."""

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from support.chromium import NARROW, copied, loaded, too_wide_for_a_phone, violations
from support.drawn_pages import drawn_page, sha
from support.drawn_shop import PLAIN, RED, VIEWPORT, Shop
from support.service import Service, upload
from support.signed_in_people import Person

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop(service: Service, ann: Person) -> Iterator[Shop]:
    project = ann.project("shop")
    with service.client(ann.token(project)) as ci:
        made = Shop(project, ci)
        for name in ("step-2", "step-10", "banner", "gone", "cut", "same"):
            made.baseline("main", name)
        ci.post(
            "/v1/baseline/complete", json={"branch": "main", "commit_sha": sha("main")}
        ).raise_for_status()
        pushed = {"step-2": RED, "step-10": RED, "added": RED, "cut": RED[:400], "same": PLAIN}
        made.push(7, "push", banner=drawn_page(banner=24), **pushed)
        counts = made.compare(7, "push", "main", complete=True)["counts"]
        assert counts == {"changed": 3, "moved": 0, "new": 1, "removed": 1, "unchanged": 1, "failed": 1}
        yield made


def names(page: Page) -> Locator:
    return page.locator(".pair-name")


def review_bar(page: Page) -> Locator:
    return page.get_by_role("region", name="Review", exact=True)


def viewer(page: Page) -> Locator:
    return page.locator("dialog.pair-viewer")


def test_the_page_opens_on_the_changes_and_filters_them(page: Page, shop: Shop) -> None:
    page.goto(shop.page())
    expect(page.get_by_role("link", name="Changes 6", exact=True)).to_have_attribute("aria-current", "page")
    expect(names(page)).to_have_text(["cut", "gone", "banner", "step-2", "step-10", "added"])
    counts = "7 screenshots: 3 changed, 1 new, 1 removed, 1 could not be compared, 1 unchanged"
    expect(page.locator(".pull-facts")).to_contain_text(counts)
    expect(page.get_by_text(f"commit {sha('push')[:7]} with 6 screenshots on the right")).to_be_visible()
    sheet = page.locator(".sheet")
    expect(sheet).to_contain_text("moved 24 px down")
    expect(sheet).to_contain_text("Not on main")
    expect(page.locator(".pair").first).to_contain_text("Cannot be decoded")
    for side in ("Before", "After"):
        loaded(page.locator(".pair").filter(has_text="step-2").get_by_role("img", name=side))
    page.get_by_role("navigation", name="Groups").get_by_role("link", name="New 1").click()
    expect(page.locator(".group[data-current]")).to_contain_text("added")
    expect(page.locator(".group[data-current] h2")).to_be_focused()
    page.reload()
    expect(page.locator(".group[data-current] h2")).to_be_in_viewport()
    expect(page.get_by_text("No such group")).to_have_count(0)
    page.goto(shop.page(query="?group=unknown"))
    expect(page.get_by_text("No such group")).to_be_visible()
    expect(names(page)).to_have_count(6)
    page.get_by_role("link", name="Unchanged 1").click()
    expect(names(page)).to_have_text(["same"])
    page.get_by_role("link", name="Changed 3", exact=True).click()
    page.get_by_role("searchbox").fill("10")
    expect(names(page)).to_have_text(["step-10"])
    expect(page).to_have_url(re.compile(r"\?tab=changes&q=10&verdicts=changed$"))
    page.get_by_role("link", name="All", exact=True).click()
    expect(page.locator(".gallery-name")).to_have_count(6)
    expect(page.locator(".toolbar-count")).to_have_text("6 screenshots")
    page.get_by_label("Verdict").select_option("new")
    expect(page.locator(".gallery-name")).to_have_text(["added"])
    page.reload()
    expect(page.locator(".gallery-name")).to_have_text(["added"])


def test_the_viewer_shows_a_pair_in_four_modes_with_keys_alone(page: Page, shop: Shop) -> None:
    page.goto(shop.page())
    expect(names(page)).to_have_count(6)
    for _ in range(4):
        page.keyboard.press("n")
    page.keyboard.press("Enter")
    opened = viewer(page)
    expect(opened).to_contain_text("4 of 6")
    before, after = opened.get_by_role("img", name="step-2: before"), opened.get_by_role("img", name="after")
    loaded(before)
    loaded(after)
    assert before.bounding_box()["x"] < after.bounding_box()["x"]  # type: ignore[index]
    expect(opened.locator(".regions span")).to_have_count(1)  # in the after image
    page.keyboard.press("b")
    expect(opened.locator(".regions span")).to_have_count(0)
    page.keyboard.press("2")
    opened.get_by_role("slider", name="Position of the slider").press("Home")
    expect(opened.locator(".over")).to_have_css("clip-path", "inset(0px 0px 0px 0%)")
    image = opened.locator(".image-box").bounding_box()
    assert image is not None
    page.mouse.move(image["x"], image["y"] + 20)
    page.mouse.down()
    page.mouse.move(image["x"] + image["width"] / 4, image["y"] + 20)
    page.mouse.up()
    expect(opened.locator(".over")).to_have_css("clip-path", "inset(0px 0px 0px 25%)")
    page.keyboard.press("3")
    opened.get_by_role("slider", name="Opacity of the after image").press("End")
    expect(opened.locator(".over")).to_have_css("opacity", "1")
    page.keyboard.press("4")
    loaded(opened.get_by_role("img", name="step-2: marked difference"))
    opened.get_by_role("button", name="Copy permalink").click()
    expect(opened.get_by_role("button", name="Copied")).to_be_visible()
    link = copied(page)
    assert link.endswith(f"?tab=changes&shot=step-2&viewport={VIEWPORT}&mode=diff")
    opened.get_by_role("button", name="Copy markdown").click()
    expect(opened.get_by_title("Copy markdown")).to_have_text("Copied")
    assert f"]({link})" in copied(page)
    page.keyboard.press("1")
    page.keyboard.press("b")
    page.keyboard.press("d")
    expect(opened.locator(".regions [data-current]")).to_have_count(1)
    expect(opened.get_by_role("button", name="Region 1 of 1")).to_be_visible()
    # Not a real tab: Chromium complains about the policy of a tab with an image.
    page.evaluate("window.open = address => { window.original = address }")
    page.keyboard.press("o")
    original = opened.locator(".pane-caption.after").get_by_role("link", name="Original")
    assert page.evaluate("window.original") == original.get_attribute("href")
    page.keyboard.press("h")
    history = opened.get_by_role("complementary", name="History")
    expect(history.get_by_role("listitem")).to_contain_text(re.compile(f"{sha('main')[:7]}.*Before image"))
    loaded(history.get_by_role("img"))
    page.keyboard.press("l")
    expect(history).to_have_count(0)
    opened.get_by_role("complementary", name="Changes").get_by_role("button", name="step-10").click()
    expect(opened).to_contain_text("5 of 6")
    page.keyboard.press("l")
    page.keyboard.press("p")
    page.keyboard.press("n")
    expect(opened).to_contain_text("5 of 6")
    page.keyboard.press("j")
    expect(opened).to_contain_text("6 of 6")
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    expect(page.locator(".pair a").last).to_be_focused()
    page.goto(link)
    loaded(viewer(page).get_by_role("img", name="step-2: marked difference"))


def test_both_images_zoom_and_scroll_together(page: Page, shop: Shop) -> None:
    page.goto(shop.page(query=f"?tab=changes&shot=banner&viewport={VIEWPORT}&mode=side"))
    for side in ("before", "after"):
        loaded(viewer(page).get_by_role("img", name=f"banner: {side}"))
    stages = viewer(page).locator(".stage")
    expect(stages).to_have_count(2)
    for _ in range(2):
        page.keyboard.press("+")
    expect(viewer(page).locator(".bar-scale")).to_contain_text("400 %")
    for box in viewer(page).locator(".image-box").all():
        expect(box).to_have_css("height", f"{4 * 264}px")  # the longer one's
    stages.last.evaluate("stage => stage.scrollTo(90, 200)")
    # The content above which the banner came in is 24 px further down, four times as large.
    expect(stages.first).to_have_js_property("scrollTop", 200 - 4 * 24)
    expect(stages.first).to_have_js_property("scrollLeft", 90)
    page.keyboard.press("ArrowDown")
    expect(stages.last).to_have_js_property("scrollTop", 296)
    stages.last.evaluate("stage => stage.scrollTo(0, 40)")
    expect(stages.first).to_have_js_property("scrollTop", 0)
    expect(stages.last).to_have_js_property("scrollTop", 40)  # it isn't pulled along
    page.goto(shop.page(query=f"?tab=changes&shot=banner&viewport={VIEWPORT}&mode=diff"))
    loaded(viewer(page).get_by_role("img", name="banner: marked difference"))
    expect(viewer(page).locator(".image-box")).to_have_css("height", "264px")  # not the viewport's


def test_the_overlay_moves_what_moved_of_the_before_image(page: Page, shop: Shop) -> None:
    page.goto(shop.page(query=f"?tab=changes&shot=banner&viewport={VIEWPORT}&mode=overlay"))
    for side in ("before", "after"):
        loaded(viewer(page).get_by_role("img", name=f"banner: {side}"))
    under, over = viewer(page).locator(".under .layer"), viewer(page).locator(".over .layer")
    expect(under).to_have_count(2)
    expect(under.last).to_have_css("top", "24px")
    expect(under.first).to_have_css("clip-path", re.compile("evenodd"))
    expect(over).to_have_css("top", "0px")


def test_baselines_are_listed_and_a_commit_shows_its_images(page: Page, shop: Shop) -> None:
    page.goto(f"/projects/{shop.id}")
    listed = page.get_by_role("list", name="Pull requests").get_by_role("listitem").filter(has_text="#7")
    expect(listed.locator(".verdict")).to_have_text(
        ["3 changed", "1 new", "1 removed", "1 failed", "1 unchanged"]
    )
    page.get_by_role("link", name="Baselines").click()
    commit = page.get_by_role("listitem").filter(has_text=sha("main")[:7])
    expect(commit).to_contain_text(re.compile("main.*6 screenshots.*KB.*Complete.*just now", re.DOTALL))
    commit.get_by_role("link").click()
    expect(page.get_by_role("heading", name=f"main at {sha('main')[:7]}")).to_be_visible()
    loaded(page.get_by_role("region", name="banner").get_by_role("img"))


class TestStates:
    def test_verdicts_arrive_without_moving_the_page(self, page: Page, shop: Shop) -> None:
        shop.push(8, "push", banner=RED)
        page.goto(shop.page(8))
        expect(page.get_by_role("link", name="All", exact=True)).to_have_attribute("aria-current", "page")
        shop.compare(8, "push", "main")
        expect(page.get_by_role("link", name="Changes 1, incomplete")).to_be_visible()
        expect(page.locator(".gallery-name")).to_have_text(["banner"])
        page.get_by_role("link", name="Changes 1").click()
        expect(names(page)).to_have_text(["banner"])
        expect(page.get_by_text("This run lacks 5 screenshots of its base.")).to_be_visible()
        expect(review_bar(page)).to_contain_text(
            re.compile("Some screenshots are missing in this run.*1 of 1 to review")
        )
        shop.push(8, "more", step2=RED)
        expect(
            page.get_by_text(f"The screenshots of {sha('more')[:7]} are not compared yet. Wait for the job")
        ).to_be_visible()
        expect(review_bar(page)).to_contain_text("The newest commit is not compared yet")
        page.goto(f"/projects/{shop.id}")
        expect(page.get_by_text("Newest commit not compared yet")).to_be_visible()

    def test_page_names_a_base_outside_the_history_and_asks_for_a_decision(
        self, page: Page, shop: Shop
    ) -> None:
        shop.push(9, "push", banner=RED)
        shop.compare(9, "push", "elsewhere", complete=True)
        page.goto(shop.page(9))
        expect(page.locator(".pair")).to_contain_text(
            "Compared with the newest of main, because no commit that the job listed has it"
        )
        expect(review_bar(page)).to_contain_text("1 of 1 to review")

    def test_without_a_baseline_it_says_how_to_get_one(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        bare = Shop(project, ci)
        page.goto(f"/projects/{project}/baselines")
        expect(page.get_by_text("prshots upload --baseline screenshots/")).to_be_visible()
        bare.push(7, "push", cart=PLAIN)
        page.goto(bare.page(query="?tab=changes"))
        expect(page.get_by_text("Not compared yet")).to_be_visible()
        assert bare.compare(7, "push")["state"] == "no_baseline"
        expect(page.get_by_text("The branch main has no baselines")).to_be_visible()
        expect(page.get_by_role("link", name="Changes no baseline")).to_be_visible()
        expect(page.locator(".pull-facts")).to_contain_text("1 image")

    def test_a_pair_that_was_uploaded_together_says_so(
        self, new_context: Callable[..., BrowserContext], ci: httpx.Client, project: str
    ) -> None:
        bare = Shop(project, ci)
        bare.push(7, "push", before=PLAIN, cart=RED)
        assert bare.compare(7, "push")["state"] == "compared"
        page = new_context(bypass_csp=True).new_page()
        page.goto(bare.page())
        expect(page.get_by_role("link", name="Changes 1", exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        expect(page.get_by_text("Before on the left, after on the right, uploaded together")).to_be_visible()
        expect(page.locator(".pair")).to_contain_text("Before and after uploaded together")
        for side in ("Before", "After"):
            loaded(page.locator(".pair").get_by_role("img", name=side))
        assert violations(page) == []
        page.locator(".pair a").click()
        opened = viewer(page)
        expect(opened.locator(".pane-caption.before")).to_contain_text("uploaded with the after image")
        expect(opened.locator(".pane-caption.after")).to_contain_text(sha("push")[:7])
        for side in ("before", "after", "marked difference"):
            if side == "marked difference":
                page.keyboard.press("4")
            loaded(opened.get_by_role("img", name=f"cart: {side}"))
        assert violations(page) == []
        assert not too_wide_for_a_phone(page)

        bare.push(7, "push", home=PLAIN)
        assert bare.compare(7, "push")["state"] == "incomplete"
        page.goto(bare.page(query="?tab=changes"))
        expect(page.get_by_text("so 1 other screenshot of this run was not compared")).to_be_visible()

    def test_settings_take_the_repository_the_baselines_to_keep_and_the_upload_limit(
        self, page: Page, ann: Person, project: str
    ) -> None:
        page.goto(f"/projects/{project}/settings")
        address = page.get_by_label("Repository address")
        address.fill("ftp://forge.example/acme")
        page.get_by_role("button", name="Save repository").click()
        expect(page.get_by_text("repository takes a web address")).to_be_visible()
        address.fill("https://forge.example/acme/shop")
        page.get_by_role("button", name="Save repository").click()
        expect(page.get_by_text("Saved the repository address.")).to_be_visible()
        page.get_by_label("Commits to keep").fill("0")
        page.get_by_role("button", name="Save baselines").click()
        expect(page.get_by_text("keep_baselines takes 1 to")).to_be_visible()
        page.get_by_label("Commits to keep").fill("7")
        page.get_by_role("button", name="Save baselines").click()
        expect(page.get_by_text("Saved how many baselines to keep.")).to_be_visible()
        found = ann.get_json(f"/projects/{project}")
        assert (found["repository"], found["keep_baselines"]) == ("https://forge.example/acme/shop", 7)

        limit = page.get_by_label("Uploads per minute")
        save = page.get_by_role("button", name="Save upload limit")
        expect(page.get_by_text("service\u2019s limit: 120 per minute")).to_be_visible()
        for given, stored in (("300", 300), ("", None)):
            limit.fill(given)
            save.click()
            expect(page.get_by_text("Saved the upload limit.").last).to_be_visible()
            expect(save).to_be_disabled()
            assert ann.get_json(f"/projects/{project}")["uploads_per_minute"] == stored
        for invalid in ("0", "10001", "1.5"):
            limit.fill(invalid)
            expect(page.get_by_text("Enter a whole number from 1 to 10,000.")).to_be_visible()
            expect(save).to_be_disabled()


def test_every_page_passes_axe_and_fits_a_phone(
    new_context: Callable[..., BrowserContext], shop: Shop
) -> None:
    page = new_context(bypass_csp=True).new_page()
    pair = f"?tab=changes&shot=step-2&viewport={VIEWPORT}&mode="
    pairs = [shop.page(query=pair + mode) for mode in ("side", "slider", "overlay", "diff")]
    baselines = f"/projects/{shop.id}/baselines"
    found, too_wide = {}, []
    for address in (shop.page(), *pairs, baselines, f"{baselines}?branch=main&commit={sha('main')}"):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        found[address] = violations(page)
        too_wide += [address] if too_wide_for_a_phone(page) else []
    assert not any(found.values()), found
    assert too_wide == []
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(pairs[0])
    title = viewer(page).locator(".bar-title")
    expect(title).to_contain_text(re.compile("step-2 320 . 240 4 of 6"))
    expect(title).to_be_in_viewport(ratio=1)


def test_on_a_phone_no_part_of_a_pair_covers_another(
    new_context: Callable[..., BrowserContext], shop: Shop
) -> None:
    about = {"viewport": "375x812", "theme": "dark", "pr_number": 10, "commit_sha": sha("push")}
    for name in ("cart", "home"):
        upload(shop.ci, RED, before=PLAIN, name=name, **about).raise_for_status()
    shop.compare(10, "push")
    page = new_context(viewport=NARROW).new_page()
    page.goto(shop.page(10))
    expect(page.locator(".pair")).to_have_count(2)
    widths = "parts => parts.map(part => part.scrollWidth - part.clientWidth)"
    for part in (".pair", ".sheet-index", ".group"):
        assert not any(page.locator(part).evaluate_all(widths))

    page.locator(".pair a").first.click()
    expect(viewer(page).locator(".stage")).to_have_count(2)
    inside = "parts => parts.map(part => part.getBoundingClientRect()).map(box => [box.top, box.bottom])"
    stages, captions, steps = (
        viewer(page).locator(part).evaluate_all(inside) for part in (".stage", ".pane-caption", ".step")
    )
    assert all(caption[1] <= stage[0] for caption, stage in zip(captions, stages, strict=True))
    assert min(top for top, _ in steps) >= stages[-1][1]
