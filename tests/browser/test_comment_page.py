"""The comment on two pull requests in real Chromium, as the forges show it."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser

from support.forge_pages import FORGES, THEMES, open_comment
from support.reviewed_shop import REDESIGN, WORDING, PullRequest, review

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("pull", "groups", "tallest"),
    [
        (REDESIGN, {"coupons": 6, "pricing": 3, "orders": 3, "gift-cards": 6, "27 dark": 27}, 2000),
        (WORDING, {"orders": 3, "checkout/delivery, help": 9}, 900),
    ],
)
def test_shows_each_change_once_and_is_short(
    ci: httpx.Client, running_browser: Browser, pull: PullRequest, groups: dict[str, int], tallest: int
) -> None:
    found = review(ci, running_browser, pull)
    assert [group["shots"] for group in found["groups"]] == [*groups.values()]
    assert all(group["title"].startswith(start) for group, start in zip(found["groups"], groups, strict=True))
    comment = write_comment(ci, pull)
    assert comment["omitted"] == 0
    for forge in FORGES:
        for theme in THEMES:
            page = open_comment(running_browser, comment["markdown"], forge, theme)
            assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
            assert page.evaluate("document.documentElement.scrollHeight") <= tallest, (forge, theme)
            page.close()


def write_comment(ci: httpx.Client, pull: PullRequest) -> dict[str, Any]:
    params = {"pr_number": pull.number, "view": "changes"}
    return dict(ci.get("/v1/comment", params=params).raise_for_status().json())
