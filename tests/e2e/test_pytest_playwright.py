"""How the gallery shows screenshots of pytest-playwright: browsers, viewports, themes and reruns."""

from pathlib import Path

import pytest

from support.chromium import CHROMIUM, QUIET
from support.forges.look_alikes import GitHubLookAlike
from support.pytest_jobs import Job, entries, job_of, run_elsewhere
from support.service import Service

pytestmark = pytest.mark.slow

PLUGINS = ("-p", "playwright", "-p", "rerunfailures", "--tb=no")

# Only Chromium is installed, so every browser is Chromium. The names are the plugin's.
CONFTEST = f"""
import pytest

@pytest.fixture(scope="session")
def browser_type(playwright):
    return playwright.chromium

@pytest.fixture(scope="session")
def browser_type_launch_args():
    return {{"executable_path": {CHROMIUM!r}, "args": {["--no-sandbox", *QUIET]!r}}}

@pytest.fixture(scope="session")
def browser_context_args():
    return {{"viewport": {{"width": 320, "height": 200}}, "device_scale_factor": 2}}
"""

PAGES = """
import pytest

class TestCart:
    @pytest.mark.parametrize("path", ["/cart/empty", "two\\nlines"])
    def test_is_shown(self, shot, page, path):
        page.set_content("<h1>Cart</h1>" + "<p>more</p>" * 50)
        shot(page)
        shot(page.locator("h1"), "headline " + path[:4])
        page.emulate_media(color_scheme="dark")
        shot(page.screenshot(full_page=True))
        page.set_viewport_size({"width": 390, "height": 844})
        shot(page)
        shot(page)

def test_fails(page):
    page.set_content("<h1>Sold out</h1>")
    pytest.fail("on purpose")
"""

RERUN = """
import pytest
attempts = []

def test_works_at_the_second_attempt(page, shot):
    attempts.append(page)
    shot(page)
    if len(attempts) == 1:
        shot(page, "only in the first")
        shot(b"no image", "broken in the first")
    assert len(attempts) == 2
"""


@pytest.fixture
def job(tmp_path: Path, shared_service: Service, github: GitHubLookAlike) -> Job:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    return job_of(tmp_path, shared_service, github)


def test_shots_are_named_by_viewport_and_theme(tmp_path: Path, job: Job) -> None:
    (tmp_path / "test_shop.py").write_text(PAGES)
    _, said = run_elsewhere(tmp_path, job, *PLUGINS)
    assert "1 failed, 2 passed" in said
    slash = "\N{DIVISION SLASH}"
    expected = ["failed/test_shop/test_fails 320x200", "headline /car 320x200", "headline two 320x200"]
    for parameter in (f"{slash}cart{slash}empty", "two lines"):
        test = f"test_shop/TestCart/test_is_shown ({parameter})"
        expected += [f"{test} 320x200"] * 2  # light and dark
        expected += [f"{test} 390x844", f"{test}-2 390x844"]
    assert entries(job) == sorted(expected)


def test_only_a_later_browser_is_in_the_name(tmp_path: Path, job: Job) -> None:
    (tmp_path / "test_shop.py").write_text(
        "def test_home(page, shot):\n    shot(page)\n    shot(page, 'home')\n"
    )
    browsers = ("--browser", "firefox", "--browser", "chromium")
    status, said = run_elsewhere(tmp_path, job, *PLUGINS, *browsers)
    assert status == 0, said
    assert entries(job) == [
        "home (chromium) 320x200",
        "home 320x200",
        "test_shop/test_home (chromium) 320x200",
        "test_shop/test_home 320x200",
    ]


def test_only_the_last_rerun_counts(tmp_path: Path, job: Job) -> None:
    (tmp_path / "test_shop.py").write_text(RERUN)
    status, said = run_elsewhere(tmp_path, job, *PLUGINS, "--reruns", "2", "--prshots-dir=kept")
    assert status == 0, said
    assert "1 rerun" in said
    assert "broken" not in said
    assert entries(job) == ["test_shop/test_works_at_the_second_attempt 320x200"]
    kept = [path.name for path in (tmp_path / "kept").rglob("*.png")]
    assert kept == ["test_works_at_the_second_attempt@320x200.png"]
