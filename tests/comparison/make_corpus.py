"""Renders the corpus: pairs of screenshots, and the verdict that a person gives to each.

Run `python tests/comparison/make_corpus.py` from the root of the repository after you change a page or a case. It
writes `pictures/`, `corpus.json` and the marked differences, and `README.md`, which shows all of it.
"""

import io
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cases import CASES, Case, Shot  # noqa: E402

from support.chromium import chromium  # noqa: E402

PICTURES = HERE / "pictures"


class Rendered(NamedTuple):
    name: str
    data: bytes


def rendered(browser: Browser, shot: Shot) -> bytes:
    """Return the shot as a PNG."""
    width, height = shot.size
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.set_content(shot.page)
    if shot.css:
        page.add_style_tag(content=shot.css)
    if shot.script:
        page.evaluate(shot.script)
    page.evaluate("document.fonts.ready")
    png = page.screenshot(full_page=shot.full_page, omit_background=shot.transparent, caret="initial")
    context.close()
    return png


def write_picture(
    name: str, png: bytes, change: Callable[[Image.Image], Image.Image] | None, kind: str, quality: int
) -> str:
    picture = Image.open(io.BytesIO(png))
    picture.load()
    if picture.mode == "RGBA" and picture.getextrema()[3][0] == 255:
        picture = picture.convert("RGB")
    if change:
        picture = change(picture)
    path = PICTURES / f"{name}.{kind}"
    options: dict[str, object] = {
        "png": {"optimize": True},
        "jpg": {"quality": quality},
        "webp": {"quality": quality},
    }[kind]
    picture.save(path, {"png": "PNG", "jpg": "JPEG", "webp": "WEBP"}[kind], **options)
    return path.name


def make(case: Case, browser: Browser, known: dict[Shot, str]) -> dict[str, str]:
    files = []
    for side, shot in (("before", case.before), ("after", case.after)):
        if shot not in known:
            random.seed(case.name)
            name = shot.name or f"{case.name}.{side}"
            known[shot] = write_picture(name, rendered(browser, shot), shot.change, shot.kind, shot.quality)
        files.append(known[shot])
    return {
        "name": case.name,
        "before": files[0],
        "after": files[1],
        "person": case.person,
        "why": case.why,
    } | ({"known_wrong": case.known_wrong} if case.known_wrong else {})


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.iterdir():
        old.unlink()
    known: dict[Shot, str] = {}
    with chromium() as browser:
        pairs = [make(case, browser, known) for case in CASES]
    (HERE / "corpus.json").write_text(
        json.dumps(pairs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
