"""The time from the start of the GitHub Action, as on a runner, to its first request."""

import json
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.pictures import png
from bench.report import Row, Target
from bench.run import BenchError, Run

ROUNDS = 11
SCREENSHOTS = 100
SIZE = 300 * 1024
TARGET = Target(at_most=1)
ACTION = Path(__file__).parents[2] / "action" / "index.mjs"
HEAD = "3f9c2ab17d5e3f9c2ab17d5e3f9c2ab17d5e3f9c"


def measure(run: Run) -> Iterator[Row]:
    node = shutil.which("node")
    if node is None:
        raise BenchError("there is no node in the PATH: install Node 20 or newer")
    run.say(f"action: {ROUNDS} starts with {SCREENSHOTS} screenshots")
    for number in range(SCREENSHOTS):
        (run.directory / f"page {number}.png").write_bytes(png(SIZE))
    event = run.directory / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": HEAD}}}))
    took = statistics.median(_seconds_to_first_request(node, event) for _ in range(ROUNDS))
    what = f"action, {SCREENSHOTS} images of {SIZE // 1024} KB, start to first request"
    yield Row(what, "s", took, target=TARGET, note=_version(node))


def _seconds_to_first_request(node: str, event: Path) -> float:
    with socket.create_server(("127.0.0.1", 0)) as service:
        service.settimeout(30)
        environment = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "acme/web",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_WORKSPACE": str(event.parent),
            "INPUT_PATHS": ".",
            "INPUT_URL": f"http://127.0.0.1:{service.getsockname()[1]}",
            "INPUT_TOKEN": f"msr_{'0f' * 32}",
        }
        started = time.monotonic()
        with subprocess.Popen([node, ACTION], env=environment, stdout=subprocess.DEVNULL) as action:
            try:
                connection, _ = service.accept()
                connection.recv(1)
                return time.monotonic() - started
            finally:
                action.kill()


def _version(node: str) -> str:
    ran = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return f"Node {ran.stdout.strip().removeprefix('v')}"
