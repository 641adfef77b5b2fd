"""The clients send only images that the service doesn't have, and store none twice."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from prshots.client import Client
from prshots.forges import sender
from support.clients import CLIENTS, Run, runner_outside_ci
from support.compared_shop import draw
from support.forges.look_alikes import GitHubLookAlike
from support.playwright_suites import Suite
from support.pytest_jobs import job_of, lines, run_elsewhere
from support.service import Service
from support.unreliable_proxy import LOST_REPLY, UnreliableProxy

UPLOAD = "POST /v1/upload "
MAIN, FIRST, SECOND = ("1" * 40, "2" * 40, "3" * 40)

SAME_PICTURE_TWICE = """
import Reporter from "prshots/playwright";
const body = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=", "base64");
const project = { name: "", use: { viewport: null }, testDir: "/shop" };
const test = {
  titlePath: () => ["", "", "a.spec.ts", "b"],
  parent: { project: () => project },
  repeatEachIndex: 0,
  retries: 0,
  expectedStatus: "passed",
};
for (const commit of ["2".repeat(40), "3".repeat(40)]) {
  const reporter = new Reporter({ commit, comment: false, compare: false });
  reporter.onBegin({ projects: [project], shard: null }, { allTests: () => [test] });
  const attachments = [{ name: "one", body, contentType: "image/png" }];
  reporter.onTestEnd(test, { retry: 0, status: "passed", attachments });
  await reporter.onEnd({ status: "passed" });
}
"""


@pytest.fixture
def front(shared_service: Service) -> Iterator[UnreliableProxy]:
    with UnreliableProxy(shared_service.base_url) as running:
        yield running


@pytest.fixture(params=CLIENTS)
def run(
    request: pytest.FixtureRequest,
    shared_service: Service,
    front: UnreliableProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run the command in a new project."""
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.01)
    return runner_outside_ci(request.param, tmp_path, monkeypatch, front.url, shared_service.new_token())


def test_a_push_sends_only_changed_images_and_stores_them_once_if_a_reply_is_lost(
    run: Run, front: UnreliableProxy, github: GitHubLookAlike, tmp_path: Path
) -> None:
    for name in ("cart@160x120.dark", "cart@160x120.light", "home"):
        draw(tmp_path / "shots" / f"{name}.png", 1)
    assert run("upload", "shots", "--baseline", "--branch", "main", "--commit", MAIN).returncode == 0
    forge = {
        "PRSHOTS_FORGE": "github",
        "PRSHOTS_FORGE_URL": github.url,
        "PRSHOTS_REPOSITORY": github.repository,
        "PRSHOTS_FORGE_TOKEN": github.token,
    }
    nothing_new = str(github.new_pr())
    assert run("upload", "shots", "--pr", nothing_new, PRSHOTS_COMMIT=FIRST).returncode == 0
    assert run("comment", "--post", "--pr", nothing_new, **forge).returncode == 0
    assert "### 3 screenshots: 3 unchanged" in github.comments(int(nothing_new))[0]["body"]
    draw(tmp_path / "shots" / "home.png", 5)
    front.will(LOST_REPLY, when=UPLOAD)
    for commit, known in ((FIRST, 2), (SECOND, 3)):
        done = run("upload", "shots", "--pr", "7", "--json", PRSHOTS_COMMIT=commit)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["count"], told["known"]) == (3, known)
        assert sum("id" in shot for shot in told["uploaded"]) == 3 - known
        counts = {name: count for name, count in told["comparison"]["counts"].items() if count}
        assert counts == {"changed": 1, "unchanged": 2}
        already = f"{known} of them already there"
        assert f"Uploaded 3 of 3 screenshots to pull request 7, {already}.\n" in done.stderr
    assert front.count(UPLOAD) == 2  # of one image, because a reply was lost
    latest = run("comment", "--pr", "7", "--view", "latest").stdout
    assert "### 3 screenshots" in latest
    stored = run("comment", "--pr", "7", "--view", "all").stdout
    assert "### 1 screenshot\n" in stored
    assert "home" in run("comment", "--pr", "7", "--view", "changes").stdout


@pytest.mark.slow
def test_pytest_plugin_sends_only_missing_images(
    tmp_path: Path, shared_service: Service, github: GitHubLookAlike
) -> None:
    job = job_of(tmp_path, shared_service, github)
    picture = io.BytesIO()
    Image.new("RGB", (320, 200)).save(picture, "PNG")
    (tmp_path / "cart.png").write_bytes(picture.getvalue())
    tests = "def test_it(shot):\n    shot('cart.png', 'cart')\n    shot('cart.png', 'menu')\n"
    (tmp_path / "test_shop.py").write_text(tests)
    with UnreliableProxy(shared_service.base_url) as front:
        job.environ["PRSHOTS_URL"] = front.url
        about = {"name": "cart", "viewport": "320x200", "commit_sha": FIRST, "content_type": "image/png"}
        with Client(shared_service.base_url, job.token) as client:
            client.upload(picture.getvalue(), pr_number=job.pr_number, **about)
        _, said = run_elsewhere(tmp_path, job, "test_shop.py")
        assert front.count(UPLOAD) == 1
    target = f"pull request {job.pr_number}"
    assert lines(said)[0] == f"2 screenshots uploaded to {target}, 1 of them already there"


@pytest.mark.slow
def test_playwright_reporter_sends_only_missing_images(
    tmp_path: Path, shared_service: Service, github: GitHubLookAlike
) -> None:
    suite = Suite(tmp_path, shared_service, github)
    with UnreliableProxy(shared_service.base_url) as front:
        said = suite.called(SAME_PICTURE_TWICE, PRSHOTS_URL=front.url)
        assert front.count(UPLOAD) == 1
    done = [re.sub("^prshots: ", "", line) for line in said if "uploaded" in line]
    uploaded = f"1 screenshot uploaded to pull request {suite.pr_number}"
    assert done == [uploaded, f"{uploaded}, 1 of them already there"]
