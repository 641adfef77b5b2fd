"""The web component as a separate process, with the test's files and API.

Run as `python web_process.py PORT FILES API_URL`.
"""

import os
import socket
import sys
from pathlib import Path

import uvloop

from prshots.server.config.settings import load_settings
from prshots.server.observability.logs import configure_logs
from prshots.server.processes.worker import _build_server, _serve
from prshots.server.web.app import create_web


async def main(port: str, files: str, api_url: str) -> None:
    os.environ["PRSHOTS_WEB_PORT"] = port
    app = create_web(
        files=Path(files),
        api_url=api_url,
        base_url="https://api.test",
        web_url=f"http://127.0.0.1:{port}",
        img_url="https://img.test/shots",
        avatar_origins=["https://people.test"],
    )
    with socket.create_server(("127.0.0.1", int(port))) as listener:
        listener.setblocking(False)
        ready_fd = os.open(os.devnull, os.O_RDONLY)
        await _serve(lambda _, listener: _build_server(app, listener), load_settings(), listener, ready_fd)


if __name__ == "__main__":
    configure_logs("console", "web")
    uvloop.run(main(*sys.argv[1:]))
