"""prshots itself, run the way an operator does: with the `prshots` command and over HTTP."""

import hashlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.pictures import CONTENT_TYPE, form_body, upload_body
from bench.processes import free_port, running_server, wait_until_idle
from bench.run import BenchError
from bench.wrk import status_of
from prshots.server.links import KeyRing

COMMAND = Path(sys.executable).parent / "prshots"
PROJECT = "bench"
BRANCH = "main"
NO_LIMIT = "1000000000"


@dataclass(frozen=True, slots=True)
class Service:
    """A data folder with a project and an upload token, and the ports that serve it."""

    directory: Path
    api_port: int
    img_port: int
    web_port: int
    token: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, directory: Path, *policy: str, settings: Mapping[str, str] | None = None) -> "Service":
        """Create a service on the embedded engines, or on the engines in `settings`."""
        directory.mkdir(parents=True)
        blank = cls(directory, free_port(), free_port(), free_port(), "", settings or {})
        blank.run("keys", "create")  # a start doesn't create them if there are images
        blank.run("project", "create", PROJECT, *policy)
        return replace(blank, token=blank.run("token", "create", PROJECT).strip())

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def database(self) -> Path:
        return self.data / "prshots.db"

    @property
    def images(self) -> Path:
        return self.data / "images"

    def links(self, view_path: str, count: int) -> list[str]:
        """Return valid links to one image with different expiry times."""
        ring = KeyRing.parse((self.data / "signing-keys").read_text())
        exp = int(view_path.partition("?exp=")[2].partition("&")[0])
        ext = view_path.partition(".")[2].partition("?")[0]
        return [ring.sign(id_of(view_path), ext, exp - i, ring.signing_kid) for i in range(count)]

    @property
    def api_address(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def img_address(self) -> str:
        return f"http://127.0.0.1:{self.img_port}"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment without the caller's PRSHOTS_* variables and with these settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PRSHOTS_")}
        return kept | {
            "PRSHOTS_DATA_DIR": str(self.data),
            "PRSHOTS_HOST": "127.0.0.1",
            "PRSHOTS_API_PORT": str(self.api_port),
            "PRSHOTS_IMG_PORT": str(self.img_port),
            "PRSHOTS_WEB_PORT": str(self.web_port),
            "PRSHOTS_UPLOADS_PER_MINUTE": NO_LIMIT,
            "PRSHOTS_WORKERS": "1",
            **self.settings,
        }

    def run(self, *arguments: str) -> str:
        ran = subprocess.run(
            [COMMAND, *arguments],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            raise BenchError(f"prshots {' '.join(arguments)} failed: {ran.stderr.strip()}")
        return ran.stdout

    @contextmanager
    def serving(self, ready: Callable[[], bool] | None = None) -> Iterator[int]:
        """Run the service. The block starts when it is ready: by default, when all components answer."""
        command = [COMMAND, "serve"]
        with running_server(command, self.directory, self.environment, ready or self._answers) as pid:
            yield pid

    @contextmanager
    def idle(self) -> Iterator[int]:
        """Run the service. The block starts when the first sweep is done and all processes are idle."""
        with self.serving() as pid:
            wait_until_idle(pid)
            yield pid

    @property
    def web_address(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    def _answers(self) -> bool:
        addresses = (self.api_address, self.img_address, self.web_address)
        return all(status_of(address, "/healthz") == 200 for address in addresses)


@dataclass(frozen=True, slots=True)
class Shot:
    """An image with the name and commit to upload it under."""

    name: str
    commit_sha: str
    image: bytes
    viewport: str = "1280x800"


class Api:
    """A client on one keep-alive connection that adds little time itself."""

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.api_port, timeout=30)
        self._headers = {"Authorization": f"Bearer {service.token}"}

    def upload(self, image: bytes, pr_number: int = 1) -> str:
        """Upload an image. Return the path and query of its URL."""
        return self.send_upload(upload_body(image, pr_number))

    def send_upload(self, body: bytes) -> str:
        address = urlsplit(self._ask("POST", "/v1/upload", body, {"Content-Type": CONTENT_TYPE})["view_url"])
        return f"{address.path}?{address.query}"

    def send_upload_in_two(self, body: bytes, held_back: int, between: Callable[[], None]) -> None:
        """Send an upload except for its last bytes, call `between`, then send the rest."""

        def parts() -> Iterator[bytes]:
            yield body[:-held_back]
            between()
            yield body[-held_back:]

        headers = {"Content-Type": CONTENT_TYPE, "Content-Length": str(len(body))}
        self._ask("POST", "/v1/upload", parts(), headers)

    def send_shot(self, shot: Shot, pr_number: int) -> None:
        """Upload an image of a pull request under the shot's own name."""
        self._send_form("/v1/upload", shot, pr_number=str(pr_number))

    def send_baseline(self, shot: Shot) -> None:
        self._send_form("/v1/baseline", shot, branch=BRANCH)

    def missing_baselines(self, shots: Sequence[Shot]) -> set[str]:
        """Record the baselines whose bytes the service has. Return the names of the others."""
        known = [
            {"name": shot.name, "viewport": shot.viewport, "sha256": hashlib.sha256(shot.image).hexdigest()}
            for shot in shots
        ]
        body = {"branch": BRANCH, "commit_sha": shots[0].commit_sha, "shots": known}
        return {shot["name"] for shot in self._send_json("/v1/baseline/known", body)["missing"]}

    def compare(self, pr_number: int, commit_sha: str, base: str) -> dict[str, int]:
        """Compare, and return the number of shots with each verdict."""
        body = {
            "pr_number": pr_number,
            "commit_sha": commit_sha,
            "branch": BRANCH,
            "commits": [base],
            "complete": True,
        }
        reply = self._send_json("/v1/compare", body)
        while reply["state"] == "running":  # after 10 s, the service answers with partial results
            time.sleep(0.05)
            reply = self._ask("GET", f"/v1/compare?pr_number={pr_number}")
        return reply["counts"]

    def comment(self, pr_number: int) -> str:
        return self._ask("GET", f"/v1/comment?pr_number={pr_number}")["markdown"]

    def delete(self, image_id: str) -> None:
        self._ask("DELETE", f"/v1/images/{image_id}")

    def close(self) -> None:
        self._connection.close()

    def _send_form(self, path: str, shot: Shot, **fields: str) -> None:
        named = {"name": shot.name, "viewport": shot.viewport, "commit_sha": shot.commit_sha}
        self._ask("POST", path, form_body(shot.image, **named, **fields), {"Content-Type": CONTENT_TYPE})

    def _send_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        self._connection.request(method, path, body, self._headers | (headers or {}))
        reply = self._connection.getresponse()
        content = reply.read()
        if reply.status not in (200, 202):
            raise BenchError(f"{method} {path}: {reply.status} {content.decode(errors='replace')[:500]}")
        return json.loads(content)


def id_of(view_path: str) -> str:
    return view_path.removeprefix("/i/").partition(".")[0]
