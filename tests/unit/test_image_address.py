"""The image address: given as the address of the service, or not reachable for a forge."""

from typing import Any

import httpx
import pytest

from prshots.client.image_address import API_PORT, IMAGE_PORT, refuse_image_address
from prshots.client.post_comment import unreachable_images
from prshots.contract.errors import ImageAddressError
from prshots.server.config.settings import Settings
from support.vectors import cases

FIELDS = {"X-Content-Type-Options": "nosniff"}
NOT_FOUND, NOT_ALLOWED = b'{"error":"not found"}', b'{"error":"method not allowed"}'


def test_the_usual_port_suggests_the_api() -> None:
    assert (Settings().api_port, Settings().img_port) == (API_PORT, IMAGE_PORT)
    url = "http://localhost:8082"
    words = f"^{url} is the image address of a prshots service; did you mean http://localhost:8081\\?$"
    with pytest.raises(ImageAddressError, match=words):
        refuse_image_address(url, httpx.Response(404, headers=FIELDS, content=NOT_FOUND))


@pytest.mark.parametrize(
    ("status", "fields", "content"),
    [
        (404, FIELDS | {"X-Request-Id": "5e"}, NOT_FOUND),  # an API without the route
        (405, {}, NOT_ALLOWED),
        (404, FIELDS, b'{"error":"no such page"}'),
        (200, FIELDS, NOT_FOUND),
        (599, FIELDS, b"of no known status"),
    ],
)
def test_other_replies_pass(status: int, fields: dict[str, str], content: bytes) -> None:
    refuse_image_address("http://localhost:8082", httpx.Response(status, headers=fields, content=content))


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
