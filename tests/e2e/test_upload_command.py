"""`prshots upload` and `prshots delete` from a CI job and from a terminal, against the real service."""

import contextlib
import json
import os
import pty
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from PIL import ExifTags, Image

from prshots.client import Client
from prshots.contract.statements import message
from prshots.forges import sender as sending_module
from support.clients import CLIENTS, NODE_NIGHTLY, ONLY_PYTHON, command_of, run_process, runner_of
from support.http_server import answering, as_json
from support.service import MAX_BYTES, PRSHOTS, SHA, Service
from support.unreliable_proxy import NEVER, Misbehaviour, UnreliableProxy, refuse

UPLOAD = "POST /v1/upload "
SHRUNK_TO = {"image/webp": "WebP", "image/png": "PNG"}
WRONG_TOKEN = "msr_" + "0123456789abcdef" * 4


@pytest.fixture
def env(shared_service: Service) -> dict[str, str]:
    """Return the environment of a job in an unknown CI, with a new project."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "PRSHOTS_URL": shared_service.base_url,
        "PRSHOTS_TOKEN": shared_service.new_token(),
        "PRSHOTS_COMMIT": SHA,
    }


@pytest.fixture
def front(shared_service: Service) -> Iterator[UnreliableProxy]:
    with UnreliableProxy(shared_service.base_url) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a working folder with four screenshots in `shots`."""
    for name in ("checkout/cart", "checkout/cart@390x844", "home", "settings"):
        path = tmp_path / "shots" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.effect_noise((160, 120), 40).save(path)
    return tmp_path


@pytest.fixture(params=CLIENTS)
def client_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def comment(env: dict[str, str], pr_number: int) -> str:
    with Client(env["PRSHOTS_URL"], env["PRSHOTS_TOKEN"]) as client:
        return client.comment(pr_number).markdown


def images_on(env: dict[str, str], pr_number: int) -> list[str]:
    """Return the names in the pull request's comment, in order."""
    return re.findall(r"!\[(.*?)\]\(", comment(env, pr_number))


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(params=CLIENTS)
def run(
    request: pytest.FixtureRequest, env: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run the Python command in this process: a new process takes half a second."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sending_module, "FIRST_PAUSE_SECONDS", 0.01)

    run_command = runner_of(request.param)

    def run_it(*args: str, **settings: str) -> Ran:
        done = run_command(*args, env=env | settings)
        return Ran(done.returncode, done.stdout, done.stderr)

    return run_it


class TestAsAProcess:
    def test_screenshots_are_uploaded_shown_in_the_comment_and_deleted(
        self, client_name: str, env: dict[str, str], folder: Path
    ) -> None:
        turned = Image.Exif()
        turned[ExifTags.Base.Orientation] = 6
        Image.effect_noise((160, 120), 40).save(folder / "shots" / "photo.png", "JPEG", exif=turned)
        (folder / "shots" / "broken.png").write_bytes(b"no image")
        options = ("--pr", "21", "--json")
        done = run_process(client_name, "upload", "shots", *options, env=env, cwd=folder)
        assert done.returncode == 3
        told = json.loads(done.stdout)
        assert (told["pr_number"], told["commit_sha"], told["count"]) == (21, SHA, 5)
        assert told["failed"] == [{"path": "shots/broken.png", "error": "is not a PNG, JPEG or WebP image"}]
        by_name = {(entry["name"], entry["viewport"]): entry for entry in told["uploaded"]}
        assert list(by_name) == [
            ("checkout/cart", "160x120"),
            ("checkout/cart", "390x844"),
            ("home", "160x120"),
            ("photo", "120x160"),
            ("settings", "160x120"),
        ]
        assert by_name["photo", "120x160"]["note"] == "is a JPEG, despite its extension"
        text = comment(env, 21)
        assert all(entry["view_url"] in text for entry in told["uploaded"])
        home = by_name["home", "160x120"]
        assert (
            httpx.get(home["view_url"], trust_env=False).content == (folder / "shots/home.png").read_bytes()
        )
        assert home["markdown"] == f"![home]({home['view_url']})"
        assert done.stderr.splitlines() == [
            "shots/broken.png: is not a PNG, JPEG or WebP image",
            "Uploaded 5 of 6 screenshots to pull request 21.",
            message("no_baselines", branch="main"),
            f"Dashboard: {told['dashboard_url']}",
        ]
        assert told["comparison"]["state"] == "no_baseline"

        ids = (home["id"], "0" * 32, "nonsense", told["uploaded"][0]["id"])
        deleted = run_process(client_name, "delete", *ids, env=env, cwd=folder)
        assert deleted.returncode == 1
        assert deleted.stdout == ""
        assert deleted.stderr.splitlines() == [
            f"{'0' * 32}: not found in this project",
            "nonsense: an image id is 32 hexadecimal characters: use the id of its upload",
            "Deleted 2 of 4 screenshots.",
        ]
        assert len(images_on(env, 21)) == 3
        assert env["PRSHOTS_TOKEN"] not in done.stdout + done.stderr + deleted.stderr

    @pytest.mark.slow
    def test_a_terminal_shows_a_progress_bar(
        self, env: dict[str, str], folder: Path, front: UnreliableProxy
    ) -> None:
        front.will(refuse(400, body={"error": "name required"}), when=UPLOAD)
        front.will(refuse(503), when=UPLOAD)
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [PRSHOTS, "upload", "shots", "--pr", "23"],
            env=env | {"PRSHOTS_URL": front.url, "TERM": "xterm", "COLUMNS": "100"},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # reading a closed terminal fails
                while part := os.read(ours, 65536):
                    shown += part
            os.close(ours)
            table = process.stdout.read().decode() if process.stdout else ""
        text = shown.decode()
        assert process.returncode == 3
        assert "Uploading" in text
        assert "4/4" in text
        assert "\x1b[?25h" in text  # shows the cursor again
        assert "[1/4]" not in text
        assert "answered 400: name required" in text
        assert f"{front.url.removeprefix('http://')} answered 503; retrying in" in text
        assert "\x1b" not in table
        assert table.count("uploaded") == 3

    @pytest.mark.slow
    def test_ctrl_c_stops_immediately(
        self, client_name: str, env: dict[str, str], folder: Path, front: UnreliableProxy
    ) -> None:
        front.will(refuse(400, body={"error": "name required"}), when=UPLOAD)
        front.will(refuse(429, {"Retry-After": "200"}), when=UPLOAD)
        front.will(NEVER, when=UPLOAD, times=3)
        with subprocess.Popen(
            [*command_of(client_name), "upload", "shots", "--pr", "24", "--jobs", "3"],
            env=env | {"PRSHOTS_URL": front.url},
            cwd=folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            first = [process.stderr.readline(), process.stderr.readline()]
            assert sum("answered 400: name required" in line for line in first) == 1
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=90)  # it does not wait for the uploads
        assert process.returncode == 130
        assert out == ""
        assert err == "Interrupted: 1 of 4 screenshots processed.\n"


class TestLimits:
    """The service's limit applies, not the default of 5 MB."""

    @staticmethod
    def limit(front: UnreliableProxy, max_image_bytes: int) -> None:
        limits = {"max_image_bytes": max_image_bytes, "uploads_per_minute": 120, "max_name_characters": 200}
        front.will(refuse(200, body=limits), when="GET /v1/limits")

    @staticmethod
    def enlarge(path: Path) -> None:
        path.write_bytes(path.read_bytes() + bytes(6 * 1024**2))

    def test_a_smaller_limit_refuses_an_image_unless_it_is_shrunk(
        self, run: Any, folder: Path, front: UnreliableProxy
    ) -> None:
        noise = Image.frombytes("RGB", (100, 100), secrets.token_bytes(30_000))
        noise.save(folder / "shots" / "noisy.png")
        options = ("--pr", "1", "--no-compare")
        self.limit(front, 24_576)
        ran = run("upload", "shots/noisy.png", "shots/home.png", *options, PRSHOTS_URL=front.url)
        assert ran.code == 3
        assert ran.err.splitlines()[0] == "shots/noisy.png: is 29 KB: the service takes less than 24 KB"
        assert ran.err.splitlines()[-3:-1] == [
            "To recompress images that are too large, use --shrink.",
            "Uploaded 1 of 2 screenshots to pull request 1.",
        ]
        self.limit(front, 24_576)
        shrink = ("--shrink", "--json")
        ran = run("upload", "shots/noisy.png", *options, *shrink, PRSHOTS_URL=front.url)
        assert ran.code == 0
        [shrunk] = json.loads(ran.out)["uploaded"]
        shown = httpx.get(shrunk["view_url"], trust_env=False)
        assert len(shown.content) < 24_576
        as_kind = SHRUNK_TO[shown.headers["content-type"]]
        assert re.fullmatch(rf"shrunk from 29 KB to [\d.]+ KB as {as_kind}", shrunk["note"])

    def test_a_larger_limit_accepts_an_image_over_5_mb(
        self, run: Any, folder: Path, front: UnreliableProxy
    ) -> None:
        self.enlarge(folder / "shots" / "home.png")
        self.limit(front, 8_000_000)
        stored = {"id": "0" * 32, "view_url": "http://x/i", "markdown": "![x](http://x/i)"}
        front.will(refuse(200, body=stored), when=UPLOAD)
        options = ("--pr", "1", "--no-compare", "--shrink", "--json")
        ran = run("upload", "shots/home.png", *options, PRSHOTS_URL=front.url)
        assert (ran.code, json.loads(ran.out)["uploaded"][0]["note"]) == (0, "")

    def test_a_dry_run_only_warns(self, run: Any, folder: Path) -> None:
        self.enlarge(folder / "shots" / "home.png")
        ran = run("upload", "shots/home.png", "--pr", "1", "--dry-run", PRSHOTS_URL="")
        assert ran.code == 0
        assert "warning: is 6 MB, over the default limit of 5 MB; --shrink makes it fit" in ran.out
        ran = run("upload", "shots/home.png", "--pr", "1", "--dry-run", "--shrink", PRSHOTS_URL="")
        assert "would be shrunk below the service's limit (default 5 MB)" in ran.out


def test_nothing_is_sent_for_a_closed_pull_request(run: Any, front: UnreliableProxy, tmp_path: Path) -> None:
    event, pull = tmp_path / "event.json", {"number": 12, "state": "closed"}
    ci = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "octo/app",
        "GITHUB_TOKEN": "ghs_1",
        "GITHUB_API_URL": front.url,
        "PRSHOTS_URL": front.url,
    }
    for command, said in (
        (["upload", "none.png"], {"action": "labeled", "pull_request": pull | {"merged": True}}),
        (["compare"], {"action": "created", "issue": pull | {"pull_request": {"url": "…"}}}),
        (["comment", "--post"], {"action": "closed", "pull_request": pull}),
    ):
        event.write_text(json.dumps(said))
        assert run(*command, **ci) == (0, "", "Pull request 12 is closed, so nothing was sent.\n")
    assert front.seen == []
    assert run("expire", **ci).code == 0
    run("upload", "shots/home.png", "--pr", "13", **ci)  # another pull request
    assert [front.count(route) for route in ("POST /v1/expire", UPLOAD)] == [1, 1]


def test_events_without_the_facts_of_a_pull_request_compare_with_its_target_and_complete_nothing(
    run: Any, front: UnreliableProxy, tmp_path: Path
) -> None:
    event, full_name = tmp_path / "event.json", {"full_name": "octo/app"}
    pull = {"number": 12, "state": "open", "head": {"sha": SHA}, "base": {"ref": "release/2"}}
    with answering(lambda *_: as_json(200, pull)) as forge:
        ci = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "octo/app",
            "GITHUB_TOKEN": "ghs_1",
            "GITHUB_API_URL": forge,
            "PRSHOTS_COMMIT": "",
            "PRSHOTS_URL": front.url,
        }
        event.write_text(json.dumps({"issue": {"number": 12, "pull_request": {"url": "…"}}}))
        ran = run("upload", "shots", **ci)
    assert "Nothing to compare with: release/2 has no baselines yet." in ran.err
    said = {"head_sha": SHA, "event": "push", "head_branch": "main", "head_repository": full_name}
    for conclusion, completes in (("failure", 0), ("success", 1)):
        of_main = {
            "repository": full_name | {"default_branch": "main"},
            "workflow_run": said | {"conclusion": conclusion},
        }
        event.write_text(json.dumps(of_main))
        ran = run("upload", "shots", **ci)
        assert (ran.code, "the workflow run did not succeed" in ran.err) == (0, not completes)
        assert front.count("POST /v1/baseline/complete") == completes


class TestOutput:
    def test_github_output_has_count_urls_and_markdown(self, run: Any, env: dict[str, str]) -> None:
        ran = run("upload", "shots/home.png", "shots/settings.png", "--pr", "31", "--format", "github-output")
        assert ran.code == 0
        count, dashboard, comparison, *lines = ran.out.splitlines()
        assert (count, comparison) == ("count=2", "comparison=no_baseline")
        assert re.fullmatch(r"dashboard-url=http://\S+/prs/31", dashboard)
        lines = [line for line in lines if not line.endswith("=0")]  # the number of each verdict
        end = lines[0].removeprefix("urls<<")
        assert re.fullmatch(r"end_[0-9a-f]{32}", end)
        assert lines[3:5] == [end, f"markdown<<{end}"]
        assert lines[7:] == [end]
        assert lines[5:7] == [
            f"![shots/{name}]({url})" for name, url in zip(("home", "settings"), lines[1:3], strict=True)
        ]
        assert sorted(images_on(env, 31)) == ["shots/home", "shots/settings"]

    def test_markdown_uses_the_name_option(self, run: Any) -> None:
        ran = run("upload", "shots/home.png", "--name", "Home, signed in", "--viewport", "9x9", "--pr", "32",
                  "--format", "markdown")  # fmt: skip
        assert re.fullmatch(r"!\[Home, signed in\]\(http://\S+\)\n", ran.out)
        assert "Uploaded 1 of 1 screenshots to pull request 32." in ran.err

    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_many_screenshots_print_neither_a_line_nor_a_row_each(self, run: Any, folder: Path) -> None:
        picture = (folder / "shots" / "home.png").read_bytes()
        for number in range(21):
            (folder / "shots" / f"many-{number}.png").write_bytes(picture)
        (folder / "shots" / "bad.png").write_bytes(b"")
        ran = run("upload", "shots", "--pr", "36", "--no-compare")
        assert (ran.code, ran.out) == (3, "")
        failure, summary, dashboard = ran.err.splitlines()
        assert failure == "shots/bad.png: is empty"
        assert summary == "Uploaded 25 of 26 screenshots to pull request 36."
        assert dashboard.startswith("Dashboard: ")

        ran = run("upload", "shots", "--pr", "36", "--no-compare", "--json", "-q")
        assert (ran.code, ran.err) == (3, "shots/bad.png: is empty\n")
        assert json.loads(ran.out)["count"] == 25
        (folder / "shots" / "large.png").write_bytes(picture + bytes(MAX_BYTES))
        ran = run("upload", "shots/large.png", "shots/many*", "shots/bad.png", "--pr", "36", "--dry-run")
        assert (ran.code, ran.out) == (3, "")
        assert "shots/large.png: warning: is " in ran.err
        assert "22 would be uploaded" in ran.err
        assert "To list them, use --json." in ran.err

    def test_quiet_prints_only_failures_and_the_chosen_format(self, run: Any, folder: Path) -> None:
        assert run("upload", "shots", "--pr", "37", "--quiet", PRSHOTS_TOKN="x") == Ran(0, "", "")
        ran = run("upload", "shots", "--pr", "37", "-q", "--format", "table")
        assert (ran.code, ran.out.count("already there"), ran.err) == (0, 4, "")
        (folder / "shots" / "bad.png").write_bytes(b"")
        assert run("upload", "shots", "--pr", "37", "-q") == Ran(3, "", "shots/bad.png: is empty\n")
        ran = run("upload", "shots/home.png", "--pr", "37")  # the next run is not quiet
        assert "Uploaded 1 of 1 screenshots" in ran.err

    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_a_damaged_file_is_uploaded_with_a_warning(self, run: Any, folder: Path) -> None:
        damaged = folder / "shots" / "home.png"
        damaged.write_bytes(damaged.read_bytes()[:2000])
        for option in ("--dry-run", "--allow-empty"):
            ran = run("upload", "shots", "--pr", "35", option)
            assert ran.code == 0
            warning = "shots/home.png: the file is cut off (damaged PNG); uploading it anyway. Take the screenshot again"
            assert [line for line in ran.err.splitlines() if "damaged" in line] == [warning]
        assert "Uploaded 4 of 4 screenshots" in ran.err

    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_file_names_are_not_commands_to_a_terminal_or_a_log(self, run: Any, folder: Path) -> None:
        odd = "a\n::error::b\x1b[2J"
        (folder / "shots" / "home.png").rename(folder / f"{odd}.png")
        (folder / "x\n.png").write_bytes(b"")
        for command in ("::set-output name=x::y.png", "##vso[task.complete].png"):
            (folder / command).write_bytes((folder / f"{odd}.png").read_bytes())
            (folder / f"shots/{command}").write_bytes(b"")
        for output_format in ("json", "markdown", "table"):
            ran = run("upload", ".", "*/*.png", "--pr", "33", "--format", output_format)
            assert "##vso[" not in ran.out + ran.err
            assert not any(
                line.strip().startswith("::") for line in [*ran.out.splitlines(), *ran.err.splitlines()]
            )
        assert ran.code == 3
        assert r"a\n::error::b\x1b[2J" in ran.out
        assert r"x\n.png: is empty" in ran.err
        assert "\x1b" not in ran.out + ran.err

    def test_a_dry_run_sends_nothing_and_names_what_a_real_upload_still_needs(self, run: Any) -> None:
        nobody = {"PRSHOTS_URL": "http://127.0.0.1:9", "PRSHOTS_TOKEN": "", "PRSHOTS_COMMIT": ""}
        printed = {}
        for output_format in ("table", "json", "markdown"):
            ran = run("upload", "shots", "--dry-run", "--pr", "3", "--format", output_format, **nobody)
            assert ran.code == 0
            assert "Dry run: 4 would be uploaded to pull request 3" in ran.err
            printed[output_format] = ran.out
        assert printed["table"].count("would be uploaded") == 4
        assert "http" not in printed["markdown"]
        told = json.loads(printed["json"])
        assert (told["uploaded"], told["failed"], told["count"], told["pr_number"]) == ([], [], 0, 3)
        assert told["would_upload"][0] == {
            "path": "shots/checkout/cart.png", "name": "checkout/cart", "viewport": "160x120", "note": ""
        }  # fmt: skip
        ran = run("upload", "shots", "--dry-run")
        assert ran.code == 0
        assert "A real upload also needs this: no pull request" in ran.err


class TestExitCodes:
    def test_exits_1_without_valid_screenshots_but_0_with_allow_empty(self, run: Any, folder: Path) -> None:
        ran = run("upload", "nowhere", "shots/*.webp", "--pr", "1")
        assert (ran.code, ran.out) == (1, "")
        assert f"no screenshots found: no PNG, JPEG or WebP at nowhere, shots/*.webp in {folder}" in ran.err
        ran = run("upload", "nowhere", "shots/*.webp", "--allow-empty", "--json", PRSHOTS_TOKEN="")
        assert (ran.code, json.loads(ran.out)["count"]) == (0, 0)
        (folder / "bad.png").write_bytes(b"")
        ran = run("upload", "bad.png", "--pr", "1")
        assert ran == Ran(1, "", "bad.png: is empty\nNo screenshots to upload.\n")

    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_exits_3_if_one_path_is_missing_but_0_with_allow_empty(self, run: Any) -> None:
        ran = run("upload", "shots/home.png", "nowhere.png", "--pr", "34")
        assert ran.code == 3
        assert "nowhere.png: no such file or folder" in ran.err
        assert run("upload", "shots/home.png", "nowhere.png", "--pr", "34", "--allow-empty").code == 0

    def test_an_error_that_stops_every_upload_is_printed_once(
        self, run: Any, env: dict[str, str], front: UnreliableProxy
    ) -> None:
        ran = run("upload", "shots", "--pr", "1", "--jobs", "4", PRSHOTS_TOKEN=WRONG_TOKEN)
        assert (ran.code, ran.out) == (1, "")
        refused, summary = ran.err.splitlines()
        assert refused == (
            f"{env['PRSHOTS_URL']} refused the token: it is wrong or revoked, or belongs to another service"
        )
        assert summary.startswith("Uploaded 0 of 4 screenshots to pull request 1.")
        front.will(Misbehaviour(404, body=b"<html>"), times=9)
        ran = run("upload", "shots", "--pr", "1", PRSHOTS_URL=front.url)
        wrong, _ = ran.err.splitlines()
        assert wrong == f"{front.url} answered 404 Not Found: is this the address of a prshots service?"
        ran = run("delete", "0" * 32, PRSHOTS_TOKEN=WRONG_TOKEN)
        assert (ran.code, ran.err.startswith("prshots: ")) == (1, True)
        assert WRONG_TOKEN[4:] not in ran.err

    def test_an_image_that_a_proxy_finds_too_large_does_not_stop_the_others(
        self, run: Any, front: UnreliableProxy
    ) -> None:
        front.will(Misbehaviour(413, {"Content-Type": "text/html"}, b"<html>413</html>"), when=UPLOAD)
        ran = run("upload", "shots", "--pr", "36", "--jobs", "1", PRSHOTS_URL=front.url)
        refused, summary, *_ = ran.err.splitlines()
        assert refused == (
            f"shots/checkout/cart.png: a proxy in front of {front.url} refused it for its size (413): raise "
            "the proxy's limit, such as client_max_body_size in nginx"
        )
        assert summary == "Uploaded 3 of 4 screenshots to pull request 36."
        assert ran.code == 3

    def test_a_reached_quota_is_not_retried_and_the_error_says_what_frees_space(
        self, run: Any, shared_service: Service
    ) -> None:
        name = f"limited-{secrets.token_hex(4)}"
        token = shared_service.new_token(name)
        shared_service.run("quota", "set", "--project", name, "100")
        ran = run("upload", "shots", "--pr", "38", "--jobs", "1", PRSHOTS_TOKEN=token)
        assert ran.code == 1
        assert "retrying" not in ran.err
        assert ran.err.splitlines()[0] == (
            f"shots/checkout/cart.png: {shared_service.base_url} answered 507: storage quota reached. Close pull "
            "requests, shorten the retention, delete images or keep fewer baselines, or ask the operator for a "
            "larger quota"
        )

    def test_a_redirect_to_a_sign_in_page_names_the_proxy_in_front(
        self, run: Any, front: UnreliableProxy
    ) -> None:
        location = {"Location": f"{front.url}/oauth2/start?rd=%2Fv1%2Fupload&state=s3cret"}
        front.will(refuse(302, location), times=9)
        ran = run("upload", "shots", "--pr", "1", "--jobs", "1", PRSHOTS_URL=front.url)
        assert ran.err.splitlines()[0] == (
            f"{front.url} redirects to {front.url}/oauth2/start: a sign-in proxy seems to be in front of it. "
            "Let requests to /v1/ pass without a sign-in, or set --url (PRSHOTS_URL) to an address that "
            "needs none"
        )
        assert ran.code == 1

    def test_the_timeout_ends_a_command_that_gets_no_reply(self, run: Any, front: UnreliableProxy) -> None:
        front.will(NEVER, when="POST", times=9)
        ran = run("upload", "shots", "--pr", "1", "--timeout", "1", PRSHOTS_URL=front.url)
        host = front.url.removeprefix("http://")
        gave_up, summary = ran.err.splitlines()
        assert gave_up == (
            f"no answer from {host} (timed out); gave up, because waiting would exceed "
            "--timeout (PRSHOTS_TIMEOUT)"
        )
        assert summary == "Uploaded 0 of 4 screenshots to pull request 1. 3 not tried."
        assert (ran.code, front.count("POST")) == (1, 1)  # no retry
        front.will(refuse(429, {"Retry-After": "61"}), when="DELETE")
        ran = run("delete", "0" * 32, PRSHOTS_URL=front.url, PRSHOTS_TIMEOUT="60")
        assert (ran.code, "limits the rate; gave up, because" in ran.err) == (1, True)
        ran = run("delete", "0" * 32, PRSHOTS_TIMEOUT="soon")
        assert (ran.code, "TIMEOUT" in ran.err.upper()) == (2, True)

    @pytest.mark.parametrize(
        "wrong",
        [
            [],
            ["shots", "--name", "x"],
            ["shots", "--viewport", "big"],
            ["shots", "--jobs", "0"],
            ["shots", "--pr", "0"],
            ["shots", "--commit", "HEAD"],
            ["shots", "--format", "xml"],
        ],
        ids=lambda wrong: " ".join(wrong[1:]) or "no path",
    )
    @pytest.mark.parametrize("run", ONLY_PYTHON, indirect=True)  # the Node client's are in cli.test.js
    def test_exits_2_for_invalid_arguments(self, run: Any, wrong: list[str]) -> None:
        ran = run("upload", *wrong)
        assert (ran.code, ran.out) == (2, "")

    @pytest.mark.parametrize(
        ("args", "settings", "words"),
        [
            (["upload", "shots"], {}, "no pull request: no supported CI detected."),
            (["compare"], {}, "no pull request"),
            (["comment"], {}, "no pull request"),
            (["expire"], {}, "no pull request"),
            (["upload", "shots", "--pr", "1"], {"PRSHOTS_COMMIT": ""}, "no commit"),
            (["upload", "shots", "--pr", "1"], {"PRSHOTS_URL": ""}, "no service URL"),
            (["upload", "shots", "--pr", "1"], {"PRSHOTS_TOKEN": ""}, "no upload token"),
            (["upload", "shots", "--pr", "1"], {"PRSHOTS_TOKEN": f"{WRONG_TOKEN}é"}, "token"),
            (["compare", "--pr", "1"], {"PRSHOTS_URL": "localhost:80"}, "did you mean http://localhost:80?"),
            (["delete", "0" * 32], {"PRSHOTS_URL": "ftp://x"}, "is not an address: got 'ftp://x'"),
            (["comment", "--pr", "1", "--post"], {}, "no forge detected"),
            (["upload", "shots", "--baseline", "--pr", "1"], {}, "--baseline is for jobs on a branch"),
            (["comment", "--pr", "1", "--template", "nowhere.md"], {}, "cannot read the template"),
        ],
    )
    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_exits_2_for_missing_and_invalid_settings(
        self, run: Any, args: list[str], settings: dict[str, str], words: str
    ) -> None:
        ran = run(*args, **settings)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("prshots: ")
        assert words in ran.err
        assert len(ran.err.splitlines()) == 1
        assert WRONG_TOKEN[4:] not in ran.err

    @pytest.mark.parametrize("run", NODE_NIGHTLY, indirect=True)
    def test_the_image_address_says_what_was_meant(self, run: Any, shared_service: Service) -> None:
        url = shared_service.img_url
        said = f"prshots: {url} is the image address of a prshots service: set --url (PRSHOTS_URL) to the address"
        for args in (("upload", "shots"), ("comment",)):
            ran = run(*args, "--pr", "1", PRSHOTS_URL=url)
            assert ran == Ran(2, "", f"{said} of its API or its dashboard\n")

    @pytest.mark.parametrize("run", ONLY_PYTHON, indirect=True)
    def test_exits_2_for_shrink_without_pillow(self, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "PIL", None)
        ran = run("upload", "shots", "--pr", "1", "--shrink")
        assert (ran.code, ran.err) == (2, "prshots: --shrink needs Pillow: pip install 'prshots[shrink]'\n")
