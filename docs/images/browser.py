"""The browser that takes the screenshots."""

import shutil

from playwright.sync_api import Browser, Playwright

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def launch_browser(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
