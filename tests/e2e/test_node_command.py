"""`npx prshots`: a package that has all it needs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.clients import PACKAGE, command_of
from support.processes import completed

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_package_has_what_the_command_needs_and_nothing_else(tmp_path: Path) -> None:
    built = Path(command_of("node")[1]).parents[2]
    for name in ("README.md", "LICENSE"):
        (built / name).write_bytes((PACKAGE / name).read_bytes())
    command = ["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", tmp_path]
    packed = completed(command, cwd=built)
    [about] = json.loads(packed.stdout)
    files = {file["path"] for file in about["files"]}
    beside = {path for path in files if not path.startswith("dist/")}
    assert beside == {"LICENSE", "README.md", "package.json"}
    assert {"dist/cli/main.js", "dist/playwright/index.js", "dist/playwright/index.d.ts"} <= files
    assert not {path for path in files if path.startswith("dist/action/")}
    assert "dependencies" not in json.loads((PACKAGE / "package.json").read_text())

    subprocess.run(["tar", "-xzf", about["filename"]], cwd=tmp_path, check=True)
    main = tmp_path / "package" / json.loads((PACKAGE / "package.json").read_text())["bin"]["prshots"]
    assert main.read_text().startswith("#!/usr/bin/env node\n")
    shown = completed(["node", main, "--version"], cwd=tmp_path)
    assert shown.stdout == f"prshots {about['version']}\n"
    assert "--allow-empty" in completed(["node", main, "upload", "--help"], cwd=tmp_path).stdout


@pytest.mark.nightly
def test_the_reporter_can_be_installed_from_a_clone(tmp_path: Path) -> None:
    clone, user = tmp_path / "clone", tmp_path / "user"
    for name in (PACKAGE.relative_to(ROOT), Path("src/prshots/contract")):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("node_modules", "dist"))
    user.mkdir()
    (user / "package.json").write_text('{"type": "module"}')
    env = os.environ | {"npm_config_prefer_offline": "true"}
    installed = completed(["npm", "install", "--no-audit", clone / "clients" / "node"], cwd=user, env=env)
    assert installed.returncode == 0, installed.stderr
    done = completed(["node", "--eval", "import('prshots/playwright')"], cwd=user)
    assert done.returncode == 0, done.stderr


def test_the_packages_license_is_the_projects() -> None:
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
