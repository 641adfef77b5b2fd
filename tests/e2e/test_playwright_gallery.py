"""How the screenshots of real Playwright runs stand in the gallery: names, viewports, themes, pairs and retries."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from support.forges.look_alikes import GitHubLookAlike, github_look_alike
from support.playwright_suites import Suite, build_reporter
from support.service import Service

pytestmark = pytest.mark.slow

CHECKOUT = """
import { test } from "@playwright/test";

test.describe(`the cart
    of a visitor`, () => {
  test("shows /cart/total", async ({ page }) => {
    await page.setContent("<meta name=color-scheme content='light dark'><h1>Cart</h1>" + "<p>more</p>".repeat(99));
    const attach = async (name, body) => test.info().attach(name, { body, contentType: "image/png" });
    await attach("whole", await page.screenshot({ fullPage: true }));
    await attach("headline", await page.locator("h1").screenshot());
    await page.setViewportSize({ width: 500, height: 300 });
    await attach("whole@500x300", await page.screenshot());
  });
});
"""

PROJECTS = """
  projects: [
    { name: "setup", testMatch: /setup/ },
    { name: "desktop", dependencies: ["setup"] },
    { name: "german", use: { locale: "de-DE" } },
    { name: "phone", use: { ...devices["iPhone 14"], defaultBrowserType: undefined, browserName: "chromium" } },
    { name: "dark", use: { colorScheme: "dark" } },
    { name: "window", use: { viewport: null, deviceScaleFactor: undefined }, grep: /none/ },
  ],
"""

RETRIED = """
import { test, expect } from "@playwright/test";

test("works at the second attempt", async ({ page }) => {
  await page.setContent(`<h1>Attempt ${test.info().retry}</h1>`);
  await test.info().attach("page", { body: await page.screenshot(), contentType: "image/png" });
  expect(test.info().retry).toBe(1);
});

test("never works", async ({ page }) => {
  await page.setContent("<h1>Broken</h1>");
  expect(1).toBe(2);
});

test.describe.serial("in a row", () => {
  test("first", async ({ page }) => {
    await test.info().attach("page", { body: await page.screenshot(), contentType: "image/png" });
  });
  test("second", async () => expect(test.info().retry).toBe(1));
});
"""

COMPARED = """
import { expect, test } from "@playwright/test";

test("looks as it did", async ({ page }) => {
  await page.setContent("<h1 style='color: green'>Sold out</h1>");
  await expect.soft(page).toHaveScreenshot("home.png", { timeout: 500 });
  await expect.soft(page).toHaveScreenshot("first.png", { timeout: 500 });
});
"""


@pytest.fixture(scope="module")
def github() -> Iterator[GitHubLookAlike]:
    with github_look_alike() as running:
        yield running


@pytest.fixture
def suite(tmp_path: Path, shared_service: Service, github: GitHubLookAlike) -> Suite:
    build_reporter()
    return Suite(tmp_path, shared_service, github)


def shots(suite: Suite, service: Service) -> list[str]:
    """Return name, viewport and theme of each shot of the pull request."""
    found = service.shots_of(suite.token, suite.pr_number)
    return sorted(" ".join(filter(None, [shot["name"], shot["viewport"], shot["theme"]])) for shot in found)
