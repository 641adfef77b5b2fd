"""The two clients: the Python command, and `npx prshots`. A story that runs a command runs with both."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.command_in_process import run_here
from support.processes import completed
from support.service import PRSHOTS

PACKAGE = Path(__file__).parents[2] / "clients" / "node"

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs a command with arguments in exactly the environment `env`, in the working folder."""

CLIENTS = ["python", pytest.param("node", marks=pytest.mark.slow)]
"""Parameters of a fixture. The Node client is slow: it starts a process for each command."""

NODE_NIGHTLY = ["python", pytest.param("node", marks=[pytest.mark.slow, pytest.mark.nightly])]
"""Parameters of a rare case, whose rules the Node client's own tests show as well."""

ONLY_PYTHON = ["python"]
"""Parameters of a story that changes the Python client from inside, such as its pauses."""


def command_of(client: str) -> list[str]:
    """Return the command as a process."""
    return [str(PRSHOTS)] if client == "python" else ["node", f"{node_package().name}/dist/cli/main.js"]


def runner_of(client: str) -> Run:
    return run_here if client == "python" else partial(run_process, client)


def runner_outside_ci(
    client: str, folder: Path, monkeypatch: pytest.MonkeyPatch, url: str, token: str, **settings: str
) -> Run:
    """Return a runner that works in this folder, without the variables of a CI job and without a checkout."""
    monkeypatch.chdir(folder)
    run = runner_of(client)
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "PRSHOTS_URL": url,
        "PRSHOTS_TOKEN": token,
        **settings,
    }
    return lambda *args, **more: run(*args, env=env | more)


def run_process(
    client: str, *args: str, env: Mapping[str, str], cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    return completed([*command_of(client), *args], env={"PATH": os.environ["PATH"], **env}, cwd=cwd)


@cache
def node_package() -> "TemporaryDirectory[str]":
    """Compile the package apart from its own `dist`, which another test may be using."""
    folder = TemporaryDirectory(prefix="prshots-node-")
    compiler = PACKAGE / "node_modules" / ".bin" / "tsc"
    subprocess.run(["node", "contract.js"], cwd=PACKAGE, check=True, timeout=60)
    subprocess.run([compiler, "--outDir", f"{folder.name}/dist"], cwd=PACKAGE, check=True, timeout=120)
    shutil.copy(PACKAGE / "package.json", folder.name)
    return folder
