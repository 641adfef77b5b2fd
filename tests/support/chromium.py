"""A real browser for the tests."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

# Playwright brings its own Node, which needs a library that not every machine has.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", shutil.which("node") or "")

QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    # Chromium's own sandbox does not start as root, as tests in a container often run.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", *QUIET]
        )
        yield browser
        browser.close()
