"""The pytest plugin in real pytest runs, against the real service and the GitHub look-alike."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy  # noqa: F401 - first: a pytest run inside this process forgets the modules that it imports

from prshots.client import Client
from prshots.contract.statements import message
from prshots.forges import sender
from support.forges.look_alikes import GitHubLookAlike
from support.git_repositories import Repository
from support.pytest_jobs import ONLY_OURS, Job, entries, job_of, lines, run_elsewhere
from support.service import SHA, Service, png
from support.unreliable_proxy import UnreliableProxy, refuse

pytest_plugins = ["pytester"]

PICTURES = """
import pathlib, pytest
from io import BytesIO
from PIL import Image

def png(width=320, height=200):
    file = BytesIO()
    Image.new("RGB", (width, height)).save(file, "PNG")
    return file.getvalue()
"""


@pytest.fixture
def job(tmp_path: Path, shared_service: Service, github: GitHubLookAlike) -> Job:
    return job_of(tmp_path, shared_service, github)


@pytest.fixture
def here(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, job: Job) -> pytest.Pytester:
    """Create a test folder in which pytest runs in this process, as that job."""
    for name in [name for name in os.environ if name.startswith(("PRSHOTS_", "GITHUB_", "CI"))]:
        monkeypatch.delenv(name)
    for name, value in job.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(ONLY_OURS))
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.01)
    return pytester


NO_BASELINES = message("no_baselines", branch="main")


@pytest.mark.slow
def test_two_workers_upload_every_kind_of_screenshot_into_one_comment(
    tmp_path: Path, job: Job, github: GitHubLookAlike
) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_shop.py").write_text(
        PICTURES
        + """
class Driver:
    def get_screenshot_as_png(self):
        return png(390, 844)

class TestCart:
    def test_empty(self, shot):
        shot(png())
        shot(png(), viewport="1280x800")

@pytest.mark.parametrize("size", ["small"])
def test_kinds(shot, size, tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(png(1, 2))
    shot(file, "from/a path")
    file.unlink()
    shot(str(tmp_path / "gone.png"), "gone")
    shot(Image.new("RGB", (3, 4)), "from/a picture")
    shot(Driver(), "from/a driver")
    shot(b"no picture", "broken")
    shot(png() + bytes(5 * 1024 * 1024), "huge")
    shot(png()[:-4], "cut off")
    shot(png())

@pytest.fixture
def driver():
    return Driver()

def test_fails(driver):
    assert driver is None

@pytest.mark.xfail
def test_is_known_to_fail(driver):
    assert driver is None

def test_is_called_wrongly(shot):
    async def awaited(): pass
    for wrong, words in ((5, "got int"), (awaited(), "await")):
        with pytest.raises(TypeError, match=words):
            shot(wrong)
    with pytest.raises(ValueError, match="1280x800"):
        shot(png(), viewport="large")
    with pytest.raises(ValueError, match="light or dark"):
        shot(png(), theme="sepia")
"""
    )
    status, said = run_elsewhere(tmp_path, job, "-p", "xdist", "-n", "2", "--prshots-post")
    assert status == 1, said
    assert "1 failed, 3 passed, 1 xfailed" in said
    (comment,) = github.comments(job.pr_number)
    done, comparison, *problems, warning, dashboard = lines(said)
    assert comparison == NO_BASELINES
    assert dashboard.endswith(f"/prs/{job.pr_number}")
    assert warning.startswith("cut off: the file is cut off (damaged PNG); uploading it anyway")
    assert (
        done
        == f"8 screenshots uploaded to pull request {job.pr_number}, comment created: {comment['html_url']}"
    )
    broken, gone, huge = sorted(problems)
    assert broken == "broken: is not a PNG, JPEG or WebP image"
    assert gone.startswith("gone: no screenshot: [Errno 2] No such file or directory: ")
    assert huge == "huge: is 5 MB: the service takes less than 5 MB"
    assert entries(job) == [
        "cut off 320x200",
        "failed/test_shop/test_fails 390x844",
        "from/a driver 390x844",
        "from/a path 1x2",
        "from/a picture 3x4",
        "test_shop/TestCart/test_empty 1280x800",
        "test_shop/TestCart/test_empty 320x200",
        "test_shop/test_kinds (small) 320x200",
    ]


def test_screenshots_are_uploaded_during_the_run(
    here: pytest.Pytester, job: Job, github: GitHubLookAlike
) -> None:
    here.makepyfile(
        test_pages=PICTURES
        + f"""
import time
from prshots.client import Client

class ClosedPage:
    def screenshot(self):
        raise RuntimeError("the page is closed")

@pytest.fixture
def page():
    return ClosedPage()

def test_home(shot):
    shot(png())

def test_it_is_there_before_the_end():
    with Client({job.environ["PRSHOTS_URL"]!r}, {job.token!r}) as client:
        for _ in range(1800):
            if "`test_pages/test_home`" in client.comment({job.pr_number}).markdown:
                return
            time.sleep(0.05)
    pytest.fail("not uploaded while the run went on")

def test_fails_when_the_page_has_gone(page):
    pytest.fail("on purpose")
"""
    )
    result = here.runpytest_inprocess("--prshots-post", "--tb=no")
    result.assert_outcomes(passed=2, failed=1)
    (comment,) = github.comments(job.pr_number)
    done, _, problem, _ = lines(result.stdout.str())
    uploaded = f"1 screenshot uploaded to pull request {job.pr_number}"
    assert done == f"{uploaded}, comment created: {comment['html_url']}"
    assert problem == (
        "failed/test_pages/test_fails_when_the_page_has_gone: no screenshot: the page is closed"
    )


ONE_SHOT = PICTURES + "def test_home(shot): shot(png(), 'home'); shot(png(), 'home'); shot(png(), '../up: 1')"


@pytest.mark.slow
def test_the_comment_is_updated_and_a_forge_outage_fails_only_strict_runs(
    here: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, job: Job, github: GitHubLookAlike
) -> None:
    here.makepyfile(ONE_SHOT)
    here.makeini("[pytest]\nprshots_post = true\n")
    first = here.runpytest_inprocess()
    assert "comment created: " in first.stdout.str()
    with UnreliableProxy(github.url) as front:
        front.will(refuse(502, body={"message": "Bad gateway"}), times=10)
        monkeypatch.setenv("GITHUB_API_URL", front.url)
        down = here.runpytest_inprocess()
        assert down.ret == 0
        assert lines(down.stdout.str())[:-1] == [
            f"3 screenshots uploaded to pull request {job.pr_number}, 3 of them already there",
            NO_BASELINES,
            "the comment was not posted: GitHub answered 502: Bad gateway",
        ]
        assert here.runpytest_inprocess("--prshots-strict").ret == 1
        assert here.runpytest_inprocess("--no-prshots-post", "--prshots-strict").ret == 0
    monkeypatch.setenv("GITHUB_API_URL", github.url)
    here.makepyfile(f"{ONE_SHOT}; shot(png(), 'cart')")
    again = here.runpytest_inprocess()
    (comment,) = github.comments(job.pr_number)
    assert f"comment updated: {comment['html_url']}" in again.stdout.str()
    marker, _, heading, *_ = comment["body"].splitlines()
    assert (marker, heading) == (f"<!-- svc:pr-{job.pr_number} -->", "### 3 screenshots, not compared")


THEMES = (
    PICTURES
    + """
import os

def test_home(shot):
    size = int(os.environ.get("SIZE", "20"))
    shot(png(size, 20), "home", viewport="20x20", theme="light")
    shot(png(20, 20), "home", viewport="20x20", theme="dark")

def test_cart(shot):
    shot(png(30, 30), "cart")

def test_fails_on_demand(shot):
    assert "FAIL" not in os.environ
"""
)


def test_main_uploads_baselines_and_a_pull_request_is_compared_with_them(
    here: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here.makepyfile(THEMES)
    push = tmp_path / "push.json"
    push.write_text(json.dumps({"after": SHA, "repository": {"default_branch": "main"}}))
    with monkeypatch.context() as of_main:
        of_main.setenv("GITHUB_EVENT_NAME", "push")
        of_main.setenv("GITHUB_EVENT_PATH", str(push))
        of_main.setenv("GITHUB_REF", "refs/heads/main")
        of_main.setenv("GITHUB_SHA", SHA)
        first = here.runpytest_inprocess("--prshots-post")
        assert lines(first.stdout.str()) == ["3 screenshots uploaded to the baselines of main"]
        again = here.runpytest_inprocess()
        assert lines(again.stdout.str()) == [
            "3 screenshots uploaded to the baselines of main, 3 of them already there"
        ]
    refused = here.runpytest_inprocess("--prshots-baseline", "--prshots=on")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines("*this job runs for a pull request, which never writes baselines")

    monkeypatch.setenv("SIZE", "25")
    same = here.runpytest_inprocess()
    _, comparison, note, dashboard = lines(same.stdout.str())
    assert comparison == "Compared with main at 0123456: 1 moved, 2 unchanged."
    assert note.startswith("Note: git can't find the base of 0123456: ")
    assert dashboard.startswith("dashboard: http")


@pytest.mark.parametrize(
    ("options", "removed"), [("", 1), ("-k home", 0), ("--prshots-partial", 0), ("-x", 0)]
)
def test_only_a_complete_run_removes_a_shot(
    here: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, job: Job, options: str, removed: int
) -> None:
    here.makepyfile(THEMES)
    repository = Repository.new(here.path)
    base = repository.commit()
    repository.branch("change")
    monkeypatch.setenv("PRSHOTS_COMMIT", repository.commit())
    monkeypatch.setenv("PRSHOTS_BRANCH", "main")
    if options == "-x":
        monkeypatch.setenv("FAIL", "1")
    with Client(job.environ["PRSHOTS_URL"], job.token) as client:
        old = {"name": "old", "viewport": "20x20", "content_type": "image/png"}
        client.baseline(png(), **old, commit_sha=base, branch="main")
        client.complete_baselines("main", base)
        here.runpytest_inprocess(*options.split())
        found = client.comparison(job.pr_number)
    assert found is not None
    assert found.counts["removed"] == removed
    assert found.state == ("compared" if removed else "incomplete")


def test_without_a_service_the_fixture_works_and_can_save_to_a_folder(
    here: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.makepyfile(ONE_SHOT)
    monkeypatch.setenv("PRSHOTS_PR", "none")
    refused = here.runpytest_inprocess()
    assert refused.ret == 0
    assert lines(refused.stdout.str()) == [
        "no screenshots are uploaded: PRSHOTS_PR must be a pull request's number; got 'none'"
    ]
    monkeypatch.delenv("PRSHOTS_PR")
    monkeypatch.delenv("GITHUB_EVENT_PATH")
    for silent in ((), ("--prshots=off",)):  # no pull request, as on a developer's machine
        result = here.runpytest_inprocess(*silent)
        assert (result.ret, lines(result.stdout.str())) == (0, [])
    monkeypatch.delenv("PRSHOTS_URL")
    monkeypatch.setenv("PRSHOTS_ULR", "https://shots.test")
    kept = here.runpytest_inprocess("--prshots-dir=shots")
    assert lines(kept.stdout.str()) == [
        "3 screenshots kept in shots",
        "unknown variable PRSHOTS_ULR is ignored: did you mean PRSHOTS_URL?",
    ]
    found = sorted(str(path.relative_to(here.path)) for path in here.path.rglob("*.png"))
    assert found == ["shots/_up_ 1.png", "shots/home-2.png", "shots/home.png"]

    demanded = here.runpytest_inprocess("--prshots=on")
    assert demanded.ret == pytest.ExitCode.USAGE_ERROR
    demanded.stderr.fnmatch_lines("ERROR: --prshots=on: PRSHOTS_URL is not an address*")


def test_an_unreachable_service_a_wrong_token_or_a_closed_pull_request_fails_no_test(
    here: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, job: Job
) -> None:
    here.makepyfile(ONE_SHOT)
    monkeypatch.setenv("PRSHOTS_TOKEN", "msr_" + "0" * 64)
    refused = here.runpytest_inprocess()
    assert refused.ret == 0
    (line,) = lines(refused.stdout.str())
    assert line.startswith("3 screenshots not uploaded: http://127.0.0.1:")
    assert line.endswith("refused the token: it is wrong or revoked, or belongs to another service")
    assert "msr_" not in refused.stdout.str() + refused.stderr.str()

    monkeypatch.setenv("PRSHOTS_TOKEN", job.token)
    event = Path(job.environ["GITHUB_EVENT_PATH"])
    opened = event.read_text()
    event.write_text(opened.replace('"head"', '"state": "closed", "head"', 1))
    closed = here.runpytest_inprocess("--prshots=on", "--prshots-strict")
    assert closed.ret == 0
    assert lines(closed.stdout.str()) == [f"Pull request {job.pr_number} is closed, so nothing was sent."]

    event.write_text(opened)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, but not listening
        monkeypatch.setenv("PRSHOTS_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        gone = here.runpytest_inprocess()
    assert gone.ret == 0
    (line,) = lines(gone.stdout.str())
    assert re.fullmatch(
        r"3 screenshots not uploaded: cannot connect to 127\.0\.0\.1:\d+ \(connection refused\) after 5 tries",
        line,
    )


@pytest.mark.slow
def test_ctrl_c_stops_the_run_while_an_upload_hangs(tmp_path: Path, job: Job) -> None:
    (tmp_path / "test_hangs.py").write_text(
        PICTURES + "def test_home(shot):\n    shot(png())\n    raise KeyboardInterrupt\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        job.environ["PRSHOTS_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        # Without Ctrl-C, it would wait 60 s for the reply.
        status, said = run_elsewhere(tmp_path, job, "--prshots-post")
    assert status == pytest.ExitCode.INTERRUPTED
    assert lines(said) == ["1 screenshot not uploaded: interrupted"]


def test_loading_the_plugin_imports_no_heavy_packages() -> None:
    heavy = ("httpx", "rich", "typer", "PIL", "prshots.client")
    code = f"import prshots.pytest_plugin.run, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
