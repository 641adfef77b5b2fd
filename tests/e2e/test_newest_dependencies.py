"""The client as users get it: the newest Typer and the like, on each supported Python."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from support.client_installs import ROOT, install_client, interpreter, run_client
from support.compared_shop import draw
from support.service import SHA, Service, png

pytestmark = pytest.mark.nightly

MAIN = "1" * 40
PYTHONS = ("3.11", "3.12", "3.13")
NEWEST = "3.14"


@pytest.fixture(scope="module", params=[*PYTHONS, NEWEST])
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here: install python{request.param} to run this")
    folder = tmp_path_factory.mktemp(f"newest-{request.param}")
    return install_client(folder, python=python, extra="[pytest]", pinned=False)


@pytest.fixture
def job(shared_service: Service) -> dict[str, str]:
    return {
        "PRSHOTS_URL": shared_service.base_url,
        "PRSHOTS_TOKEN": shared_service.new_token(),
        "PRSHOTS_COMMIT": SHA,
        "COLUMNS": "80",
    }


def number_of(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:3]))


def test_pip_takes_a_typer_at_least_as_new_as_ours(programs: Path) -> None:
    code = "from importlib.metadata import version; print(version('typer'))"
    newest = run_client(programs, "python", "-c", code).stdout.strip()
    [ours] = re.findall(r"^typer==(\S+)", (ROOT / "requirements" / "client.txt").read_text(), re.MULTILINE)
    assert number_of(newest) >= number_of(ours)


def test_help_and_usage_errors(programs: Path) -> None:
    printed = run_client(programs, "prshots", "--help", COLUMNS="80").stdout
    assert printed.startswith("Usage: prshots")
    assert printed.index("\nClient commands:\n  upload") < printed.index("\nServer commands:\n  serve")
    assert max(map(len, printed.splitlines())) <= 80
    options = run_client(programs, "prshots", "upload", "--help").stdout
    for option in ("--url URL", "--pr N", "--format", "-q, --quiet", "github-output"):
        assert option in options
    wrong = run_client(programs, "prshots", "upload", "x", "--format", "xml")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("Usage: prshots upload")
    missing = run_client(programs, "prshots", "compare", "--pr", "1", PRSHOTS_COMMIT=SHA)
    assert missing.returncode == 2
    assert missing.stderr.startswith("prshots: no service URL")
    assert run_client(programs, "prshots", "compare", "--pr", "0").returncode == 2


def test_upload_compare_comment_expire(programs: Path, job: dict[str, str], tmp_path: Path) -> None:
    def prshots(*arguments: str, code: int = 0) -> str:
        done = run_client(programs, "prshots", *arguments, cwd=tmp_path, **job)
        assert done.returncode == code, done.stderr
        return done.stdout

    (tmp_path / "cart@1280x800.png").write_bytes(png())
    prshots("upload", ".", "--baseline", "--branch", "main", "--commit", MAIN, "--quiet")
    (tmp_path / "home@1280x800.dark.png").write_bytes(png())
    told = json.loads(prshots("upload", ".", "--pr", "7", "--json"))
    assert [shot["name"] for shot in told["uploaded"]] == ["cart", "home"]
    assert prshots("upload", ".", "--pr", "7", "--no-compare").count("uploaded") == 2
    compared = json.loads(prshots("compare", "--pr", "7", "--complete", "--json"))
    assert {shot["name"]: shot["verdict"] for shot in compared["shots"]} == {
        "cart": "unchanged",
        "home": "new",
    }
    assert "cart" in prshots("comment", "--pr", "7", "--view", "all")
    prshots("delete", told["uploaded"][0]["id"])
    assert json.loads(prshots("expire", "--pr", "7", "--json"))["expired"] == 3


def test_the_pytest_plugin_uploads(programs: Path, job: dict[str, str], tmp_path: Path) -> None:
    draw(tmp_path / "dot.png", 1)
    (tmp_path / "test_dot.py").write_text("def test_dot(shot):\n    shot('dot.png', 'dot')\n")
    options = ("-q", "--prshots=on", "-p", "no:cacheprovider")
    done = run_client(programs, "pytest", *options, cwd=tmp_path, PRSHOTS_PR="8", **job)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dot" in run_client(programs, "prshots", "comment", "--pr", "8", **job).stdout


def test_every_supported_python_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={PYTHONS[0]}"
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert f"python: {json.dumps([*PYTHONS, NEWEST])}" in workflow
