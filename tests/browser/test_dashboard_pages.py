"""The dashboard of the real service, used in real Chromium."""

import gzip
import os
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image as Picture
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import prshots
from support.chromium import NARROW, copied, loaded, too_wide_for_a_phone, violations
from support.nasty_pictures import encoded, jpeg_with_scans
from support.raw_requests import running_service
from support.service import Service, upload
from support.service_processes import serve
from support.signed_in_people import Person, sign_in
from support.waiting import wait_until

MAX_FIRST_SCRIPT_BYTES, MAX_SCRIPT_BYTES = 58_000, 79_000
GITHUB = "https://token.actions.githubusercontent.com"
NASTY = "<img src=x onerror=alert(1)> & \"quotes\" ![x](y) 'so' on"


def picture(width: int = 320, height: int = 200) -> bytes:
    return encoded(Picture.radial_gradient("L").resize((width, height)).convert("RGB"))


def shot(ci: httpx.Client, name: str = "checkout/cart", **fields: object) -> dict[str, str]:
    reply = upload(ci, picture(), **({"name": name, "viewport": "320x200"} | fields))
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def printed_link(service: Service) -> str:
    def links() -> list[str]:
        return re.findall(r"http://\S+/sign-in#\S+", service.log)

    wait_until(links, lambda: f"a sign-in link:\n{service.log}")
    return links()[0]


@pytest.fixture
def new_service(tmp_path: Path) -> Iterator[Service]:
    with running_service(tmp_path) as service:
        yield service


def test_onboarding_leads_from_the_printed_link_to_the_first_screenshot(
    running_browser: Browser, new_service: Service, tmp_path: Path
) -> None:
    """All steps of a new user, following only what the screen shows."""
    link = printed_link(new_service)
    context = running_browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()
    assert "#" not in page.url

    page.get_by_label("Your first project").fill("my shop")
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_text("Created my shop.")).to_be_visible()

    page.get_by_label("Label").fill("laptop")
    page.get_by_role("button", name="Create token").click()
    dialog = page.get_by_role("dialog", name="Your new token")
    expect(dialog).to_contain_text("cannot be shown again")
    dialog.get_by_role("button", name="Copy token").click()
    token = copied(page)
    assert re.fullmatch("msr_[0-9a-f]{64}", token)
    dialog.get_by_role("button", name=re.compile("copied it")).click()
    expect(page.get_by_text(token)).to_have_count(0)

    page.get_by_role("link", name="curl").click()
    page.get_by_role("button", name="Copy", exact=True).first.click()
    command = copied(page).replace("$(git rev-parse HEAD)", "0123abc")
    page.get_by_role("link", name="Pull requests").click()
    expect(page.get_by_text("No screenshots yet")).to_be_visible()
    (tmp_path / "screenshot.png").write_bytes(picture())
    subprocess.run(
        ["bash", "-ec", command],
        cwd=tmp_path,
        env=os.environ | {"PRSHOTS_TOKEN": token},
        check=True,
        capture_output=True,
        timeout=60,
    )
    page.get_by_role("link", name="#1", exact=True).click()  # appears without a reload
    loaded(row(page, "checkout/cart").get_by_role("img"))
    context.close()


@pytest.mark.slow
class TestProjects:
    def test_cards_and_usage_show_what_is_stored_and_uploads_separately(
        self, page: Page, ann: Person, ci: httpx.Client, project: str
    ) -> None:
        shot(ci, pr_number=31)
        deleted = shot(ci, pr_number=31)
        ci.delete(f"/v1/images/{deleted['id']}").raise_for_status()
        name = ann.get_json(f"/projects/{project}")["name"]
        page.goto("/")
        card = page.get_by_role("listitem").filter(has_text=name)
        expect(card).to_contain_text(re.compile("Images\\s*1"))
        expect(card).to_contain_text(re.compile("Open PRs\\s*1"))
        expect(card.get_by_role("img", name=re.compile("Uploads per day"))).to_be_visible()
        page.goto(f"/projects/{project}/usage")
        stored = page.locator("section").filter(has_text="Stored now")
        expect(stored).to_contain_text(re.compile(r"1 image, \d"))
        expect(stored.get_by_role("link", name="#31")).to_be_visible()
        expect(
            page.get_by_role("img", name=re.compile("Uploaded images since .*: 2 in total"))
        ).to_be_visible()

    def test_a_taken_name_shows_an_error_and_keeps_the_input(self, page: Page, ann: Person) -> None:
        ann.project("taken")
        page.goto("/")
        page.get_by_label("New project").fill("taken")
        page.get_by_role("button", name="Create project").click()
        expect(page.get_by_text("project 'taken' already exists")).to_be_visible()
        expect(page.get_by_label("New project")).to_have_value("taken")


@pytest.mark.slow
class TestPullRequests:
    def test_can_be_filtered_and_the_url_keeps_the_search(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        shot(ci, "login page", pr_number=11)
        shot(ci, "cart", pr_number=12)
        ci.post("/v1/expire", json={"pr_number": 11})
        page.goto(f"/projects/{project}")
        expect(page.get_by_role("link", name=re.compile("^#1"))).to_have_count(2)
        page.get_by_role("link", name="Closed").click()
        expect(page.get_by_role("link", name="#11")).to_be_visible()
        expect(page.get_by_role("link", name="#12")).to_have_count(0)
        expect(page.get_by_text(re.compile("deleted when it closed", re.IGNORECASE))).to_be_visible()
        page.get_by_role("link", name="All", exact=True).click()
        page.get_by_role("searchbox").fill("cart")
        expect(page.get_by_role("link", name="#11")).to_have_count(0)
        expect(page).to_have_url(re.compile(r"\?q=cart$"))
        page.reload()
        expect(page.get_by_role("searchbox")).to_have_value("cart")
        expect(page.get_by_role("link", name="#12")).to_be_visible()
        page.get_by_role("searchbox").fill("zebra")
        expect(page.get_by_text("No results")).to_be_visible()

    def test_uploads_and_deletions_show_without_a_reload_in_the_list_and_the_gallery(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        first = shot(ci, "first", pr_number=21)
        page.goto(f"/projects/{project}")
        expect(page.get_by_role("link", name="#21")).to_be_visible()
        page.evaluate("window.sameDocument = true")
        shot(ci, pr_number=22)
        expect(page.get_by_role("link", name="#22")).to_be_visible()
        shot(ci, "first", pr_number=22, commit_sha="f" * 40)
        expect(page.get_by_text("fffffff").first).to_be_visible()
        page.get_by_role("link", name="#21").click()
        expect(row(page, "first")).to_be_visible()
        shot(ci, "second", pr_number=21)
        loaded(row(page, "second").get_by_role("img"))
        ci.delete(f"/v1/images/{first['id']}")
        expect(row(page, "first")).to_have_count(0)
        assert page.evaluate("window.sameDocument")


@pytest.mark.slow
class TestGallery:
    def test_is_sorted_by_name_and_viewport_with_older_commits_collapsed(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        upload(ci, picture(640, 400), name="cart", viewport="1280x800", commit_sha="a" * 40)
        for name, viewport in (("cart", "375x812"), ("cart", "1280x800"), ("about", "1280x800")):
            shot(ci, name, viewport=viewport, commit_sha="b" * 40)
        page.goto(f"/projects/{project}/prs/7")
        headings = page.get_by_role("heading", level=2)
        expect(headings).to_have_text(["about", "cart"])
        captions = row(page, "cart").get_by_role("link")
        expect(captions).to_have_count(2)
        assert ["375" in text for text in captions.all_inner_texts()] == [True, False]
        expect(page.get_by_text("aaaaaaa")).to_have_count(0)
        row(page, "cart").get_by_role("button", name="2 commits").click()
        expect(page.get_by_text("aaaaaaa")).to_be_visible()

    def test_aria_controls_is_unique_and_set_only_while_expanded(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        """Names that differ only in a space or a dash have different ids."""
        names = ("a b", "a-b", "a\u00a0b")
        for name in names:
            for sha in ("a", "b"):
                shot(ci, name, commit_sha=sha * 40)
        page.goto(f"/projects/{project}/prs/7")
        buttons = page.get_by_role("button", name="2 commits")
        expect(buttons).to_have_count(len(names))
        assert [button.get_attribute("aria-controls") for button in buttons.all()] == [None] * len(names)
        for button in buttons.all():
            button.click()
            expect(button).to_have_attribute("aria-expanded", "true")
        controlled = [button.get_attribute("aria-controls") for button in buttons.all()]
        assert len(set(controlled)) == len(names)
        for button in buttons.all():
            older = page.locator(f"[id='{button.get_attribute('aria-controls')}']")
            expect(older).to_contain_text("aaaaaaa")
            assert older.evaluate(
                "(older, button) => button.closest('section').contains(older)", button.element_handle()
            )
        buttons.first.click()
        expect(buttons.first).not_to_have_attribute("aria-controls", re.compile("."))

    def test_rows_load_while_scrolling_with_small_thumbnails_and_no_layout_shift(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        for number in range(30):
            shot(ci, f"shot {number}")
        sizes: dict[str, int] = {}
        page.on(
            "response",
            lambda reply: (
                sizes.update({reply.url: int(reply.headers.get("content-length", "0"))})
                if "/i/" in reply.url
                else None
            ),
        )
        page.add_init_script(
            "window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach("
            "entry => { window.shift += entry.value })).observe({type: 'layout-shift', buffered: true})"
        )
        page.goto(f"/projects/{project}/prs/7")
        loaded(row(page, "shot 0").get_by_role("img"))
        expect(row(page, "shot 29")).to_have_count(0)  # rows load while scrolling
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        row(page, "shot 29").scroll_into_view_if_needed()
        loaded(row(page, "shot 29").get_by_role("img"))
        assert page.evaluate("window.shift") < 0.01
        assert sizes
        assert all(".thumb.webp?" in url for url in sizes)
        assert max(sizes.values()) <= 30_000

    def test_an_image_without_a_thumbnail_says_why_in_the_gallery_and_the_lightbox(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        upload(ci, picture()[:200], name="cut off")
        upload(ci, jpeg_with_scans(350), name="slow", content_type="image/jpeg")
        page.goto(f"/projects/{project}/prs/7")
        expect(row(page, "cut off")).to_contain_text("Damaged image")
        expect(row(page, "slow")).to_contain_text("preview: too large")
        opened = page.locator("dialog.lightbox")
        row(page, "cut off").get_by_role("link").click()
        expect(opened).to_contain_text("Damaged image: the file is cut off or invalid.")
        page.keyboard.press("ArrowRight")
        expect(opened).to_contain_text("This image is too large to preview.")
        expect(opened.get_by_role("button", name="Show image")).to_be_visible()
        expect(opened.get_by_role("img", name="slow")).to_have_count(0)  # the browser does not decode it

    def test_the_comment_view_shows_and_copies_the_real_comment_with_markup_in_a_name_as_text(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        url = shot(ci, NASTY)["view_url"]
        page.goto(f"/projects/{project}/prs/7")
        expect(page.get_by_role("heading", name=NASTY)).to_be_visible()
        page.get_by_role("link", name="Comment").click()
        expect(page.get_by_role("heading", name="1 screenshot", exact=True)).to_be_visible()
        comment = page.locator(".forge-comment")
        expect(comment.get_by_role("img")).to_have_count(1)
        loaded(comment.get_by_role("img"))
        expect(comment.get_by_role("img")).to_have_attribute("alt", NASTY)
        expect(comment.get_by_role("img")).to_have_attribute("src", url)
        expect(comment.get_by_role("table")).to_contain_text(NASTY)
        page.get_by_role("button", name="Copy markdown").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert copied(page) == ci.get("/v1/comment?pr_number=7&view=latest").json()["markdown"]

    def test_all_screenshots_are_downloaded_as_a_zip_and_deleted_after_a_question(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        urls = [shot(ci, name)["view_url"] for name in ("checkout/cart", "two")]
        page.goto(f"/projects/{project}/prs/7")
        with page.expect_download() as downloading:
            page.get_by_role("link", name="Download all").click()
        assert downloading.value.suggested_filename.endswith("-pr-7.zip")
        with zipfile.ZipFile(downloading.value.path()) as archive:
            assert archive.read("checkout/cart@320x200.png") == picture()

        dialog = page.get_by_role("dialog")
        for button in ("Cancel", "Delete 2 images"):
            assert httpx.get(urls[0]).status_code == 200
            page.get_by_role("button", name="More actions").click()
            page.get_by_role("button", name="Delete screenshots").click()
            expect(dialog).to_contain_text("Delete 2 images of #7?")
            dialog.get_by_role("button", name=button).click()
        expect(page.get_by_text("Deleted 2 images.")).to_be_visible()
        expect(page.get_by_text("No screenshots", exact=True)).to_be_visible()
        expect(page.get_by_text(re.compile("^Deleted by ann"))).to_be_visible()
        expect(page.locator(".pull-state")).to_have_text("Open")
        assert [httpx.get(url).status_code for url in urls] == [410, 410]

    def test_filter_folders_and_keys_find_a_shot(self, page: Page, ci: httpx.Client, project: str) -> None:
        others = [f"account/{number}" for number in range(10)]
        for name in ("home", "checkout/step-10", "checkout/step-2", *others):
            shot(ci, name, viewport="1280x800")
        shot(ci, "checkout/step-2", viewport="375x812")
        page.goto(f"/projects/{project}?q=STEP")
        page.get_by_role("link", name="#7").click()  # the list passes its search on
        filter_field = page.get_by_role("searchbox", name="Filter screenshots by name")
        expect(filter_field).to_have_value("STEP")
        expect(page.locator(".gallery-name")).to_have_text(["checkout/step-2", "checkout/step-10"])
        expect(page.get_by_text("3 of 14")).to_be_visible()
        page.get_by_label("Viewport").select_option("375x812")
        expect(page.locator(".gallery-name")).to_have_text(["checkout/step-2"])
        expect(page).to_have_url(re.compile(r"\?tab=all&q=STEP&viewports=375x812$"))
        page.get_by_label("Viewport").select_option("")
        page.locator("h1").click()
        page.keyboard.press("/")
        expect(filter_field).to_be_focused()
        page.keyboard.press("Enter")
        expect(row(page, "checkout/step-2").get_by_role("link").first).to_be_focused()
        page.keyboard.press("/")
        page.keyboard.type("nothing like it")
        page.get_by_role("link", name="Clear filter").click()
        expect(filter_field).to_have_value("")
        folders = page.get_by_role("navigation", name="Folders").get_by_role("button")
        expect(folders).to_have_text([re.compile("No folder"), re.compile("account"), re.compile("checkout")])
        folders.last.click()
        expect(page.get_by_role("heading", name="checkout")).to_be_focused()
        page.evaluate("window.scrollTo(0, 0)")
        for key in "jjj":
            page.keyboard.press(key)
        expect(row(page, "account/1").get_by_role("link")).to_be_focused()
        page.keyboard.press("k")
        expect(row(page, "account/0").get_by_role("link")).to_be_focused()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Filter by name")

    def test_the_theme_is_chosen_and_remembered(self, page: Page, project: str) -> None:
        page.emulate_media(color_scheme="light")
        page.goto(f"/projects/{project}")
        background = "getComputedStyle(document.documentElement).backgroundColor"
        light = page.evaluate(background)
        page.get_by_role("button", name="ann").click()
        page.get_by_role("button", name="Dark").click()
        dark = page.evaluate(background)
        assert dark != light
        page.reload()
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate(background) == dark
        page.get_by_role("button", name="ann").click()
        expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="System").click()
        assert page.evaluate(background) == light


@pytest.mark.slow
class TestLightbox:
    @pytest.fixture
    def three(self, page: Page, ci: httpx.Client, project: str) -> dict[str, dict[str, str]]:
        shots = {name: shot(ci, name, viewport="320x200") for name in ("a", "b", "c")}
        page.goto(f"/projects/{project}/prs/7")
        loaded(row(page, "c").get_by_role("img"))
        return shots

    def test_works_with_the_keyboard_alone_and_has_its_own_url(
        self, page: Page, three: dict[str, dict[str, str]]
    ) -> None:
        row(page, "a").get_by_role("link").focus()
        page.keyboard.press("Enter")
        box = page.locator("dialog.lightbox")
        big = box.locator(".stage img:not(.stand-in)")
        loaded(big)
        assert three["a"]["id"] in page.url
        for key, name in (("ArrowRight", "b"), ("ArrowRight", "c"), ("ArrowRight", "c"), ("ArrowLeft", "b")):
            page.keyboard.press(key)
            expect(big).to_have_attribute("src", three[name]["view_url"])
        before = big.bounding_box()
        for _ in range(3):
            page.keyboard.press("+")
        expect(box.locator(".stage")).to_have_class(re.compile("zoomed-in"))
        after = big.bounding_box()
        assert before
        assert after
        assert after["width"] > before["width"]
        page.keyboard.press("z")
        address = page.url
        page.keyboard.press("Escape")
        expect(box).to_have_count(0)
        expect(row(page, "b").get_by_role("link")).to_be_focused()
        page.goto(address)
        loaded(big)

    def test_shows_details_copies_url_and_markdown_and_deletes(
        self, page: Page, three: dict[str, dict[str, str]]
    ) -> None:
        row(page, "b").get_by_role("link").click()
        about = page.get_by_role("complementary", name="About this screenshot")
        expect(about).to_contain_text(re.compile("320 . 200"))
        expect(about).to_contain_text("PNG")
        about.get_by_role("button", name="Copy URL").click()
        expect(about.get_by_role("button", name="Copied")).to_be_visible()
        assert copied(page) == three["b"]["view_url"]
        about.get_by_role("button", name="Copy markdown").click()
        expect(about.get_by_role("button", name="Copied").last).to_be_visible()
        page.wait_for_function(
            "text => navigator.clipboard.readText().then(read => read === text)", arg=three["b"]["markdown"]
        )
        page.get_by_role("button", name="Delete", exact=True).click()
        dialog = page.get_by_role("dialog", name=re.compile("^Delete b"))
        expect(dialog).to_contain_text("Its link stops working")
        dialog.get_by_role("button", name="Delete screenshot").click()
        expect(page.get_by_text(re.compile("^Deleted b"))).to_be_visible()
        big = page.locator("dialog.lightbox .stage img:not(.stand-in)")
        expect(big).to_have_attribute("src", three["c"]["view_url"])
        assert httpx.get(three["b"]["view_url"]).status_code == 410

    def test_shows_a_long_page_at_the_width_and_transparency_as_a_checkerboard(
        self, page: Page, ci: httpx.Client, project: str
    ) -> None:
        upload(ci, picture(640, 6000), name="long", viewport="640x400")
        upload(ci, encoded(Picture.new("RGBA", (320, 200))), name="clear", viewport="320x200")
        page.goto(f"/projects/{project}/prs/7?shot=long&viewport=640x400")
        big = page.locator("dialog.lightbox .stage img:not(.stand-in)")
        loaded(big)
        expect(page.locator(".image-box")).to_have_css("width", "640px")
        page.keyboard.press("ArrowDown")
        expect(page.locator(".stage")).not_to_have_js_property("scrollTop", 0)
        page.keyboard.press("k")
        expect(page.locator(".bar-title")).to_contain_text("clear")
        expect(page.locator(".stage")).to_have_js_property("scrollTop", 0)
        expect(big).to_have_css("background-image", re.compile("conic-gradient"))

    def test_on_a_phone_says_which_shot_it_is_and_copies_a_permalink(
        self, page: Page, three: dict[str, dict[str, str]]
    ) -> None:
        page.set_viewport_size(NARROW)
        row(page, "b").get_by_role("link").click()
        page.go_back()
        expect(page.locator("dialog.lightbox")).to_have_count(0)
        row(page, "b").get_by_role("link").click()
        title = page.locator(".bar-title")
        for text in ("^b$", "^320 . 200$", "^2 of 3$"):
            expect(title.get_by_text(re.compile(text))).to_be_visible()
        page.keyboard.press("j")
        expect(title.get_by_text("3 of 3")).to_be_visible()
        page.get_by_role("button", name="Details").click()
        page.get_by_role("button", name="Copy permalink").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        link = copied(page)
        assert link.endswith("/prs/7?shot=c&viewport=320x200")
        page.goto(link)
        big = page.locator("dialog.lightbox .stage img:not(.stand-in)")
        expect(big).to_have_attribute("src", three["c"]["view_url"])


@pytest.mark.slow
class TestTokensAndSettings:
    def test_a_token_is_listed_and_revoked(self, page: Page, ann: Person, project: str) -> None:
        secret = ann.token(project)
        page.goto(f"/projects/{project}/tokens")
        expect(page.get_by_text("by ann")).to_be_visible()
        expect(page.get_by_text(f"msr_…{secret[-4:]}")).to_be_visible()
        expect(page.get_by_text(secret)).to_have_count(0)
        page.get_by_role("button", name="Revoke ci").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke token").click()
        expect(page.get_by_text("Revoked ci.")).to_be_visible()
        assert ann.get_json(f"/projects/{project}/tokens")["tokens"][0]["revoked_at"]

    def test_a_new_policy_shows_how_many_images_it_deletes_before_saving(
        self, page: Page, ann: Person, ci: httpx.Client, project: str
    ) -> None:
        ann.ask("PATCH", f"/projects/{project}", policy="manual")
        shot(ci)
        ci.post("/v1/expire", json={"pr_number": 7})
        page.goto(f"/projects/{project}/settings")
        page.get_by_role("radio", name=re.compile("when .*close", re.IGNORECASE)).check()
        expect(page.get_by_role("status").filter(has_text=re.compile("1 image"))).to_be_visible()
        page.get_by_role("button", name="Save retention").click()
        page.get_by_role("dialog").get_by_role("button", name="Save and delete 1 image").click()
        expect(page.get_by_text("Saved the retention settings.")).to_be_visible()
        assert ann.get_json(f"/projects/{project}")["policy"] == "pr_close"

    def test_deleting_a_project_requires_typing_its_name(
        self, page: Page, ann: Person, ci: httpx.Client, project: str
    ) -> None:
        url = shot(ci)["view_url"]
        name = ann.get_json(f"/projects/{project}")["name"]
        page.goto(f"/projects/{project}/settings")
        page.get_by_role("button", name=re.compile("Delete")).click()
        dialog = page.get_by_role("dialog")
        delete = dialog.get_by_role("button", name="Delete project")
        dialog.get_by_role("textbox").fill("something else")
        expect(delete).to_be_disabled()
        dialog.get_by_role("textbox").fill(name)
        delete.click()
        expect(page).to_have_url(re.compile("/$"))
        expect(page.get_by_text(name, exact=True)).to_have_count(0)
        assert httpx.get(url).status_code == 410
        assert ann.ask("GET", f"/projects/{project}").status_code == 404


@pytest.mark.slow
def test_an_invited_colleague_joins_from_a_link_and_is_removed_with_their_tokens(
    page: Page, new_context: Callable[..., BrowserContext], service: Service, ann: Person
) -> None:
    team = ann.organization()
    project = ann.ask("POST", "/projects", name="shared", organization_id=team).json()["id"]
    with sign_in(service, "bob") as bob:
        context = new_context()
        context.clear_cookies()
        context.add_cookies(bob.browser_cookies)
        theirs = context.new_page()
        theirs.goto(f"/projects/{project}/prs/7")
        expect(theirs.get_by_role("heading", level=1)).to_have_text("Not found")
        expect(theirs.get_by_text("ask an owner of the organization")).to_be_visible()
        expect(theirs.get_by_text("github:bob", exact=True)).to_be_visible()
        page.goto(f"/organizations/{team}")
        page.get_by_label("Login").fill("nobody-yet")
        page.get_by_role("button", name="Invite").click()
        expect(page.get_by_text("ask them to sign in once")).to_be_visible()
        page.get_by_label("Login").fill("github:bob")
        page.get_by_label("Role", exact=True).first.select_option("maintainer")
        page.get_by_role("button", name="Invite").click()
        expect(page.get_by_text("not accepted yet")).to_be_visible()
        theirs.get_by_role("button", name="Join").click()
        expect(theirs.get_by_text("No screenshots yet")).to_be_visible()
        theirs.goto("/")
        expect(theirs.get_by_label("Organization", exact=True)).to_have_value(bob.organization_id)
        ci = service.client(bob.token(project))
    page.get_by_label("Role of bob").select_option("owner")
    expect(page.get_by_text("bob is now an owner.")).to_be_visible()
    removing = page.get_by_role("button", name="Remove bob")
    expect(removing).to_have_attribute("aria-busy", "false")  # while busy, it ignores clicks
    removing.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_have_text(re.compile("^shared: ci msr_….* never used$"))
    expect(dialog.get_by_label("Keep these tokens")).not_to_be_checked()
    dialog.get_by_role("button", name="Remove bob").click()
    expect(page.get_by_text("Removed bob.")).to_be_visible()
    expect(page.get_by_label("Role of bob")).to_have_count(0)
    with ci:
        assert upload(ci).status_code == 401
    page.get_by_role("button", name="Delete organization").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete organization").click()
    expect(page.get_by_text("still has projects: delete them first")).to_be_visible()


@pytest.fixture(scope="module")
def addresses(service: Service, ann: Person) -> dict[str, str]:
    project = ann.project(f"a-long-name-{'x' * 60}")
    with service.client(ann.token(project)) as ci:
        for name in ("checkout/cart", "a name that is rather longer than the others " * 3):
            shot(ci, name, viewport="1280x800")
            shot(ci, name, viewport="375x812")
        shot(ci, "checkout/cart", viewport="375x812", commit_sha="f" * 40)
        shot(ci, "lightbox")
        upload(ci, name="broken", pr_number=8)
        for number in range(13):
            shot(ci, f"{'even' if number % 2 == 0 else 'odd'}/{number}", pr_number=9)
    claims = {"repository": f"a-long-name/{'x' * 60}", "ref": "refs/pull/*"}
    ann.ask("POST", f"/projects/{project}/trusts", issuer=GITHUB, claims=claims).raise_for_status()
    at, team = f"/projects/{project}", ann.organization()
    quarantined = {"name": "checkout/cart", "viewport": "375x812", "theme": "", "reason": "x" * 60, "days": 3}
    ann.ask("POST", f"{at}/quarantines", **quarantined).raise_for_status()
    sign_in(service, "carol").close()
    ann.ask("POST", f"/organizations/{team}/invitations", login="carol").raise_for_status()
    with sign_in(service) as eve:
        login = ann.get_json("/me")["user"]["login"]
        eve.ask("POST", f"/organizations/{eve.organization()}/invitations", login=login).raise_for_status()
    return {
        "projects": "/",
        "pull requests": at,
        "nothing found": f"{at}?q=zebra",
        "pull request": f"{at}/prs/7",
        "comment": f"{at}/prs/7?tab=comment",
        "lightbox": f"{at}/prs/7?shot=lightbox&viewport=320x200",
        "filtered": f"{at}/prs/7?q=cart&viewports=375x812",
        "folders": f"{at}/prs/9",
        "broken": f"{at}/prs/8",
        "never seen": f"{at}/prs/999",
        "tokens": f"{at}/tokens",
        "without a token": f"{at}/tokens?kind=keyless",
        "settings": f"{at}/settings",
        "set-up": f"{at}/setup",
        "nothing alternates": f"{at}/noise",
        "quarantine": f"{at}/quarantine",
        "usage": f"{at}/usage",
        "own organization": f"/organizations/{ann.organization_id}",
        "organization": f"/organizations/{team}",
        "audit log": f"/organizations/{team}/audit",
        "organization's usage": f"/organizations/{ann.organization_id}/usage",
        "not found": "/nothing/here",
        "not theirs": "/projects/0000000000000000",
    }


@pytest.mark.slow
def test_every_page_passes_axe_fits_a_phone_and_has_a_title_and_one_heading(
    new_context: Callable[..., BrowserContext], addresses: dict[str, str]
) -> None:
    page = new_context(bypass_csp=True, has_touch=True).new_page()
    found, titles, too_wide = {}, [], []
    for name, address in addresses.items():
        page.goto(address)
        expect(page.locator("h1")).not_to_have_text("…")
        page.wait_for_load_state("networkidle")
        expect(page.locator("h1")).to_have_count(1)
        titles.append(page.title())
        found[name] = violations(page)
        too_wide += [name] if too_wide_for_a_phone(page) else []
    assert not any(found.values()), found
    assert too_wide == []
    assert all(title.endswith("prshots") for title in titles)
    assert len(set(titles)) > len(titles) / 2


def test_the_compressed_scripts_stay_within_the_size_limits() -> None:
    """Everyone loads the first script, and only people who manage something load the others."""
    dashboard = Path(prshots.__file__).parent / "server" / "web" / "dashboard"
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in dashboard.glob("assets/*.js")}
    page = (dashboard / "index.html").read_text()
    first = sum(size for name, size in sizes.items() if name in page)
    assert 0 < first <= MAX_FIRST_SCRIPT_BYTES
    assert sum(sizes.values()) <= MAX_SCRIPT_BYTES


@pytest.mark.slow
def test_while_the_api_is_down_the_page_shows_a_notice_keeps_its_content_and_recovers(
    running_browser: Browser, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    web, api = serve(service, "web"), serve(service, "api", "delivery")
    try:
        service.wait_until_up()
        with sign_in(service) as person, service.client(person.token(person.project("kept"))) as ci:
            shot(ci)
            context = running_browser.new_context(base_url=service.web_url)
            context.add_cookies(person.browser_cookies)
            page = context.new_page()
            page.goto("/")
            expect(page.get_by_role("link", name="kept")).to_be_visible()
            api.terminate()
            api.wait(timeout=60)
            expect(page.get_by_text("The service is not responding")).to_be_visible()
            expect(page.get_by_role("link", name="kept")).to_be_visible()
            fresh = context.new_page()
            fresh.goto("/")
            expect(fresh.get_by_text("not responding").first).to_be_visible()
            api = serve(service, "api", "delivery")
            expect(page.get_by_text("The service is not responding")).to_have_count(0)
            expect(fresh.get_by_role("link", name="kept")).to_be_visible()
            context.set_offline(True)
            expect(page.get_by_text(re.compile("You.re offline"))).to_be_visible()
            context.set_offline(False)
            expect(page.get_by_text(re.compile("You.re offline"))).to_have_count(0)
            context.close()
    finally:
        for process in (web, api):
            process.terminate()
            process.wait(timeout=60)


@pytest.mark.slow
def test_an_ended_session_redirects_to_sign_in_with_a_return_address(page: Page, service: Service) -> None:
    with sign_in(service) as person:
        project = person.project()
        page.context.clear_cookies()
        page.context.add_cookies(person.browser_cookies)
        page.goto(f"/projects/{project}/tokens")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        person.post("/auth/sign-out-everywhere")
        expect(page).to_have_url(re.compile(r"/sign-in\?"))
        assert f"/projects/{project}/tokens" in httpx.URL(page.url).params["return_to"]
