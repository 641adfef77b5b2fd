"""Git repositories for programs that run CI jobs: they ask git about the checkout."""

import os
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Octo",
    "GIT_AUTHOR_EMAIL": "octo@example.com",
    "GIT_COMMITTER_NAME": "Octo",
    "GIT_COMMITTER_EMAIL": "octo@example.com",
}
"""Variables that keep git from reading the settings of this machine."""


@pytest.fixture
def alone_with_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test in an empty folder, where git reads no settings and finds no repository of this machine."""
    for name, value in (ALONE | {"GIT_CEILING_DIRECTORIES": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


def commit_all(folder: Path, *, remote: str) -> None:
    """Turn a folder into a repository with one commit."""
    repository = Repository.new(folder)
    repository.git("remote", "add", "origin", remote)
    repository.git("add", ".")
    repository.git("commit", "--quiet", "--message=First")


@dataclass(frozen=True, slots=True)
class Repository:
    """A working copy. `commit` returns the full SHA of the commit that it makes."""

    folder: Path

    @classmethod
    def new(cls, folder: Path) -> "Repository":
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch=main")
        return made

    @classmethod
    def with_remote(cls, folder: Path) -> "Repository":
        """Create a repository that others can clone: `remote.git`, and the working copy `work`."""
        made = cls.new(folder / "work")
        made.git("init", "--quiet", "--bare", "--initial-branch=main", str(folder / "remote.git"))
        made.git("remote", "add", "origin", (folder / "remote.git").as_uri())
        return made

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", self.folder, *arguments],
            env=os.environ | ALONE,
            check=True,
            timeout=60,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str = "Change", *options: str) -> str:
        unique = f"--message={message} {secrets.token_hex(4)}"  # equal commits of one second are one commit
        self.git("commit", "--quiet", "--allow-empty", unique, *options)
        return self.head

    def commits(self, count: int) -> list[str]:
        """Make many commits at once, and return them, newest first."""
        branch = self.git("symbolic-ref", "HEAD")
        parent = self.git("for-each-ref", "--format=%(objectname)", branch)
        stream = "".join(
            f"commit {branch}\ncommitter Octo <octo@example.com> {1_700_000_000 + number} +0000\ndata 1\nx\n"
            + (f"from {parent}\n" if parent and number == 0 else "")
            for number in range(count)
        )
        subprocess.run(
            ["git", "-C", self.folder, "fast-import", "--quiet"],
            input=stream,
            text=True,
            check=True,
            timeout=60,
        )
        return self.git("rev-list", f"--max-count={count}", "HEAD").split()

    def branch(self, name: str, *start: str) -> None:
        self.git("checkout", "--quiet", "-B", name, *start)

    def push(self, *refspecs: str) -> None:
        self.git("push", "--quiet", "--force", "origin", *refspecs)

    def clone(self, folder: Path, *options: str) -> "Repository":
        """Clone this repository's remote."""
        remote = self.git("remote", "get-url", "origin")
        self.git("clone", "--quiet", *options, remote, str(folder))
        return Repository(folder)

    def merge_ref(self, number: int, onto: str, head: str) -> str:
        """Push the merge that GitHub makes of a pull request: refs/pull/<number>/merge."""
        merge = self.git("commit-tree", f"{head}^{{tree}}", "-p", onto, "-p", head, "-m", "Merge")
        self.push(f"{merge}:refs/pull/{number}/merge", f"{head}:refs/pull/{number}/head")
        return merge

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")


def checkout_of(repository: Repository, folder: Path, ref: str, *, depth: int = 1) -> Repository:
    """Check out one ref as CI does: into an empty repository, with little history."""
    made = Repository.new(folder)
    made.git("remote", "add", "origin", repository.git("remote", "get-url", "origin"))
    depths = [f"--depth={depth}"] if depth else []
    made.git("fetch", "--quiet", "--no-tags", *depths, "origin", f"+{ref}:refs/remotes/job")
    made.git("checkout", "--quiet", "--detach", "refs/remotes/job")
    return made
