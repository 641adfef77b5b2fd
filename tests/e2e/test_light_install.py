"""`pip install prshots` without extras installs the client only."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.client_installs import install_client
from support.client_installs import run_client as run
from support.service import PNG, SHA, Service, png

NOT_OF_THE_CLIENT = ["starlette", "sqlalchemy", "structlog", "uvloop", "PIL", "numpy", "pydantic"]


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_client(tmp_path_factory.mktemp("light"), pinned=True)


@pytest.mark.slow
def test_server_packages_are_not_installed_and_server_commands_name_the_missing_extra(
    venv: Path, tmp_path: Path
) -> None:
    code = f"""
import importlib.util, json, pathlib, prshots.client, prshots.cli
package = pathlib.Path(prshots.__file__).parent
print(json.dumps({{
    "installed": [name for name in {NOT_OF_THE_CLIENT} if importlib.util.find_spec(name)],
    "dashboard": (package / "server" / "web" / "dashboard").exists(),
    "typed": (package / "py.typed").exists(),
}}))
"""
    said = json.loads(run(venv, "python", "-I", "-c", code).stdout)
    assert said == {"installed": [], "dashboard": False, "typed": True}
    assert "upload" in run(venv, "prshots", "--help").stdout
    assert "--dry-run" in run(venv, "prshots", "upload", "--help").stdout
    served = run(venv, "prshots", "serve", PRSHOTS_DATA_DIR=str(tmp_path))
    assert (served.returncode, served.stdout) == (1, "")
    assert served.stderr.startswith("prshots: this command needs ")
    assert served.stderr.endswith("pip install 'prshots[server]'\n")
    assert list(tmp_path.iterdir()) == []


def test_the_client_does_not_import_installed_server_packages() -> None:
    code = (
        "import sys, prshots.client.service, prshots.client.keyless, prshots.client.ci, prshots.cli\n"
        f"print(*sorted(set({NOT_OF_THE_CLIENT}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.slow
def test_upload_works_with_the_client_alone(venv: Path, shared_service: Service, tmp_path: Path) -> None:
    token = shared_service.new_token()
    (tmp_path / "cart@1280x800.png").write_bytes(png())
    (tmp_path / "note.txt").write_bytes(b"")
    environ = {
        "PRSHOTS_URL": f"{shared_service.base_url}/",
        "PRSHOTS_TOKEN": f"{token}\n",
        "CI": "woodpecker",
        "CI_COMMIT_PULL_REQUEST": "7",
        "CI_COMMIT_SHA": SHA,
    }
    tried = run(venv, "prshots", "upload", str(tmp_path), "--dry-run", **environ)
    assert tried.returncode == 0, tried.stderr
    with shared_service.client(token) as client:
        assert "cart" not in client.get("/v1/comment?pr_number=7").json()["markdown"]
        done = run(venv, "prshots", "upload", str(tmp_path), "--json", **environ)
        assert done.returncode == 0, done.stderr
        (uploaded,) = json.loads(done.stdout)["uploaded"]
        assert (uploaded["name"], uploaded["viewport"]) == ("cart", "1280x800")
        assert uploaded["view_url"] in client.get("/v1/comment?pr_number=7").json()["markdown"]
        assert client.get(uploaded["view_url"]).content.startswith(PNG)
    for said in (tried.stdout, tried.stderr, done.stdout, done.stderr):
        assert token not in said
