"""The web component as a separate process, with the test's files and API.

Run as `python web_process.py PORT FILES API_URL`.
"""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import uvloop

from prshots.server.config.settings import load_settings
from prshots.server.observability.logs import configure_logs
from prshots.server.processes.worker import WEB_READ_AHEAD, _serve_app
from prshots.server.web.app import create_web


async def main(port: str, files: str, api_url: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
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
        await _serve_app(app, load_settings(), listener, stop, ready_fd, read_ahead=WEB_READ_AHEAD)


if __name__ == "__main__":
    configure_logs("console", "web")
    uvloop.run(main(*sys.argv[1:]))
