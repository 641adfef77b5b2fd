"""Cases where comparing with main is hard, each with real git and the real service."""

import re
from pathlib import Path

import pytest

from prshots.contract.statements import statements
from support.clients import CLIENTS, NODE_NIGHTLY, runner_of
from support.compared_shop import Shop, draw
from support.deploy_checkers import ROOT
from support.git_repositories import Repository
from support.service import Service

pytestmark = pytest.mark.slow

BOTH_CLIENTS = pytest.mark.parametrize("shop", CLIENTS, indirect=True)


@pytest.fixture(params=NODE_NIGHTLY)
def shop(
    request: pytest.FixtureRequest,
    shared_service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Shop:
    """Make a shop with one commit on main, which CI has not built yet."""
    work = Repository.with_remote(tmp_path / "git")
    work.commit("First")
    work.push("main")
    run = runner_of(request.param)
    return Shop(tmp_path, shared_service, shared_service.new_token(), monkeypatch, work, run)


@pytest.fixture
def work(shop: Shop) -> Repository:
    return shop.work


@BOTH_CLIENTS
def test_every_suggested_command_works(shop: Shop, work: Repository) -> None:
    """Those of messages in the pull request's job, and those of the dashboard in a terminal on main."""
    main = work.head
    work.branch("change")
    head = work.commit()
    found = shop.pull(1, head, {"home": 2})  # runs prshots compare
    assert (found.code, found.state) == (0, "no_baseline")
    in_messages = {
        said[1]
        for text in statements()["messages"].values()
        if (said := re.search(r"(?:[Rr]un|see) {?(prshots [^.}]+)}?(?: again)?\.?$", text))
    }
    upload = "prshots upload --baseline screenshots/"
    assert in_messages == {upload, "prshots compare", "prshots compare --complete"}
    assert upload in found.told

    work.git("switch", "--quiet", "main")
    draw(work.folder / "screenshots" / "home.png", 1)
    draw(work.folder / "screenshot.png", 1)
    in_dashboard = re.findall(r"[\"`](prshots .+)[\"`]", (ROOT / "web/src/lib/commands.ts").read_text())
    assert in_dashboard[0] == upload
    show = "prshots show screenshot.png"  # only in the Python client, and tested with it
    for command in set(in_dashboard) - {show}:
        words = command.replace("${prNumber}", "1").replace("${commitSha}", head).split()[1:]
        done = shop.in_terminal(*words)
        assert done.returncode == 0, (command, done.stderr)
    found = shop.pull(1, head, {"home": 2}, compare=("--complete",))
    assert (found.code, found.state, found.bases) == (0, "compared", {"home": main})

    work.git("switch", "--quiet", "change")
    done = shop.in_terminal(*upload.split()[1:])
    assert (done.returncode, "no branch for the baselines: set --branch" in done.stderr) == (2, True)


@BOTH_CLIENTS
def test_squash_merge_adopts_the_screenshots(shop: Shop, work: Repository) -> None:
    """The next pull request is not blamed for the last one, although main is not built yet."""
    first = work.head
    shop.build(first, {"home": 1, "cart": 1})
    work.branch("change")
    head = work.commit()
    assert shop.pull(1, head, {"home": 1, "cart": 2}).verdicts == {"cart": "changed", "home": "unchanged"}
    work.branch("main", first)
    squashed = work.commit("Squashed")
    work.push("main")
    assert "Kept 1 screenshot of the merged pull request as baselines." in shop.merge(1, head, squashed)
    work.branch("other")
    found = shop.pull(2, work.commit(), {"home": 1, "cart": 2})
    assert found.verdicts == {"cart": "unchanged", "home": "unchanged"}
    assert found.bases == {"cart": squashed, "home": first}


@BOTH_CLIENTS
def test_without_a_checkout_the_newest_baseline_is_the_base_and_changes_need_a_decision(
    shop: Shop, work: Repository
) -> None:
    shop.build(work.head, {"home": 1})
    shop.variables = {"GIT_DIR": str(shop.folder / "nowhere")}
    work.branch("change")
    options = ("--pr", "1", "--commit", work.head)
    done = shop.in_terminal("upload", "shots", *options, shots={"home": 2})
    assert done.returncode == 0
    assert "Note: git can't find the base of" in done.stderr
    assert "Compared with the newest baselines of main instead." in done.stderr
    said = shop.in_terminal("compare", *options, "--fail-on", "changed")
    assert said.returncode == 4
    assert "changed (since the newest baseline)" in said.stdout
    gate = shop.in_terminal("gate", *options, "--fail")
    assert (gate.returncode, gate.stdout.splitlines()[0]) == (4, "waiting: 1 screenshot to review")
    assert shop.in_terminal("gate", *options).returncode == 0


@BOTH_CLIENTS
def test_sharded_run_is_complete_after_the_last_job(shop: Shop, work: Repository) -> None:
    """Only the job after the last shard can say that a screenshot was removed."""
    main = work.head
    shop.build(main, {"home": 1, "cart": 1}, "--partial")
    shop.build(main, {"help": 1, "old": 1}, "--partial")
    assert "complete." in shop.on_main(main, "compare", "--complete").stderr
    work.branch("change")
    head = work.commit()
    half = shop.pull(1, head, {"home": 1, "cart": 2}, "--partial", compare=("--fail-on", "removed"))
    assert (half.code, half.state) == (0, "incomplete")
    assert half.verdicts == {"cart": "changed", "home": "unchanged"}
    assert "Some of the base's screenshots are missing in this run" in half.told
    both = shop.pull(1, head, {"help": 1}, "--partial", compare=("--complete", "--fail-on", "removed"))
    assert (both.code, both.state) == (4, "compared")
    assert both.verdicts == {"cart": "changed", "help": "unchanged", "home": "unchanged", "old": "removed"}


@BOTH_CLIENTS
def test_fork_never_writes_baselines(shop: Shop, work: Repository) -> None:
    main = work.head
    shop.build(main, {"home": 1})
    work.branch("change")
    head = work.commit()
    found = shop.pull(1, head, {"home": 2}, fork=True)
    assert found.verdicts == {"home": "changed"}
    for options in (("--baseline",), ("--baseline", "--branch", "main")):
        done = shop.in_fork(1, head, "upload", "shots", *options)
        assert done.returncode == 2
        assert "which never writes baselines" in done.stderr
    assert shop.pull(2, head, {"home": 1}).verdicts == {"home": "unchanged"}


def test_one_script_works_for_main_and_pull_requests(shop: Shop, work: Repository) -> None:
    """Comparing and commenting in a job on main succeeds, but there is nothing to do."""
    for command in (("compare", "--fail-on", "changed"), ("comment", "--post")):
        done = shop.on_main(work.head, *command)
        assert (done.returncode, done.stdout) == (0, "")
        assert "Nothing to" in done.stderr
