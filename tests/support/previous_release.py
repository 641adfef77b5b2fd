"""The source of the previous release, from this repository's history."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PREVIOUS_RELEASE = "26d0c5d"
"""The commit of the last release. When you release a version, set this to its commit: from then on, the tests
upgrade from that version, and contract steps may remove what it no longer uses."""


REFUSES_NEWER_SCHEMAS = True
"""Whether its processes refuse to start on a newer schema, as those of schema 0010 do. Since 0011 they don't:
delete this, and what the tests do with it, when PREVIOUS_RELEASE has schema 0011."""


def source_of_previous_release(folder: Path) -> Path:
    """Unpack its `src` into this folder, and return it. Skips the test if the history is not there."""
    archive = folder / "previous.tar"
    with archive.open("wb") as file:
        done = subprocess.run(
            ["git", "-C", ROOT, "archive", PREVIOUS_RELEASE, "src"],
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
        )
    if done.returncode:
        pytest.skip(
            f"needs the previous release, commit {PREVIOUS_RELEASE}, in a full clone (git fetch --unshallow): "
            f"{done.stderr.decode().strip()}"
        )
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "previous", filter="data")
    return folder / "previous" / "src"


def columns_of_previous_release(folder: Path) -> dict[str, set[str]]:
    """Return the columns by table that its code uses."""
    code = (
        "import json; from prshots.server.adapters.sql.schema import metadata; "
        "print(json.dumps({t.name: list(t.columns.keys()) for t in metadata.sorted_tables}))"
    )
    env = os.environ | {"PYTHONPATH": str(source_of_previous_release(folder))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True, check=True, cwd=folder
    )
    return {name: set(columns) for name, columns in json.loads(done.stdout).items()}
