"""The client in its own environment, installed as `pip install prshots` does."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from support.processes import completed

ROOT = Path(__file__).parents[2]


def install_client(
    folder: Path, *, python: Path = Path(sys.executable), extra: str = "", pinned: bool
) -> Path:
    """Install a checkout, without the dashboard and the tools to build it. Return the folder of its programs.

    `pinned` takes the versions of requirements/client.txt. Otherwise pip installs the newest versions, as it would for a user.
    """
    checkout, venv = folder / "checkout", folder / "venv"
    checkout.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__", "dashboard"))
    subprocess.run([python, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "--disable-pip-version-check"]
    pins = ["--require-hashes", "-r", ROOT / "requirements" / "client.txt"]
    for wanted in ([pins] if pinned else []) + [[f"{checkout}{extra}"]]:
        done = completed(
            [*pip, "install", "--quiet", "--no-compile", *wanted],
            env=os.environ | {"PRSHOTS_WITHOUT_DASHBOARD": "1"},
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
    return venv / "bin"


def run_client(
    programs: Path, *arguments: str, cwd: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of such an environment, outside of CI."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PRSHOTS_", "GITHUB_", "CI", "PYTHON"))
    }
    return completed([programs / arguments[0], *arguments[1:]], env=clean | environ, cwd=cwd)


@cache
def interpreter(version: str) -> Path | None:
    """Return a Python of this version, such as 3.12, from PATH or from pyenv; None if there is none."""
    named = (shutil.which(f"python{version}", path=path) for path in (None, "/usr/bin:/usr/local/bin"))
    in_pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"), reverse=True)
    for python in (sys.executable, *filter(None, named), *in_pyenv):
        # A shim of pyenv is in PATH, but fails if the version is not the chosen one.
        done = completed([python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"])
        if done.stdout.strip() == version:
            return Path(python)
    return None
