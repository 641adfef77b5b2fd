"""The first view of a pull request's gallery: how long Chromium waits for all its thumbnails."""

import hashlib
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext, ViewportSize

from bench.pages import Camera, Page, chromium
from bench.processes import cpu_seconds
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service, Shot

SHOTS = 60
ROUNDS = 3
WINDOW = ViewportSize(width=1600, height=3600)
"""Tall enough to show all thumbnails, because the gallery only requests those near the visible area."""

FIRST_SCREEN = 900
"""The height of an ordinary window."""

PATIENCE_MS = 60_000
TARGET = Target(at_most=3)
COMMIT = hashlib.sha1(b"gallery").hexdigest()

# A page's clock starts when the browser navigates to it.
NOTE_WHEN_LOADED = """
    window.seen = [];
    document.addEventListener("load", ({ target }) => {
        if (target.matches?.(".thumbnail img") && target.complete && target.naturalWidth)
            window.seen.push({ at: performance.now() / 1000, top: target.getBoundingClientRect().top });
    }, true);
"""


@dataclass(frozen=True, slots=True)
class _View:
    """The seconds from the navigation until all thumbnails appear, and until those of the first screen do."""

    all: float
    first_screen: float
    cpu: float
    """The CPU seconds of the service, including its picture workers."""


def measure(run: Run) -> Iterator[Row]:
    run.say(f"gallery: rendering {SHOTS} pages")
    service = Service.create(run.directory / "ours")
    with chromium() as browser:
        pictures = Camera(browser).shots(*(Page(number) for number in range(SHOTS)))
        views = []
        for number in range(1, ROUNDS + 1):
            view = _first_view(service, browser, pictures, number)
            run.say(f"gallery, round {number} of {ROUNDS}: {view.all:.2f} s, {view.cpu:.2f} s of CPU time")
            views.append(view)
    size = statistics.median(map(len, pictures)) / 1024
    screen = statistics.median(view.first_screen for view in views)
    note = f"all on one tall screen, PNGs of {size:.0f} KB; the first {FIRST_SCREEN} px after {screen:.1f} s"
    seconds = statistics.median(view.all for view in views)
    yield Row(f"gallery, first view of {SHOTS} screenshots", "s", seconds, target=TARGET, note=note)
    cpu = statistics.median(view.cpu for view in views)
    yield Row(f"gallery, first view of {SHOTS} screenshots: CPU time", "s", cpu, note="without the browser")


def _first_view(service: Service, browser: Browser, pictures: Sequence[bytes], number: int) -> _View:
    """Upload the screenshots to a pull request and view it, on a service without any thumbnails yet."""
    with service.idle() as pid:
        with closing(Api(service)) as api:
            for shot, picture in enumerate(pictures):
                api.send_shot(Shot(f"page-{shot}", COMMIT, picture), number)
        context = browser.new_context(base_url=service.web_address, viewport=WINDOW)
        context.add_init_script(NOTE_WHEN_LOADED)
        project = _signed_in(service, context)
        before = cpu_seconds(pid)
        page = context.new_page()
        page.goto(f"/projects/{project}/prs/{number}?tab=all")
        page.wait_for_function(f"() => seen.length >= {SHOTS}", timeout=PATIENCE_MS)
        used = cpu_seconds(pid) - before
        seen = page.evaluate("seen")
        context.close()
    on_screen = (shot["at"] for shot in seen if shot["top"] < FIRST_SCREEN)
    return _View(max(shot["at"] for shot in seen), max(on_screen), used)


def _signed_in(service: Service, context: BrowserContext) -> str:
    """Sign in with a one-time link, and return the id of the project."""
    code = service.run("login-link").strip().partition("#")[2]
    headers = {"Origin": service.web_address}
    context.request.post("/auth/link", data={"code": code}, headers=headers, fail_on_status_code=True)
    projects = context.request.get("/v1/dashboard/projects", fail_on_status_code=True).json()["projects"]
    return projects[0]["id"]
