"""A real browser for the tests."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, expect, sync_playwright

# Playwright bundles its own Node, which needs a library that some machines lack.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", shutil.which("node") or "")

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
PATIENCE_MS = 60_000
"""How long a browser waits for an element. Generous, because the machine may be busy."""

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
