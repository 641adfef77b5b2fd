"""Whether a forge on the internet can show images from an address."""

from typing import Any

import pytest

from prshots.client.post_comment import unreachable_images
from support.vectors import cases


@pytest.mark.parametrize("case", cases("image_addresses", "images"))
def test_images_that_a_forge_on_the_internet_cannot_fetch_are_warned_about(case: dict[str, Any]) -> None:
    url = f"{case['images']}/i/00.png?exp=1&token=k1.5e"
    for image in (
        f"![Home]({url})",
        f"| [![Home]({url})]({url}) |",
        f'<td><a href="{url}"><img width="300" alt="Home" src="{url}"></a></td>',
    ):
        markdown = f"### 1 screenshot\n\n`](http://10.0.0.1)`\\\n{image}\n"
        warning = unreachable_images(markdown, case["forge_api"], "GitHub")
        assert bool(warning) == case["warns"]
        if warning:
            assert case["images"] in warning
            assert "set PRSHOTS_IMG_URL on the service" in warning


def test_a_comment_without_images_needs_no_warning() -> None:
    text = "### 0 screenshots\n\n`![x](http://10.0.0.1/i/00.png)`\n"
    assert unreachable_images(text, "https://api.github.com", "GitHub") == ""
