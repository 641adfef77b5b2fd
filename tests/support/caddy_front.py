"""Real Caddy with the configuration we ship. Only addresses differ."""

import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from support.engine_servers import Server
from support.service import Service

CADDY = Path(sys.executable).with_name("caddy")
SHIPPED = Path(__file__).parents[2] / "deploy" / "caddy" / "Caddyfile"


def caddy(
    folder: Path, port: int, parts: Mapping[int, str], changes: Mapping[str, str] | None = None
) -> Server:
    """Set up Caddy in front of components, each keyed by its port in the shipped file."""
    text = SHIPPED.read_text()
    needed = {
        "shots.example.com {": f"http://127.0.0.1:{port} {{",
        # Turn off the admin API: its port is fixed, and several tests run at the same time.
        "\n{\n": "\n{\n\tadmin off\n\tpersist_config off\n\tskip_install_trust\n",
        **{f"127.0.0.1:{shipped}\n": f"{addresses}\n" for shipped, addresses in parts.items()},
    }
    for old, new in (needed | dict(changes or {})).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "Caddyfile").write_text(text)

    def is_ready() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return Server(
        folder, [CADDY, "run", "--config", folder / "Caddyfile"], is_ready, env={"HOME": str(folder)}
    )


def parts_of(service: Service) -> dict[int, str]:
    ports = {8080: service.web_port, 8081: service.api_port, 8082: service.img_port}
    return {shipped: f"127.0.0.1:{port}" for shipped, port in ports.items()}
