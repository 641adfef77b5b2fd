"""`prshots compare`, and the other commands with baselines and comparisons, against the real service."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prshots.client import compare
from support.clients import CLIENTS, NODE_NIGHTLY, ONLY_PYTHON, Run, runner_outside_ci
from support.compared_shop import draw
from support.service import SHA, Service, upload
from support.unreliable_proxy import UnreliableProxy, refuse

MAIN = "1" * 40


@pytest.fixture
def bodies() -> list[tuple[str, bytes]]:
    """Collect the requests and their bodies."""
    return []


@pytest.fixture
def front(shared_service: Service, bodies: list[tuple[str, bytes]]) -> Iterator[UnreliableProxy]:
    with UnreliableProxy(shared_service.base_url, lambda *request: bodies.append(request)) as running:
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
    token = shared_service.new_token()
    return runner_outside_ci(request.param, tmp_path, monkeypatch, front.url, token, PRSHOTS_COMMIT=SHA)


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    for name in ("cart@160x120.dark", "cart@160x120.light", "home"):
        draw(tmp_path / "shots" / f"{name}.png", 1)
    return tmp_path / "shots"


def running(pr_number: int = 7, **changed: object) -> dict[str, object]:
    about = {"pr_number": pr_number, "commit_sha": SHA, "branch": "main", "base_commit": None}
    return about | {"state": "running", "counts": {}, "shots": [], "dashboard_url": "http://d"} | changed


def verdicts(*, ancestor: bool = True, **counts: int) -> dict[str, object]:
    """Return a comparison with that many shots of each verdict."""
    common = {"viewport": "9x9", "theme": "", "pixels": 3, "shift": 0, "regions": []}
    urls = {"view_url": None, "before_url": None, "diff_url": None}
    shots = [
        common
        | urls
        | {"name": f"{verdict}-{number}", "verdict": verdict, "base_commit": MAIN, "ancestor": ancestor}
        | {"reason": "damaged" if verdict == "failed" else ""}
        for verdict, count in counts.items()
        for number in range(count)
    ]
    return running(state="compared", counts=counts, shots=shots, base_commit=MAIN)


class TestOutput:
    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_a_table_has_at_most_20_rows(self, run: Run, front: UnreliableProxy) -> None:
        for counts, rows in (
            ({"changed": 19, "unchanged": 1}, 20),
            ({"changed": 19, "unchanged": 2}, 19),
            ({"changed": 21}, 0),
        ):
            front.will(refuse(200, body=verdicts(**counts)), when="POST /v1/compare")
            done = run("compare", "--pr", "7")
            assert len(done.stdout.splitlines()[1:]) == rows
            assert f"Compared with main at 1111111: {counts['changed']} changed" in done.stderr

    def test_a_failure_is_printed_once_even_if_quiet(self, run: Run, front: UnreliableProxy) -> None:
        front.will(refuse(200, body=verdicts(changed=1, failed=1)), when="POST /v1/compare", times=4)
        done = run("compare", "--pr", "7")
        assert (done.stdout + done.stderr).count("failed-0") == 1
        assert "failed-0 9x9: not compared: damaged" in done.stderr.splitlines()
        done = run("compare", "--pr", "7", "--quiet")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "failed-0 9x9: not compared: damaged\n"
        done = run("compare", "--pr", "7", "-q", "--json", "--fail-on", "changed")
        assert (done.returncode, len(json.loads(done.stdout)["shots"])) == (4, 2)
        assert done.stderr.splitlines()[1:] == ["1 shot matched --fail-on changed."]
        assert len(run("compare", "--pr", "7", "-q", "--format", "table").stdout.splitlines()) == 2

    @pytest.mark.parametrize(
        ("found", "code", "words"),
        [
            (
                verdicts(changed=120, ancestor=False),
                4,
                "120 shots matched --fail-on changed.",
            ),
            (
                running(state="incomplete"),
                1,
                "--fail-on changed can't pass: commit 0123456 has no screenshots.",
            ),
            (verdicts(removed=2), 1, "--fail-on changed can't pass: commit 0123456 has no screenshots."),
            (running(state="no_baseline"), 0, ""),
        ],
        ids=["no ancestor", "no images", "only removed", "no baseline"],
    )
    def test_fail_on_counts_every_base_and_prints_its_result_once(
        self, run: Run, front: UnreliableProxy, found: dict[str, object], code: int, words: str
    ) -> None:
        front.will(refuse(200, body=found), when="POST /v1/compare")
        done = run("compare", "--pr", "7", "--fail-on", "changed", "--quiet", "--format", "json")
        assert (done.returncode, json.loads(done.stdout)) == (code, found)
        assert (done.stderr.count("--fail-on"), words in done.stderr) == (bool(words), True), done.stderr


def test_an_image_is_compared_with_the_before_image_of_its_upload(
    run: Run, shared_service: Service, shots: Path
) -> None:
    token = shared_service.new_token()
    before = (shots / "home.png").read_bytes()
    draw(shots / "home.png", 2)
    after = (shots / "home.png").read_bytes()
    with shared_service.client(token) as client:
        upload(client, after, before=before, name="home", viewport="160x120").raise_for_status()
    done = run("compare", "--pr", "7", "--branch", "main", "--fail-on", "changed", PRSHOTS_TOKEN=token)
    assert done.returncode == 4
    assert "home 160x120 changed (own before image) " in " ".join(done.stdout.split())
    assert "Compared with its own before image: 1 changed." in done.stderr


def test_compare_prints_a_table_and_the_comment_shows_the_changes(run: Run, shots: Path) -> None:
    uploaded = run("upload", "shots", "--baseline", "--branch", "main", "--commit", MAIN)
    assert uploaded.returncode == 0, uploaded.stderr
    draw(shots / "cart@160x120.dark.png", 2)
    assert run("upload", "shots", "--pr", "7").returncode == 0
    done = run("compare", "--pr", "7")
    assert done.returncode == 0
    cells = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert cells[0] == "NAME VIEWPORT THEME VERDICT PIXELS"
    assert cells[1].startswith("cart 160x120 dark changed (since the newest baseline) ")
    assert cells[2:] == [
        "cart 160x120 light unchanged (since the newest baseline) -",
        "home 160x120 - unchanged (since the newest baseline) -",
    ]
    assert "Compared with main at 1111111: 1 changed, 2 unchanged." in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Dashboard: http")

    changes = run("comment", "--pr", "7")
    assert "### 3 screenshots: 1 changed, 2 unchanged" in changes.stdout
    assert changes.stdout == run("comment", "--pr", "7", "--view", "changes").stdout
    page = changes.stderr.splitlines()[-1].removeprefix("Dashboard: ")
    assert page.endswith("/prs/7")
    latest = run("comment", "--pr", "7", "--view", "latest").stdout
    assert latest.splitlines()[2] == "### 3 screenshots"
    everything = run("comment", "--pr", "7", "--view", "all").stdout
    assert everything.count("![") == 1  # the service had the other two
    assert run("upload", "shots", "--pr", "8", "--no-compare").returncode == 0
    assert run("comment", "--pr", "8").stdout.splitlines()[2] == "### 3 screenshots"
    assert run("comment", "--pr", "8", "--view", "newest").returncode == 2

    template = shots.parent / "around.md"
    template.write_text("{{screenshots}}\n\n[All of them]({{dashboard_url}})\n")
    around = run("comment", "--pr", "7", "--template", str(template)).stdout
    assert around.endswith(f"\n\n[All of them]({page})\n")


@pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
def test_an_unknown_verdict_and_an_invalid_branch_are_refused(run: Run) -> None:
    done = run("compare", "--pr", "7", "--fail-on", "changed, broken")
    assert done.returncode == 2
    assert "'broken'" in done.stderr
    assert "changed, moved, new, removed, failed" in " ".join(done.stderr.replace("│", "").split())
    for branch in ("--upload-pack=x", "a..b"):
        assert run("compare", "--pr", "7", f"--branch={branch}").returncode == 2


@pytest.mark.parametrize("run", ONLY_PYTHON, indirect=True)
class TestWaiting:
    @pytest.fixture(autouse=True)
    def fast(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(compare, "POLL_SECONDS", 0.01)
        monkeypatch.setattr(compare, "TELL_SECONDS", 0.0)

    def test_asks_again_until_the_result_is_final(self, run: Run, front: UnreliableProxy) -> None:
        front.will(refuse(202, body=running()), when="POST /v1/compare")
        front.will(refuse(200, body=running()), when="GET /v1/compare", times=2)
        front.will(refuse(200, body=running(state="compared")), when="GET /v1/compare")
        done = run("compare", "--pr", "7")
        assert done.returncode == 0
        assert done.stderr.count("Still comparing after") == 3
        assert front.seen.count("GET /v1/compare?pr_number=7") == 3

    @pytest.mark.parametrize(
        ("later", "words"),
        [
            (running(state="failed"), "The comparison with main failed. Run prshots compare again."),
            (running(commit_sha="9" * 40), "was replaced: the latest one is of commit 9999999"),
            ({"state": "running"}, "answered without 'counts'"),
        ],
    )
    def test_fails_without_a_result(
        self, run: Run, front: UnreliableProxy, later: dict[str, object], words: str
    ) -> None:
        front.will(refuse(202, body=running()), when="POST /v1/compare")
        front.will(refuse(200, body=later), when="GET /v1/compare")
        done = run("compare", "--pr", "7")
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr

    def test_gives_up_after_a_while(
        self, run: Run, front: UnreliableProxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compare, "WAIT_SECONDS", -1.0)
        front.will(refuse(202, body=running()), when="POST /v1/compare")
        done = run("compare", "--pr", "7")
        assert done.returncode == 1
        assert "run prshots compare again" in done.stderr


@pytest.mark.usefixtures("shots")
@pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
def test_images_deleted_at_the_same_moment_are_only_a_warning(run: Run, front: UnreliableProxy) -> None:
    front.will(refuse(404, body={"error": "not found"}), when="POST /v1/pull")
    done = run("upload", "shots", "--pr", "7", "--json")
    assert done.returncode == 0
    assert done.stderr.splitlines()[-2:] == [
        "Uploaded 3 of 3 screenshots to pull request 7.",
        f"Warning: not compared: {front.url} answered 404: not found.",
    ]
    told = json.loads(done.stdout)
    assert (told["comparison"], told["dashboard_url"]) == (None, None)


def test_only_baselines_that_the_service_does_not_have_are_sent(
    run: Run, shots: Path, front: UnreliableProxy, bodies: list[tuple[str, bytes]]
) -> None:
    options = ("upload", "shots", "--baseline", "--branch", "main", "--commit")
    assert run(*options, MAIN).returncode == 0
    assert front.seen.count("POST /v1/baseline") == 3
    draw(shots / "home.png", 5)
    done = run(*options, "2" * 40, "--json")
    assert front.seen.count("POST /v1/baseline") == 4
    assert front.seen[-1] == "POST /v1/baseline/complete"
    told = json.loads(done.stdout)
    assert (told["baseline_of"], told["count"], told["pr_number"]) == ("main", 3, None)
    uploaded = "Uploaded 3 of 3 screenshots to the baselines of main, 2 of them already there."
    assert done.stderr.splitlines()[-1] == uploaded
    asked = [json.loads(body) for request, body in bodies if request.endswith("/known")]
    assert {(shot["name"], shot["theme"]) for shot in asked[0]["shots"]} == {
        ("cart", "dark"),
        ("cart", "light"),
        ("home", ""),
    }

    front.seen.clear()
    (shots / "broken.png").write_bytes(b"no image")
    assert run(*options, "3" * 40).returncode == 3
    assert run(*options, "4" * 40, "--partial", "--allow-empty").returncode == 3
    assert "POST /v1/baseline/complete" not in front.seen

    on_main = {"BUILDKITE": "true", "BUILDKITE_BRANCH": "main", "BUILDKITE_PULL_REQUEST": "false"}
    for as_json in (["--json"], ["--format", "json"]):
        done = run("compare", *as_json, PRSHOTS_COMMIT=MAIN, **on_main)
        assert (done.returncode, done.stdout) == (0, "null\n")


def test_a_baseline_needs_a_branch_and_the_whole_commit(run: Run, shots: Path) -> None:
    assert shots.exists()
    assert "no branch for the baselines" in run("upload", "shots", "--baseline").stderr
    done = run("upload", "shots", "--baseline", "--branch", "main", "--commit", "abc1234")
    assert (done.returncode, "git doesn't know abc1234" in done.stderr) == (2, True)
    dry = run("upload", "shots", "--baseline", "--branch", "main", "--dry-run")
    assert "Dry run: 3 would be uploaded to the baselines of main, commit 0123456." in dry.stderr
    assert "light" in dry.stdout


def test_the_service_gets_a_description_of_the_pull_request(
    run: Run, shots: Path, tmp_path: Path, bodies: list[tuple[str, bytes]]
) -> None:
    assert shots.exists()
    pull: dict[str, Any] = {
        "number": 7,
        "title": "Add a cart",
        "user": {"login": "ann"},
        "head": {"sha": SHA, "ref": "cart", "repo": {"full_name": "octo/shop"}},
        "base": {"ref": "main", "repo": {"full_name": "octo/shop"}},
    }
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"action": "opened", "pull_request": pull}))
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "octo/shop",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
    }
    assert run("upload", "shots", **github).returncode == 0
    [told] = [json.loads(body) for request, body in bodies if request == "POST /v1/pull"]
    assert told == {
        "pr_number": 7,
        "repository": "https://github.com/octo/shop",
        "url": "https://github.com/octo/shop/pull/7",
        "title": "Add a cart",
        "source_branch": "cart",
        "author": "ann",
    }
    bodies.clear()
    pull |= {"merged": True, "merge_commit_sha": MAIN}
    event.write_text(json.dumps({"action": "closed", "pull_request": pull}))
    assert run("expire", **github).returncode == 0
    assert run("expire", "--merged-as", "2" * 40, "--branch", "release", **github).returncode == 0
    assert run("expire", "--pr", "8", **github).returncode == 0
    assert [json.loads(body) for request, body in bodies if request == "POST /v1/expire"] == [
        {"pr_number": 7, "merged_as": MAIN, "branch": "main"},
        {"pr_number": 7, "merged_as": "2" * 40, "branch": "release"},
        {"pr_number": 8},
    ]
    assert run("expire", "--merged-as", "abc1234", **github).returncode == 2
