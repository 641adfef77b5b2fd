"""The container image, tested without a container engine: Dockerfile, health check, read-only file system."""

import os
import re
import runpy
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prshots.server.config.settings import PREFIX, SETTINGS, load_settings
from support.deploy_checkers import DEPLOY, ROOT, passes
from support.service import Service, png, upload

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


def check(**ports: int) -> subprocess.CompletedProcess[str]:
    ports = dict.fromkeys(("web", "api", "img", "sweep"), 1) | ports  # nothing listens on port 1
    variables = {f"{PREFIX}{name.upper()}_PORT": str(port) for name, port in ports.items()}
    return subprocess.run(
        [sys.executable, HEALTHCHECK], env=variables, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def patient_check(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return the health check, run in this process with a timeout of 60 s for busy machines. It raises SystemExit."""
    script = runpy.run_path(str(HEALTHCHECK))
    monkeypatch.setitem(script["problem_at"].__globals__, "SECONDS", 60)

    def check_here(**ports: int) -> None:
        for name, port in ({"sweep": 1} | ports).items():
            monkeypatch.setenv(f"{PREFIX}{name.upper()}_PORT", str(port))
        script["main"]()

    return check_here


def test_healthy_when_all_components_run_here_or_the_others_elsewhere(
    shared_service: Service, patient_check: Callable[..., None]
) -> None:
    patient_check(web=shared_service.web_port, api=shared_service.api_port, img=shared_service.img_port)
    patient_check(web=1, api=shared_service.api_port, img=1)


def test_unhealthy_when_nothing_listens() -> None:
    done = check()
    assert (done.returncode, done.stderr) == (1, "no component listens in this container\n")


@pytest.mark.slow
def test_unhealthy_when_one_component_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        port = hanging.getsockname()[1]
        done = check(sweep=port)
    assert (done.returncode, done.stderr) == (1, f"port {port}: timed out\n")


def test_unhealthy_when_a_port_answers_500() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        asked = subprocess.Popen(
            [sys.executable, HEALTHCHECK],
            env={f"{PREFIX}WEB_PORT": str(port)}
            | {f"{PREFIX}{name}_PORT": "1" for name in ("API", "IMG", "SWEEP")},
            stderr=subprocess.PIPE,
            text=True,
        )
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        assert asked.communicate(timeout=60)[1] == f"port {port}: status 500\n"
        assert asked.returncode == 1


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can make a file system read-only; run the tests as root"
)
@pytest.mark.slow
def test_serves_on_a_read_only_file_system(service: Service, tmp_path: Path) -> None:
    """As in the image: only the data folder and the temporary folder are writable, and there is no home folder."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    service.data_dir.mkdir()
    prshots = Path(sys.executable).with_name("prshots")
    script = "; ".join(
        [
            "set -e",
            *(
                f"mount --bind {shlex.quote(str(kept))} {shlex.quote(str(kept))}"
                for kept in (service.data_dir, temporary)
            ),
            "mount -o remount,bind,ro /",
            "cd /",
            f"exec {shlex.quote(str(prshots))} serve",
        ]
    )
    env = {name: value for name, value in service.env.items() if name.startswith(PREFIX)}
    env |= {"PATH": "/usr/bin:/bin", "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    log = (tmp_path / "serve.log").open("ab")
    with log:
        service.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
            env=env,
            stdout=log,
            stderr=log,
        )
    service.wait_until_up()
    with service.client(service.new_token()) as client:
        reply = upload(client, image := png())
        assert reply.status_code == 200
        assert client.get(reply.json()["view_url"]).content == image
    assert service.stop() == 0
    assert "Read-only file system" not in service.log
    assert list(temporary.iterdir()) == []  # the metrics folder is deleted too
