"""Which commit a command reads from its git checkout."""

import subprocess
from pathlib import Path

import pytest

from prshots.cli import service_options
from prshots.client.ci import Job
from prshots.contract.errors import InvalidInputError

HEAD = "0123456789abcdef0123456789abcdef01234567"


def test_the_commit_comes_from_the_option_then_the_ci_then_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert service_options.commit("abc1234", Job(commit_sha=HEAD), 7) == "abc1234"
    assert service_options.commit("", Job(commit_sha=HEAD), 7) == HEAD
    with pytest.raises(InvalidInputError, match="Use --commit SHA"):
        service_options.commit("", Job(), 7)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    with pytest.raises(InvalidInputError, match="Jenkins does not name one"):
        service_options.commit("", Job(ci="Jenkins"), 7)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=x"], check=True)
    assert len(service_options.commit("", Job(), 7)) == 40
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInputError, match="no commit"):
        service_options.commit("", Job(), 7)
