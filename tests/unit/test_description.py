"""Deleted screenshots in a pull request's description."""

from typing import Any

import pytest

from prshots.client.expire import find_images, replace_images
from support.vectors import cases


@pytest.mark.parametrize("case", cases("descriptions", "cases"))
def test_only_deleted_screenshots_are_replaced(case: dict[str, Any]) -> None:
    assert find_images(case["text"]) == case["images"]
    assert replace_images(case["text"], case["deleted"]) == case["replaced"]
    assert replace_images(case["replaced"], case["deleted"]) == case["replaced"]


@pytest.mark.parametrize(
    "part", ["![", "[![a](", "<img src=", "<a ><img ", "`", "```\n", "![](http://", "![](/i/", "> "]
)
def test_a_hostile_description_is_read_to_its_end(part: str) -> None:
    """Otherwise a pull request could stop the job that closes it."""
    text = part * (65_536 // len(part))
    assert find_images(text) == []
    assert replace_images(text, {"https://img.example.com/x"}) == text
