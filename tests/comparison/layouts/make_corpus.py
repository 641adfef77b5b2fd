"""Renders the corpus of layouts: pairs of screenshots and pull requests, with the truth from the page.

Run `.venv/bin/python tests/comparison/layouts/make_corpus.py [--only pairs|pulls] [--filter TEXT] [--every N] [OUT]`. Each edit is made in the open
page, so an element before and after it is the same node, and the page itself says what became of it.
"""

import argparse
import base64
import functools
import itertools
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1])]

from comparison.layouts.apps import APPS, page, screens  # noqa: E402 - found through the line above
from comparison.layouts.edits import EDITS, SEQUENCES, Edit, edits_of  # noqa: E402
from comparison.layouts.pulls import PULLS, Pull  # noqa: E402
from comparison.layouts.truth import compare_pages, find_revealed, verdict_of  # noqa: E402
from support.chromium import chromium  # noqa: E402

VIEWPORTS = {"wide": (1280, 800), "full": (1440, 800), "phone": (390, 844), "tablet": (768, 1024)}
FULL_PAGE = "full"
PAIRS_PER_EDIT = 5
Shot = tuple[str, str, str, str]
"""App, screen, viewport, theme."""


class NothingToEditError(Exception):
    """The page has nothing that the edit applies to."""


class Camera:
    """Takes screenshots of pages, before and after edits."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._tabs: dict[int, tuple[Page, CDPSession]] = {}

    def shoot(
        self, shot: Shot, edits: list[Edit], scale: int = 1, *, skip: bool = False
    ) -> tuple[list[bytes], list[list[dict[str, Any]]]]:
        """Return the pictures before and after, and what the page says before and after each edit.

        With `skip`, a page stays as it is if it has nothing to edit, such as a navigation at 390 px.
        """
        app, screen, viewport, theme = shot
        if scale not in self._tabs:
            tab = self._browser.new_context(device_scale_factor=scale).new_page()
            self._tabs[scale] = tab, tab.context.new_cdp_session(tab)
        tab, session = self._tabs[scale]
        capture = tab.screenshot if scale > 1 else functools.partial(self._capture, session)
        self._resize(tab, viewport, app)
        tab.set_content(page(app, screen, theme))
        tab.add_script_tag(path=HERE / "truth.js")
        for edit in edits:
            tab.evaluate(f"() => {{ {edit.prepare} }}")
        self._resize(tab, viewport, app)
        pictures, readings = [capture()], [self._read(tab)]
        for edit in edits:
            if tab.evaluate(f"() => {{ {edit.change} }}") is False and not skip:
                raise NothingToEditError
            self._resize(tab, viewport, app)
            readings.append(self._read(tab))
        return [*pictures, capture()], readings

    @staticmethod
    def _read(tab: Page) -> list[dict[str, Any]]:
        return json.loads(
            tab.evaluate("JSON.stringify(page.collect())")
        )  # a fifth of the time that objects take

    @staticmethod
    def _capture(session: CDPSession) -> bytes:
        """Take a screenshot in a third of the time, though only at scale 1."""
        said = session.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        return base64.b64decode(said["data"])

    @staticmethod
    def _resize(tab: Page, viewport: str, app: str) -> None:
        width, height = VIEWPORTS[viewport]
        tab.set_viewport_size({"width": width, "height": height})
        if viewport == FULL_PAGE and app not in {"kanban", "chat", "mail"}:
            tall = tab.evaluate("document.documentElement.scrollHeight")
            if tall > height:
                tab.set_viewport_size({"width": width, "height": tall})


def candidates(name: str, number: int) -> Iterator[tuple[str, str, str, int]]:
    """Return app, viewport, theme and scale of the pairs to try for an edit, in an order that mixes them."""
    for place in range(2 * len(APPS)):
        app = [*APPS][(number * 3 + place * 7) % len(APPS)]
        turn = number * 5 + place
        viewport = (
            "wide"
            if place >= len(APPS)
            else ("wide", "full", "phone", "wide", "full", "tablet", "wide")[turn % 7]
        )
        yield (
            app,
            viewport,
            "dark" if turn % 4 == 3 and not name.startswith("theme") else "light",
            2 if turn % 6 == 4 and viewport != FULL_PAGE else 1,
        )


def make_pairs(camera: Camera, out: Path, wanted: str, every: int) -> None:
    names = [name for name in [*EDITS, *SEQUENCES] if name not in {"top-word", "last-price"}]
    for number, name in [*enumerate(names)][::every]:
        made: set[str] = set()
        for app, viewport, theme, scale in candidates(name, number):
            if wanted not in name or len(made) == PAIRS_PER_EDIT or app in made:
                continue
            turn = number + len(made)
            screen = screens(app)[turn % len(screens(app))]
            if make_pair(
                camera, out / "pairs" / f"{app}-{name}", (app, screen, viewport, theme), name, scale
            ):
                made.add(app)


def make_pair(camera: Camera, folder: Path, shot: Shot, name: str, scale: int) -> bool:
    try:
        pictures, readings = camera.shoot(shot, edits_of(name), scale)
    except NothingToEditError:
        return False
    elements = compare_pages(readings[0], readings[-1])
    verdict = verdict_of(elements)
    if pictures[0] == pictures[1]:
        return False
    if verdict == "unchanged" and not name.startswith("subpixel"):
        print("no pair, since only its pictures differ:", folder.name, shot)
        return False
    folder.mkdir(parents=True)
    for side, picture in zip(("before", "after"), pictures, strict=True):
        (folder / f"{side}.png").write_bytes(picture)
    app, screen, viewport, theme = shot
    truth = {
        "app": app,
        "screen": screen,
        "edit": name,
        "viewport": VIEWPORTS[viewport],
        "scale": scale,
        "theme": theme,
        "revealed": find_revealed(readings[0], readings[-1]),
    }
    (folder / "truth.json").write_text(json.dumps(truth | {"verdict": verdict, "elements": elements}))
    return True


def make_pull(camera: Camera, folder: Path, pull: Pull) -> None:
    folder.mkdir(parents=True)
    shots, changes = {}, {edit: {} for edit, _ in pull.edits}
    for screen, viewport, theme in itertools.product(
        screens(pull.app), pull.viewports.split(), pull.themes.split()
    ):
        name = f"{screen}.{viewport}.{theme}"
        edits = [edit for edit, on in pull.edits if on in {"*", screen}]
        pictures, readings = camera.shoot(
            (pull.app, screen, viewport, theme), [EDITS[edit] for edit in edits], skip=True
        )
        for edit, (old, new) in zip(edits, itertools.pairwise(readings), strict=True):
            touched = [one["id"] for one in compare_pages(old, new) if one["state"] != "same"]
            if touched:
                changes[edit][name] = touched
        elements = compare_pages(readings[0], readings[-1])
        shots[name] = {
            "name": screen,
            "viewport": "{}x{}".format(*VIEWPORTS[viewport]),
            "theme": theme,
            "verdict": verdict_of(elements),
            "elements": elements,
            "revealed": find_revealed(readings[0], readings[-1]),
        }
        for side, picture in zip(("before", "after"), pictures, strict=True):
            (folder / f"{name}.{side}.png").write_bytes(picture)
    groups = [
        {
            "kind": kind_of(EDITS[edit].group, of),
            "title": f"{edit} in {len(of)} screenshots",
            "shots": [*of],
            "changes": [edit],
        }
        for edit, of in changes.items()
        if of
    ]
    if len(groups) < len(pull.edits):
        print("an edit has no effect:", folder.name)
    said = {"app": pull.app, "shots": shots, "groups": groups}
    (folder / "truth.json").write_text(
        json.dumps(said | {"changes": [{"id": edit, "shots": of} for edit, of in changes.items()]})
    )


def kind_of(kind: str, shots: dict[str, Any]) -> str:
    is_one_name = len({shot.split(".")[0] for shot in shots}) == 1
    return "single" if is_one_name and kind in {"same_pixels", "inserted", "moved"} else kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=HERE / ".corpus")
    parser.add_argument("--only", choices=("pairs", "pulls"))
    parser.add_argument("--filter", default="", help="only edits and pull requests with this in their name")
    parser.add_argument("--every", type=int, default=1, help="only every Nth edit and pull request")
    args = parser.parse_args()
    parts = [args.only] if args.only else ["pairs", "pulls"]
    for part in parts:
        shutil.rmtree(args.out / part, ignore_errors=True)
    with chromium() as browser:
        camera = Camera(browser)
        if "pairs" in parts:
            make_pairs(camera, args.out, args.filter, args.every)
        for name, pull in [*PULLS.items()][:: args.every]:
            if "pulls" in parts and args.filter in name:
                make_pull(camera, args.out / "pulls" / name, pull)
    print(
        len([*args.out.glob("pairs/*")]),
        "pairs,",
        len([*args.out.glob("pulls/*")]),
        "pull requests in",
        args.out,
    )


if __name__ == "__main__":
    main()
