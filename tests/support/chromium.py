"""A real browser for the tests."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

# Playwright bundles its own Node, which needs a library that some machines lack.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", shutil.which("node") or "")

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
PATIENCE_MS = 60_000
"""How long a browser waits for an element. Generous, because the machine may be busy."""

WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"

expect.set_options(timeout=PATIENCE_MS)

QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    # Chromium's sandbox does not start as root, and tests in a container often run as root.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", *QUIET], timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


def loaded(picture: Locator) -> None:
    """Wait until the image is loaded and visible, not only in the page."""
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("complete", value=True)
    assert picture.evaluate("image => image.naturalWidth") > 0


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """Return what axe-core finds on the page, with the first elements. In dark mode only the colors differ.

    The page's context needs `bypass_csp`.
    """
    page.add_style_tag(content="* { transition: none !important; }")
    page.add_script_tag(path=AXE)
    found = []
    for scheme, options in (
        ("light", "{resultTypes: ['violations']}"),
        ("dark", "{resultTypes: ['violations'], runOnly: {type: 'rule', values: ['color-contrast']}}"),
    ):
        page.emulate_media(color_scheme=scheme)
        found += page.evaluate(f"axe.run({options}).then(result => result.violations)")
    page.emulate_media(color_scheme="null")
    return [(each["id"], [node["html"] for node in each["nodes"][:3]]) for each in found]


def too_wide_for_a_phone(page: Page) -> bool:
    wide = page.viewport_size
    page.set_viewport_size(NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(wide)
    return bool(width > NARROW["width"])
