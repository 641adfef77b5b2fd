"""From a folder of screenshots to the posted comment, with the two commands of a CI job."""

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.pictures import png
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import COMMAND, Service
from bench.wrk import ROUNDS

SCREENSHOTS = 100
SIZE = 300 * 1024
MEGABYTE = 1024 * 1024
COMMIT = "3f9c2ab17d5e"
SECONDS = Target(at_most=3)
MEMORY = Target(at_most=60)

_PRINT_STATUS_AT_EXIT = (
    "import atexit, os; atexit.register(lambda: os.write(2, open('/proc/self/status', 'rb').read())); {work}"
)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"client: uploading {SCREENSHOTS} screenshots and posting the comment, {ROUNDS} times")
    folder = run.directory / "screenshots"
    folder.mkdir()
    for number in range(SCREENSHOTS):
        (folder / f"page {number}.png").write_bytes(png(SIZE))
    service = Service.create(run.directory / "ours")
    with service.idle(), fake_github() as github:
        job = Job(service, folder, github)
        took = [job.run(pr_number) for pr_number in range(1, ROUNDS + 1)]
        upload, both = (statistics.median(column) for column in zip(*took, strict=True))
        memory = job.upload_memory() - _peak_bytes(["-c", _PRINT_STATUS_AT_EXIT.format(work="pass")], {})
    what = f"client, {SCREENSHOTS} images of {SIZE // 1024} KB"
    yield Row(f"{what}, upload and comment", "s", both, target=SECONDS, note=f"upload only {upload:.2f}")
    yield Row(f"{what}, memory beyond idle Python", "MB", memory / MEGABYTE, target=MEMORY)


class Job:
    """A CI job and its pull request on a forge."""

    def __init__(self, service: Service, folder: Path, github: "GitHub", **variables: str) -> None:
        self._folder = folder
        self._github = github
        self._environment = {
            name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}
        } | {
            "PRSHOTS_URL": service.api_address,
            "PRSHOTS_TOKEN": service.token,
            "PRSHOTS_COMMIT": COMMIT,
            "PRSHOTS_FORGE": "github",
            "PRSHOTS_FORGE_URL": github.url,
            "PRSHOTS_FORGE_TOKEN": "bench",
            "PRSHOTS_REPOSITORY": "acme/web",
            **variables,
        }

    def run(self, pr_number: int, commit_sha: str = COMMIT) -> tuple[float, float]:
        """Return the seconds that the upload takes, and those that the upload and the comment take."""
        screenshots = len(list(self._folder.iterdir()))
        os.sync()  # to keep the previous round from slowing down this one
        started = time.monotonic()
        self._command("upload", str(self._folder), "--pr", str(pr_number), "--commit", commit_sha)
        uploaded = time.monotonic()
        self._command("comment", "--post", "--pr", str(pr_number))
        posted = time.monotonic()
        if f"{screenshots} screenshots" not in "".join(self._github.comments.get(pr_number, [])):
            raise BenchError(f"no comment has {screenshots} screenshots")
        return uploaded - started, posted - started

    def upload_memory(self) -> int:
        work = "from prshots.cli import main; main()"
        arguments = ["-c", _PRINT_STATUS_AT_EXIT.format(work=work), "upload", str(self._folder), "--pr", "99"]
        return _peak_bytes(arguments, self._environment)

    def _command(self, *arguments: str) -> None:
        ran = subprocess.run(
            [COMMAND, *arguments], env=self._environment, capture_output=True, text=True, check=False
        )
        if ran.returncode != 0:
            raise BenchError(f"prshots {arguments[0]} failed: {ran.stderr[-500:]}")


def _peak_bytes(arguments: Sequence[str], environment: dict[str, str]) -> int:
    """Run Python and return its peak memory, which it prints at exit."""
    ran = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", ran.stderr, re.MULTILINE)
    if ran.returncode != 0 or peak is None:
        raise BenchError(f"python {arguments[2:]} failed: {ran.stderr[-500:]}")
    return int(peak[1]) * 1024


class GitHub(ThreadingHTTPServer):
    """The part of GitHub's API that posting a comment needs."""

    daemon_threads = True

    def __init__(self) -> None:
        self.comments: dict[int, list[str]] = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/graphql":
            return 200, {"data": {"viewer": {"login": "bench"}}}
        edited = re.fullmatch(r"/repos/acme/web/issues/comments/(\d+)", path)
        if edited and method == "PATCH":  # each pull request has one comment, with its number as the id
            self.comments[int(edited[1])] = [json.loads(body)["body"]]
            return 200, self._entries(int(edited[1]))[0]
        found = re.fullmatch(r"/repos/acme/web/issues/(\d+)/comments(?:\?.*)?", path)
        if found is None:
            return 404, {"message": "Not Found"}
        if method == "POST":
            self.comments[int(found[1])] = [json.loads(body)["body"]]
        entries = self._entries(int(found[1]))
        return (201, entries[0]) if method == "POST" else (200, entries)

    def _entries(self, pr_number: int) -> list[dict[str, Any]]:
        return [
            {"id": pr_number, "body": text, "user": {"login": "bench"}, "html_url": f"{self.url}/{pr_number}"}
            for text in self.comments.get(pr_number, [])
        ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: GitHub

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer = self.server.answer(self.command, self.path, body)
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PATCH = do_GET  # noqa: N815 - BaseHTTPRequestHandler looks for these names

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def fake_github() -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
