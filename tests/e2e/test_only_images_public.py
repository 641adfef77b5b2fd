"""The configurations of docs/use/broken-images.md: from outside, the images are reachable and nothing else is."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from support.caddy_front import CADDY
from support.engine_servers import Server
from support.free_ports import free_port
from support.nginx_front import NGINX, started
from support.service import PNG, Service, upload

PAGE = Path(__file__).parents[2] / "docs/use/broken-images.md"
INTERNAL = "10.0.0.12:8082"


def documented(language: str) -> str:
    """Return the page's configuration, in a code block of this language."""
    [block] = re.findall(rf"```{language}\n(.*?\n)```", PAGE.read_text(), re.DOTALL)
    assert INTERNAL in block
    return str(block)


def nginx(folder: Path, port: int, delivery: str) -> Server:
    server = re.sub(r"\n *ssl_[a-z_]+ .*", "", documented("nginx")).replace(INTERNAL, delivery)
    server = server.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = folder / "nginx.conf"
    main.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}"
        f"http {{ access_log {folder}/access.log; {paths} {server} }}"
    )
    return Server(
        folder=folder,
        command=[NGINX["1.31"], "-p", folder, "-c", main],
        is_ready=(folder / "nginx.pid").exists,
        stop_signal=signal.SIGQUIT,
    )


def caddy(folder: Path, port: int, delivery: str) -> Server:
    site = (
        documented("caddyfile")
        .replace(INTERNAL, delivery)
        .replace("img.example.com", f"http://127.0.0.1:{port}")
    )
    config = folder / "Caddyfile"
    config.write_text("{\n\tadmin off\n}\n" + site)

    def is_ready() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).status_code == 404
        except httpx.TransportError:
            return False

    return Server(
        folder=folder,
        command=[CADDY, "run", "--config", config, "--adapter", "caddyfile"],
        env={"HOME": str(folder)},
        is_ready=is_ready,
    )


@pytest.mark.parametrize("front", [nginx, caddy])
def test_only_images_are_reachable(
    front: Callable[[Path, int, str], Server], shared_service: Service, tmp_path: Path
) -> None:
    port = free_port()
    delivery = f"127.0.0.1:{shared_service.img_port}"
    with shared_service.client(shared_service.new_token()) as client:
        image_url = upload(client, PNG).json()["view_url"].replace(delivery, f"127.0.0.1:{port}")
    with started(front(tmp_path, port, delivery)), httpx.Client(trust_env=False) as stranger:
        assert stranger.get(image_url).content == PNG
        assert stranger.get(f"{image_url}0").json() == {"error": "invalid signature"}
        for path in ("/", "/v1/comment?pr_number=7", "/metrics", "/readyz", "/healthz", "/docs"):
            assert stranger.get(f"http://127.0.0.1:{port}{path}").status_code == 404, path
