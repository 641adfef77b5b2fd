"""`npx prshots`: a package that has all it needs."""

import json
import subprocess
from pathlib import Path

import pytest

from support.clients import PACKAGE, command_of

ROOT = Path(__file__).parents[2]


def node(*args: str, cwd: Path | None = None) -> str:
    done = subprocess.run(["node", *args], cwd=cwd, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.slow
def test_the_package_has_what_the_command_needs_and_nothing_else(tmp_path: Path) -> None:
    built = Path(command_of("node")[1]).parents[2]
    for name in ("README.md", "LICENSE"):
        (built / name).write_bytes((PACKAGE / name).read_bytes())
    command = ["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", str(tmp_path)]
    packed = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=60, check=True)
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
    assert node(str(main), "--version", cwd=tmp_path) == f"prshots {about['version']}\n"
    assert "--allow-empty" in node(str(main), "upload", "--help", cwd=tmp_path)


def test_the_packages_license_is_the_projects() -> None:
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
