"""The programs that check the deployment files, and the paths of those files."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.processes import completed

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
TOOLS = ROOT / "tests" / ".tools"


def program(name: str) -> str:
    """Return a checker's path: installed by `tests/install-tools`, by pip, or on the machine."""
    places = f"{TOOLS}:{Path(sys.executable).parent}"
    found = shutil.which(name, path=places) or shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not here: run `make test-slow`")
    return found


def run(name: str, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return completed([program(name), *arguments], **options)


def passes(name: str, *arguments: str | Path, **options: Any) -> str:
    """Run a checker, fail if it reports a problem, and return its output."""
    done = run(name, *arguments, **options)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    return done.stdout


def walk(value: Any) -> Iterator[Any]:
    """Return every mapping, list and plain value inside a document."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)
