"""Git repositories for programs that run CI jobs: they ask git about the checkout."""

import subprocess
from pathlib import Path


def commit_all(folder: Path, *, remote: str) -> None:
    """Turn a folder into a repository with one commit."""
    git = ["git", "-C", folder, "-c", "user.name=Octo", "-c", "user.email=octo@example.com"]
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        ("remote", "add", "origin", remote),
        ("add", "."),
        ("commit", "--quiet", "--message=First"),
    ):
        subprocess.run([*git, *command], check=True, timeout=60)
