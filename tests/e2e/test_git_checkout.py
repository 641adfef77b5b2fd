"""Reading the commit and the base of the pull request from a git checkout."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prshots.cli import service_options
from prshots.client.ci import Job
from prshots.client.ci import git as git_module
from prshots.client.ci.base_commits import BaseCommits, base_of, queued_pulls
from prshots.client.ci.checkout import default_branch
from prshots.contract.errors import InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from support.engine_servers import process_state
from support.git_repositories import Repository, alone_with_git, checkout_of  # noqa: F401 - a fixture
from support.http_server import answering
from support.vectors import cases
from support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("alone_with_git")

HEAD = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def work(tmp_path: Path) -> Repository:
    return Repository.with_remote(tmp_path / "git")


def test_the_commit_comes_from_the_option_then_the_ci_then_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service_options.commit("abc1234", Job(commit_sha=HEAD)) == "abc1234"
    assert service_options.commit("", Job(commit_sha=HEAD)) == HEAD
    with pytest.raises(InvalidInputError, match="Use --commit SHA"):
        service_options.commit("", Job())
    repository = Repository.new(tmp_path)
    with pytest.raises(InvalidInputError, match="Jenkins does not name one"):
        service_options.commit("", Job(ci="Jenkins"))
    made = repository.commit()
    assert service_options.commit("", Job()) == made
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInputError, match="no commit"):
        service_options.commit("", Job())


def test_the_default_branch_comes_from_the_ci_then_the_remote_then_its_usual_name(
    work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_branch(Job(default_branch="trunk")) == "trunk"
    assert default_branch(Job()) == "main"
    assert default_branch(Job(branch="master")) == "master"
    work.branch("trunk")
    work.commit()
    work.push("trunk")
    work.git("-C", str(tmp_path / "git/remote.git"), "symbolic-ref", "HEAD", "refs/heads/trunk")
    work.clone(tmp_path / "clone")
    monkeypatch.chdir(tmp_path / "clone")
    assert default_branch(Job(branch="master")) == "trunk"


@pytest.mark.parametrize("case", cases("base_commits", "bases"))
def test_the_base_by_the_rules_of_both_clients(
    case: dict[str, Any], work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    history = work.commits(case["main"])
    work.branch("cart", history[case["off"]])
    head = work.commit()
    work.push("main", "cart")
    ref = "refs/heads/cart"
    if "onto" in case:
        work.merge_ref(7, history[case["onto"]], head)
        ref = "refs/pull/7/merge"
    job = checkout_of(work, tmp_path / "job", ref, depth=case["depth"])
    if case["depth"] == 0:
        job.git("fetch", "--quiet", "origin", "main")
    if case.get("remote_is_gone"):
        job.git("remote", "set-url", "origin", (tmp_path / "gone.git").as_uri())
    monkeypatch.chdir(job.folder)
    base_sha = history[case["base_sha"]] if "base_sha" in case else ""
    branch = case.get("branch", "")
    found = base_of(Job(commit_sha=head, target_branch="main", base_sha=base_sha), head, branch, told.append)
    assert found.branch == (branch or "main")
    assert case.get("says", "") in "".join(told).lower()
    if "unknown" in case:
        assert (found.commits, case["unknown"] in found.unknown) == ((), True)
        return
    start = case["base"]["from"]
    if "count" in case["base"]:
        assert found.commits == tuple(history[start : start + case["base"]["count"]])
    else:
        assert len(found.commits) >= case["base"]["at_least"]
        assert found.commits == tuple(history[start : start + len(found.commits)])
        assert job.git("rev-parse", "--is-shallow-repository") == "true"  # the rest was not fetched


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program that creates the file `ran` in its folder."""
    made = tmp_path / "hooks/reference-transaction"
    made.parent.mkdir()
    made.write_text(f"#!/bin/sh\ntouch {made.parent}/ran\n")
    made.chmod(0o755)
    return made


@pytest.fixture
def locked() -> Iterator[str]:
    """Start a server that asks for a password, and return its URL."""
    with answering(lambda _asked, _body: (401, {"WWW-Authenticate": "Basic"}, b"")) as url:
        yield url


@pytest.mark.slow  # runs git many times
@pytest.mark.parametrize("case", cases("base_commits", "hostile"))
def test_the_configuration_of_a_repository_runs_no_program(
    case: dict[str, Any],
    work: Repository,
    program: Path,
    locked: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remote = work.git("remote", "get-url", "origin")
    places = {"program": program, "hooks": program.parent, "remote": remote, "locked": locked}
    work.commit()
    work.push("main")
    (work.folder / ".git/objects/info/alternates").write_text(f"{work.folder}/../remote.git/objects\n")
    for key, value in {"remote.origin.url": case["remote"], **case["settings"]}.items():
        work.git("config", key.format_map(places), value.format_map(places))
    monkeypatch.chdir(work.folder)
    base_of(Job(target_branch="other"), HEAD, "", print)
    base_of(Job(target_branch="main"), work.head, "", print)
    queued_pulls(Job(forge=ForgeKind.GITHUB, in_queue=True), (), print)
    assert not program.with_name("ran").exists()


def test_ordinary_files_are_not_a_bare_repository(
    work: Repository, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Repository(work.folder / "bare")
    work.git("init", "--quiet", "--bare", str(bare.folder))
    bare.git("config", "core.sshCommand", str(program))
    bare.git("remote", "add", "origin", "ssh://git@127.0.0.1:1/o/r")
    monkeypatch.chdir(bare.folder)
    assert "bare repository" in base_of(Job(target_branch="main"), HEAD, "", print).unknown
    assert not program.with_name("ran").exists()


@pytest.mark.parametrize("setting", ["core.sshCommand", "credential.helper"])
def test_the_programs_of_the_user_still_run(
    setting: str,
    work: Repository,
    program: Path,
    locked: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = program.with_name("config")
    own.write_text(f"[core]\nsshCommand = {program}\n[credential]\nhelper = {program}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    work.git("config", "remote.origin.url", "ssh://git@127.0.0.1:1/o/r" if "ssh" in setting else locked)
    work.git("config", setting, "false")
    work.commit()
    monkeypatch.chdir(work.folder)
    assert git_module.fetch("refs/heads/main", depth=0, say=print, what="").error
    assert program.with_name("ran").exists()
    work.git("config", "hook.a=b.command", "true")  # `git -c` would cut the name at the sign
    refused = git_module.fetch("refs/heads/main", depth=0, say=print, what="").error
    assert refused == "the git setting hook.a=b.command can run a program: remove it"


def test_a_crafted_parent_is_not_an_option(
    work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = work.commit()
    lines = work.git("cat-file", "commit", head).splitlines()
    crafted = "\n".join([lines[0], "parent --output=ran", f"parent {head}", *lines[1:], ""])
    (tmp_path / "crafted").write_text(crafted)
    merge = work.git("hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "crafted"))
    (work.folder / ".git/HEAD").write_text(f"{merge}\n")
    (work.folder / "ran").write_text("kept")
    monkeypatch.chdir(work.folder)
    base_of(Job(target_branch="main"), head, "", print)
    assert (work.folder / "ran").read_text() == "kept"


def test_a_merge_ref_of_a_remote_that_serves_no_commit_by_its_sha_has_a_base(
    work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = work.commits(4)
    work.branch("cart", history[1])
    head = work.commit()
    work.push("main", "cart")
    work.merge_ref(7, history[1], head)
    job = checkout_of(work, tmp_path / "job", "refs/pull/7/merge")
    job.git("config", "protocol.version", "0")  # the second version does not refuse it
    monkeypatch.chdir(job.folder)
    assert git_module.fetch(history[1], depth=9, say=print, what="").error
    base = base_of(Job(commit_sha=head, target_branch="main"), head, "", print)
    assert base == BaseCommits("main", tuple(history[1:]))
    of_another_branch = base_of(Job(commit_sha=head, target_branch="main"), head, "cart", print)
    assert of_another_branch.commits[0] == head


def test_first_parents_leave_out_what_was_merged(work: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    first = work.commit()
    work.branch("side")
    work.commit()
    work.git("checkout", "--quiet", "main")
    work.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    merge = work.head
    work.branch("cart")
    head = work.commit()
    work.push("main", "cart")
    monkeypatch.chdir(work.folder)
    assert base_of(Job(), head, "", print) == BaseCommits("main", (merge, first))


def test_a_merge_train_names_the_merge_requests_ahead(
    work: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    work.commit()
    trains = {number: work.commit() for number in (5, 6, 7, 8)}
    work.push("main", *(f"{commit}:refs/merge-requests/{number}/train" for number, commit in trains.items()))
    monkeypatch.chdir(work.folder)
    job = Job(forge=ForgeKind.GITLAB, pr_number=7, commit_sha=trains[7], base_sha=trains[6], in_queue=True)
    base = base_of(job, trains[7], "", told.append)
    assert queued_pulls(job, base.commits, told.append) == [5, 6]
    assert queued_pulls(replace(job, in_queue=False), base.commits, told.append) == []
    assert not told
    work.git("remote", "set-url", "origin", (work.folder / "gone.git").as_uri())
    assert queued_pulls(job, base.commits, told.append) == []
    assert told[0].startswith("Note: git can't list the merge queue: ")


def test_a_head_that_is_not_checked_out_is_fetched(
    work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second workflow runs on the default branch, even for a head that was since overwritten."""
    first, _ = work.commit(), work.commit()
    work.branch("cart", first)
    head = work.commit()
    work.push("main", "cart")
    work.push("main:cart")
    for depth in (0, 1):
        checkout_of(work, tmp_path / f"job{depth}", "refs/heads/main", depth=depth)
        monkeypatch.chdir(tmp_path / f"job{depth}")
        assert base_of(Job(target_branch="main"), head, "", print) == BaseCommits("main", (first,))


class TestGitCannotTell:
    def test_outside_a_repository_or_without_git_the_reason_is_given(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = base_of(Job(target_branch="main"), "abc1234", "", print)
        assert base.commits == ()
        assert base.unknown.startswith("not a git repository")
        monkeypatch.setenv("PATH", "")
        assert base_of(Job(), HEAD, "", print).unknown.startswith("git does not run: No such file")
        named = Job(commit_sha=HEAD, target_branch="main", base_sha=HEAD)  # as GitLab does
        assert base_of(named, HEAD, "", print) == BaseCommits("main", (HEAD,))

    def test_a_target_that_shares_no_commit_has_no_base_and_a_branch_is_never_an_option(
        self, work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        work.commit()
        work.git("checkout", "--quiet", "--orphan", "other")
        other = work.commit()
        work.push("main", "other")
        monkeypatch.chdir(work.folder)
        assert "share" in base_of(Job(), other, "main", print).unknown
        for branch in (f"--upload-pack=touch {tmp_path}/owned;", "-u", "--all"):
            assert base_of(Job(), other, branch, print).unknown
        assert not (tmp_path / "owned").exists()

    def test_a_remote_that_never_answers_is_given_up(
        self, work: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[str] = []
        head = work.commit()
        work.git("remote", "set-url", "origin", "ssh://ann:hunter2@git.example/shop")
        started = work.folder / "ssh.pid"
        monkeypatch.setenv("GIT_SSH_COMMAND", f"echo $$ > {started}; exec sleep 3600 #")
        monkeypatch.setattr(git_module, "FETCH_SECONDS", 0.01)
        monkeypatch.setattr(git_module, "TELL_AFTER_SECONDS", 0.01)
        monkeypatch.chdir(work.folder)

        def say(words: str) -> None:
            told.append(words)
            wait_until(lambda: started.exists() and started.read_text().endswith("\n"), "ssh to start")

        assert base_of(Job(), head, "release", say).unknown == "git took longer than 0 s"
        assert told == ["Fetching the history of release …"]
        wait_until(lambda: process_state(int(started.read_text())) == "Z", "ssh to end")


def test_fetch_waits_for_the_lock_of_another_process(
    work: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = work.commits(3)
    work.push("main")
    work.branch("cart")
    head = work.commit()
    work.push("cart")
    job = checkout_of(work, tmp_path / "job", "refs/heads/cart")
    monkeypatch.chdir(job.folder)
    monkeypatch.setattr(git_module, "LOCK_PAUSES", (0.01,) * 2000)
    lock = job.folder / ".git/shallow.lock"
    lock.touch()
    release = threading.Timer(0.1, lock.unlink)
    release.start()
    try:
        found = base_of(Job(target_branch="main"), head, "", print)
        assert found == BaseCommits("main", tuple(history))
    finally:
        release.join()
    lock.touch()
    monkeypatch.setattr(git_module, "LOCK_PAUSES", (0.01,))
    assert "shallow.lock" in git_module.fetch("refs/heads/main", depth=9, say=print, what="").error
