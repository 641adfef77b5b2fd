"""The container image, tested without a container engine: Dockerfile, health check, read-only file system."""

import os
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from prshots.server.config.settings import PREFIX, SETTINGS, load_settings
from support.deploy_checkers import DEPLOY, ROOT, passes
from support.http_server import answering, as_json
from support.processes import completed
from support.service import PRSHOTS, Service, png, upload

DOCKERFILE = (ROOT / "Dockerfile").read_text()
HEALTHCHECK = DEPLOY / "docker" / "healthcheck.py"


@pytest.mark.slow
def test_hadolint_accepts_the_dockerfile() -> None:
    passes("hadolint", ROOT / "Dockerfile")


def test_every_file_that_the_build_needs_is_copied_and_not_excluded() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert {"src", "web", "requirements"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(source == name or source.startswith(f"{name}/") for name in let_in), source
    # pyproject.toml names these, or the build hook reads them.
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE"} <= set(copied)


def test_runs_as_a_numeric_user_other_than_root() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
    assert "--owner=10001 --group=10001" in DOCKERFILE


def test_every_variable_is_a_valid_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    values = dict(re.findall(rf"({PREFIX}\w+)=(\S+)", DOCKERFILE))
    assert {name.removeprefix(PREFIX).lower() for name in values} <= set(SETTINGS)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (str(settings.data_dir), settings.host, settings.log_format) == ("/data", "0.0.0.0", "json")
    ports = re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE)[0].split()
    assert {int(port) for port in ports} == {
        settings.web_port,
        settings.api_port,
        settings.img_port,
        settings.sweep_port,
    }


def check(**ports: int) -> tuple[int, str]:
    """Run the health check, and return its exit code and its message."""
    ports = dict.fromkeys(("web", "api", "img", "sweep"), 1) | ports  # nothing listens on port 1
    variables = {f"{PREFIX}{name.upper()}_PORT": str(port) for name, port in ports.items()}
    done = completed([sys.executable, HEALTHCHECK], env=variables)
    return done.returncode, done.stderr


def test_healthy_when_all_components_run_here_or_the_others_elsewhere(
    shared_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, with a timeout of 60 s for busy machines. A problem would raise SystemExit."""
    script = runpy.run_path(str(HEALTHCHECK))
    monkeypatch.setitem(script["problem_at"].__globals__, "SECONDS", 60)
    for name in ("WEB", "IMG", "SWEEP"):
        monkeypatch.setenv(f"{PREFIX}{name}_PORT", "1")
    monkeypatch.setenv(f"{PREFIX}API_PORT", str(shared_service.api_port))
    script["main"]()
    monkeypatch.setenv(f"{PREFIX}WEB_PORT", str(shared_service.web_port))
    monkeypatch.setenv(f"{PREFIX}IMG_PORT", str(shared_service.img_port))
    script["main"]()


def test_unhealthy_when_nothing_listens_or_a_port_answers_500() -> None:
    assert check() == (1, "no component listens in this container\n")
    with answering(lambda *_: as_json(500, {})) as url:
        port = int(url.rpartition(":")[2])
        assert check(web=port) == (1, f"port {port}: status 500\n")


@pytest.mark.slow
def test_unhealthy_when_one_component_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        port = hanging.getsockname()[1]
        assert check(sweep=port) == (1, f"port {port}: timed out\n")


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can make a file system read-only; run the tests as root"
)
@pytest.mark.slow
def test_serves_on_a_read_only_file_system(service: Service, tmp_path: Path) -> None:
    """As in the image: only the data folder and the temporary folder are writable, and there is no home folder."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    service.data_dir.mkdir()
    script = (
        'set -e; for kept in "$1" "$2"; do mount --bind "$kept" "$kept"; done; '
        'mount -o remount,bind,ro /; cd /; exec "$0" serve'
    )
    env = {name: value for name, value in service.env.items() if name.startswith(PREFIX)}
    env |= {"PATH": "/usr/bin:/bin", "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*("unshare", "--mount", "--propagation", "private", "sh", "-c", script), PRSHOTS]
    with (tmp_path / "serve.log").open("ab") as log:
        service.process = subprocess.Popen(
            [*command, service.data_dir, temporary], env=env, stdout=log, stderr=log
        )
    service.wait_until_up()
    with service.client(service.new_token()) as client:
        reply = upload(client, image := png())
        assert reply.status_code == 200
        assert client.get(reply.json()["view_url"]).content == image
    assert service.stop() == 0
    assert "Read-only file system" not in service.log
    assert list(temporary.iterdir()) == []  # the metrics folder is deleted too
