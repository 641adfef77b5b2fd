"""Names of images in the nginx files, as in `contract/object_names.py`."""

import re

import pytest

from prshots.contract.object_names import CONTENT_TYPES, THUMBNAIL_EXT, origin_key
from support.deploy_checkers import ROOT

ASK_FIRST = ROOT / "deploy/nginx/prshots/ask-first.conf"
IMAGE_ID = "0a" * 16
LOCATION = re.compile(r'^location ~ "(.+)" \{$', re.MULTILINE)
TARGET = re.compile(r"error_page 305 = /prshots-image/(\S+);")


def looked_for(path: str) -> str | None:
    """Return the origin key that nginx derives from a path, or None if it forwards the path to delivery."""
    text = ASK_FIRST.read_text()
    pattern = LOCATION.findall(text)[0].replace("(?<", "(?P<")
    found = re.search(pattern, path)
    return found and re.sub(r"\$(\w+)", lambda variable: found[variable[1]], TARGET.findall(text)[0])


@pytest.mark.parametrize("ext", CONTENT_TYPES)
def test_nginx_looks_up_every_image_type_by_its_origin_key(ext: str) -> None:
    assert looked_for(f"/i/{IMAGE_ID}.{ext}") == origin_key(IMAGE_ID, ext)


@pytest.mark.parametrize(
    "ext",
    [
        "gif",
        "svg",
        "thumb",
        "thumb.png",
        "diff",
        "diff.webp",
        f"thumb.{THUMBNAIL_EXT}",
        "webp.png",
        "PNG",
        "",
    ],
)
def test_nginx_forwards_other_extensions_to_delivery(ext: str) -> None:
    assert looked_for(f"/i/{IMAGE_ID}.{ext}") is None
