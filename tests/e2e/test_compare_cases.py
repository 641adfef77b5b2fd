"""Cases where comparing with main is hard, each with real git and the real service."""

from pathlib import Path

import pytest

from support.clients import CLIENTS, NODE_NIGHTLY, runner_of
from support.compared_shop import Shop
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


def test_first_run_ever_has_nothing_to_compare_with(shop: Shop, work: Repository) -> None:
    work.branch("change")
    found = shop.pull(1, work.commit(), {"home": 1}, compare=("--fail-on", "changed,new,removed"))
    assert (found.code, found.state, found.verdicts) == (0, "no_baseline", {})
    assert "Nothing to compare with: main has no baselines yet. Run prshots upload on main" in found.told


@BOTH_CLIENTS
def test_baselines_can_be_uploaded_from_a_terminal(shop: Shop, work: Repository) -> None:
    """Someone uploads the baselines from a terminal."""
    main = work.head
    done = shop.in_terminal("upload", "shots", "--baseline", "--branch", "main", shots={"home": 1})
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        0,
        "Uploaded 1 of 1 screenshots to the baselines of main.",
    )
    work.branch("change")
    found = shop.pull(1, work.commit(), {"home": 2})
    assert (found.state, found.verdicts, found.bases) == ("compared", {"home": "changed"}, {"home": main})


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


def test_rebase_and_force_push_move_the_base(shop: Shop, work: Repository) -> None:
    """After the rebase, the pull request is compared with the main that it is now based on."""
    first = work.head
    shop.build(first, {"home": 1, "cart": 1})
    work.branch("change")
    before = work.commit()
    work.push("change")
    assert shop.pull(1, before, {"home": 1, "cart": 2}).verdicts["cart"] == "changed"
    work.branch("main", first)
    second = work.commit("Home is new")
    shop.build(second, {"home": 2, "cart": 1})
    work.branch("change", second)
    after = work.commit()
    work.push("change")
    found = shop.pull(1, after, {"home": 2, "cart": 2})
    assert found.verdicts == {"cart": "changed", "home": "unchanged"}
    assert found.json["base_commit"] == second
    assert found.json["commit_sha"] == after


def test_merge_queue_builds_only_the_last_commit(shop: Shop, work: Repository) -> None:
    """Two pull requests land with one push, and CI builds only the last commit."""
    first = work.head
    shop.build(first, {"home": 1, "cart": 1})
    work.branch("one")
    one = work.commit()
    shop.pull(1, one, {"home": 1, "cart": 2})
    work.branch("two", first)
    two = work.commit()
    shop.pull(2, two, {"home": 2, "cart": 1})
    work.branch("main", first)
    merged_one, merged_two = work.commit("Queue 1"), work.commit("Queue 2")
    shop.build(merged_two, {"home": 2, "cart": 2})
    shop.merge(1, one, merged_one)
    shop.merge(2, two, merged_two)
    work.branch("three", merged_one)
    onto_one = shop.pull(3, work.commit(), {"home": 1, "cart": 2}, onto=merged_one)
    assert onto_one.verdicts == {"cart": "unchanged", "home": "unchanged"}
    onto_two = shop.pull(4, work.commit(), {"home": 2, "cart": 2}, onto=merged_two)
    assert set(onto_two.verdicts.values()) == {"unchanged"}
    assert set(onto_two.bases.values()) == {merged_two}


def test_merged_pull_request_stands_in_for_mains_build(shop: Shop, work: Repository) -> None:
    """A merged pull request stands in for main's build. Once that is there, it wins."""
    first = work.head
    shop.build(first, {"home": 1})
    work.branch("one")
    one = work.commit()
    shop.pull(1, one, {"home": 2})
    work.branch("main", first)
    work.git("merge", "--quiet", "--no-ff", "-m", "Merge", "one")
    merged = work.head
    work.push("main")
    shop.merge(1, one, merged)
    work.branch("two")
    two = work.commit()
    assert shop.pull(2, two, {"home": 2}).verdicts == {"home": "unchanged"}
    shop.build(merged, {"home": 3})
    assert shop.pull(2, two, {"home": 2}).verdicts == {"home": "changed"}
    assert shop.pull(3, two, {"home": 3}).verdicts == {"home": "unchanged"}


def test_shallow_clone_finds_its_base(shop: Shop, work: Repository) -> None:
    """The checkout has one commit, and the newest baselines of main belong to later work."""
    first = work.head
    shop.build(first, {"home": 1})
    work.commits(20)
    unbuilt = work.head
    later = work.commit("Later work")
    shop.build(later, {"home": 9})
    work.branch("change", unbuilt)
    found = shop.pull(1, work.commit(), {"home": 1}, onto=unbuilt)
    assert (found.verdicts, found.bases) == ({"home": "unchanged"}, {"home": first})
    assert found.without_ancestor == set()


def test_without_a_checkout_the_newest_baseline_is_the_base_and_nothing_fails(
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
    assert said.returncode == 0
    assert "changed (since the newest baseline)" in said.stdout


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


def test_partial_build_of_main_keeps_older_baselines(shop: Shop, work: Repository) -> None:
    """Main's second build took only the screenshots that its change could affect."""
    first = work.head
    shop.build(first, {"home": 1, "cart": 1})
    second = work.commit()
    shop.build(second, {"home": 2}, "--partial")
    work.branch("change")
    found = shop.pull(1, work.commit(), {"home": 2, "cart": 2}, onto=second)
    assert found.verdicts == {"cart": "changed", "home": "unchanged"}
    assert found.bases == {"cart": first, "home": second}


@BOTH_CLIENTS
def test_fork_never_writes_baselines(shop: Shop, work: Repository) -> None:
    """A fork's pull request is compared, but never writes a baseline."""
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
