"""How the gallery shows screenshots of real Playwright runs: names, viewports, themes, pairs and retries."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from support.forges.look_alikes import GitHubLookAlike
from support.playwright_suites import Suite
from support.service import Service
from support.signed_in_people import Person, sign_in

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

test.describe.serial("in a row", () => {
  test("first", async ({ page }) => {
    await test.info().attach("page", { body: await page.screenshot(), contentType: "image/png" });
  });
  test("second", async () => expect(test.info().retry).toBe(1));
});
"""

SIMPLE = """
import { test } from "@playwright/test";
test("home", async ({ page }) => {
  await test.info().attach("page", { body: await page.screenshot(), contentType: "image/png" });
});
"""

COMPARED = """
import { expect, test } from "@playwright/test";
test.describe.configure({ retries: 0 });

test("looks as it did", async ({ page }) => {
  await page.setContent("<h1 style='color: green'>Sold out</h1>");
  await expect.soft(page).toHaveScreenshot("home.png", { timeout: 500 });
  await expect.soft(page).toHaveScreenshot("first.png", { timeout: 500 });
});
"""


class Gallery:
    """A project of somebody who is signed in, and a suite that uploads to it."""

    def __init__(self, suite: Suite, person: Person) -> None:
        self.suite = suite
        self._person = person
        self._project_id = person.project()
        suite.token = suite.environ["PRSHOTS_TOKEN"] = person.token(self._project_id)
        suite.secrets.append(suite.token)

    def shots(self) -> list[str]:
        """Return each shot's name, viewport and theme."""
        found = self._person.get_json(f"/projects/{self._project_id}/pulls/{self.suite.pr_number}/shots")
        assert found["next"] is None
        newest = [shot["newest"] for shot in found["shots"]]
        return sorted(f"{shot['name']} {shot['viewport']} {shot['theme']}".strip() for shot in newest)


@pytest.fixture
def gallery(tmp_path: Path, shared_service: Service, github: GitHubLookAlike) -> Iterator[Gallery]:
    with sign_in(shared_service) as person:
        yield Gallery(Suite(tmp_path, shared_service, github), person)


def test_projects_stand_beside_each_other_as_viewport_and_theme(gallery: Gallery) -> None:
    gallery.suite.write(checkout=CHECKOUT, setup='import "@playwright/test";')
    done = gallery.suite.run(config=PROJECTS)
    assert done.returncode == 0, done.stdout + done.stderr
    test = "checkout/the cart of a visitor/shows \N{DIVISION SLASH}cart\N{DIVISION SLASH}total"
    screens = ["320x200", "320x200 dark", "390x664"]  # of desktop, dark and phone
    expected = [f"{test}/{name} {screen}" for name in ("headline", "whole") for screen in screens]
    expected += [f"{test}/{name} (german) 320x200" for name in ("headline", "whole")]
    expected += [f"{test}/whole{project} 500x300" for project in ("", " (german)", " (phone)")]
    expected += [f"{test}/whole 500x300 dark"]
    assert gallery.shots() == sorted(expected)


def test_only_the_last_retry_counts_and_to_have_screenshot_is_one_shot(gallery: Gallery) -> None:
    gallery.suite.write(shop=RETRIED, home=COMPARED)
    snapshot = gallery.suite.folder / "home.spec.ts-snapshots" / "home-linux.png"
    snapshot.parent.mkdir()
    Image.new("RGB", (320, 200), "white").save(snapshot)
    done = gallery.suite.run(config="retries: 1,")
    assert "prshots: Compared with its own before image: 1 changed. " in done.stderr, done.stderr
    assert gallery.shots() == [
        "failed/home/looks as it did 320x200",
        "home/looks as it did/first 320x200",
        "home/looks as it did/home 320x200",
        "shop/in a row/first/page 320x200",
        "shop/works at the second attempt/page 320x200",
    ]


@pytest.mark.nightly
def test_merged_reports_omit_the_viewport(gallery: Gallery) -> None:
    gallery.suite.write(shop=SIMPLE)
    gallery.suite.run(None, "test", "--reporter=blob", "--project=desktop", "--project=dark", config=PROJECTS)
    assert gallery.shots() == []
    done = gallery.suite.run(None, "merge-reports", "--reporter=prshots/playwright", "blob-report")
    assert "prshots: 2 screenshots uploaded" in done.stderr, done.stdout + done.stderr
    assert gallery.shots() == ["shop/home/page (dark) 320x200", "shop/home/page 320x200"]
