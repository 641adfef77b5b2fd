"""Renders the corpus of groups: the shots of pull requests, grouped as a person would.

Run `.venv/bin/python tests/comparison/groups/make_corpus.py` after you change the site or a pull request. It writes
`pictures/` and `corpus.json`.
"""

import functools
import hashlib
import io
import json
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1])]

from comparison.groups.pull_requests import (  # noqa: E402 - found through the line above
    PULL_REQUESTS,
    THEMES,
    Edit,
    PullRequest,
    Shot,
    contains,
    shots_of,
)
from comparison.groups.site import VIEWPORTS, page  # noqa: E402
from support.chromium import chromium  # noqa: E402

PICTURES = HERE / "pictures"


@functools.cache
def render(tab: Page, shot: Shot, edits: tuple[Edit, ...]) -> str:
    """Render the shot, unless another one has the same pixels, and return the name of its file."""
    name, viewport, theme = shot
    tab.set_viewport_size({"width": VIEWPORTS[viewport], "height": 100})
    tab.set_content(page(name, theme))
    for edit in edits:
        if not contains(edit.place, shot):
            continue
        tab.add_style_tag(content=edit.css or "/* as it is */")
        if edit.selector:
            tab.eval_on_selector(edit.selector, "(element, text) => element.textContent = text", edit.text)
    picture = Image.open(io.BytesIO(tab.screenshot(full_page=True))).convert("RGB")
    file = hashlib.sha256(picture.tobytes()).hexdigest()[:12] + ".webp"
    if not (PICTURES / file).exists():
        picture.save(PICTURES / file, "WEBP", lossless=True)  # half as large as a PNG
    return file


def describe(shot: Shot, before: str, after: str) -> dict[str, str]:
    name, viewport, theme = shot
    return {"name": name, "viewport": viewport, "theme": theme, "before": before, "after": after}


def find_differing(tab: Page, request: PullRequest) -> dict[Shot, dict[str, str]]:
    differing = {}
    for shot in shots_of(request.shots):
        before, after = render(tab, shot, ()), render(tab, shot, request.edits)
        if before != after:
            differing[shot] = describe(shot, before, after)
    return differing


def absent_shots(place: str) -> list[Shot]:
    """Return the shots of a page that only one side has. Nothing is rendered for them."""
    names, viewports, themes = (part.split(",") for part in place.split("/"))
    return [
        (name, viewport, theme)
        for name in names
        for viewport in (VIEWPORTS if viewports == ["*"] else viewports)
        for theme in (THEMES if themes == ["*"] else themes)
    ]


def group(tab: Page, request: PullRequest) -> list[dict[str, object]]:
    differing = find_differing(tab, request)
    groups: list[dict[str, object]] = []
    for kind, place in request.groups:
        if kind in {"new", "removed"}:
            shots = [describe(shot, "", "") for shot in absent_shots(place)]
        else:
            mine = [shot for shot in differing if contains(place, shot)]
            shots = [differing.pop(shot) for shot in mine]
        assert shots, (request.why, place)
        groups.append({"kind": kind, "shots": shots})
    assert not differing, (request.why, [*differing])
    return groups


def render_all(browser: Browser) -> list[dict[str, object]]:
    tab = browser.new_context().new_page()
    return [
        {"name": name, "why": request.why, "groups": group(tab, request)}
        for name, request in PULL_REQUESTS.items()
    ]


def main() -> None:
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    with chromium() as browser:
        corpus = render_all(browser)
    lines = ",\n".join(json.dumps(request, ensure_ascii=False) for request in corpus)
    (HERE / "corpus.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
