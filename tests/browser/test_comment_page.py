"""The comment on two pull requests in real Chromium, as the forges show it."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from support.drawn_pages import drawn_page, sha
from support.forge_pages import FORGES, THEMES, open_comment
from support.markdown_pages import Page as MarkdownPage
from support.reviewed_shop import NOTICE, REDESIGN, WORDING, PullRequest, review
from support.service import upload

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("pull", "groups", "tallest"),
    [
        (REDESIGN, {"coupons": 6, "orders": 6, "pricing": 6, "gift-cards": 6, "27 dark": 27}, 2000),
        (WORDING, {"orders": 3, "checkout/delivery, help": 9}, 900),
        (NOTICE, {"78 to 100 px came in above the content": 36}, 1300),
    ],
)
def test_shows_each_change_once_and_is_short(
    ci: httpx.Client, running_browser: Browser, pull: PullRequest, groups: dict[str, int], tallest: int
) -> None:
    found = review(ci, running_browser, pull)
    assert [group["shots"] for group in found["groups"]] == [*groups.values()]
    titles = [group["title"] for group in found["groups"]]
    assert all(title.startswith(start) for title, start in zip(titles, groups, strict=True)), titles
    comment = write_comment(ci, pull)
    assert comment["omitted"] == 0
    for forge in FORGES:
        for theme in THEMES:
            page = open_comment(running_browser, comment["markdown"], forge, theme)
            assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
            height = page.evaluate("document.documentElement.scrollHeight")
            assert height <= tallest, (forge, theme, height)
            page.close()


def test_pictures_and_lines_link_to_the_dashboard(ci: httpx.Client, page: Page) -> None:
    for commit, image in (("main", drawn_page()), ("push", drawn_page(button="red"))):
        fields = {"name": "a & b", "viewport": "320x240", "commit_sha": sha(commit)}
        where = {"branch": "main"} if commit == "main" else {"pr_number": 7}
        path = "/v1/baseline" if commit == "main" else "/v1/upload"
        upload(ci, image, path=path, **fields, **where).raise_for_status()
    body = {"pr_number": 7, "commit_sha": sha("push"), "branch": "main", "commits": [sha("main")]}
    ci.post("/v1/compare", json=body, timeout=60).raise_for_status()
    params = {"pr_number": 7, "view": "changes", "marker": "link"}
    markdown = ci.get("/v1/comment", params=params).json()["markdown"]
    deciding, group, caption, pair = (link for link in MarkdownPage(markdown).links if "?" in link)
    assert caption == pair
    page.goto(deciding)
    expect(page.locator(".pair-name")).to_have_text(["a & b"])
    page.goto(pair)
    expect(page.locator("dialog.pair-viewer")).to_contain_text("a & b")
    page.goto(group)
    expect(page.locator(".pair-name")).to_have_text(["a & b"])


def write_comment(ci: httpx.Client, pull: PullRequest) -> dict[str, Any]:
    params = {"pr_number": pull.number, "view": "changes"}
    return dict(ci.get("/v1/comment", params=params).raise_for_status().json())
