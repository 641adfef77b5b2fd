"""A real browser for the tests."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, expect, sync_playwright

# Playwright brings its own Node, which needs a library that not every machine has.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", shutil.which("node") or "")

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
PATIENCE_MS = 60_000
"""How long a browser waits for something: on a busy machine everything takes longer."""

expect.set_options(timeout=PATIENCE_MS)

QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    # Chromium's own sandbox does not start as root, as tests in a container often run.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", *QUIET], timeout=PATIENCE_MS
        )
        yield browser
        browser.close()
