"""Repositories of git, for what runs a CI's jobs: it asks git where it is."""

import subprocess
from pathlib import Path


def commit_all(folder: Path, *, remote: str) -> None:
    """Make a repository of what lies in a folder, with one commit."""
    git = ["git", "-C", folder, "-c", "user.name=Octo", "-c", "user.email=octo@example.com"]
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        ("remote", "add", "origin", remote),
        ("add", "."),
        ("commit", "--quiet", "--message=First"),
    ):
        subprocess.run([*git, *command], check=True, timeout=60)
