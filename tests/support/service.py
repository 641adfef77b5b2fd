"""The real service in real processes, started and stopped as an operator does."""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from prshots.contract.limits import Policy
from support.free_ports import free_port
from support.processes import completed

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings

PRSHOTS = Path(sys.executable).with_name("prshots")
PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff\xe0"
WEBP = b"RIFF\x00\x00\x00\x00WEBP"
MAX_BYTES = 5 * 1024 * 1024
UNTRUSTED_ISSUER = "http://127.0.0.1:9"
"""Projects of the shared service may trust this issuer, but none does. No test may change that."""

SILENT_ISSUER = "http://127.0.0.1:10"
"""Projects of the shared service may trust this issuer. Nothing listens on its port."""

SHA = "0123456789abcdef0123456789abcdef01234567"


def png(size: int = 1000) -> bytes:
    """Return random bytes that start with a PNG header."""
    return PNG + secrets.token_bytes(size - len(PNG))


@dataclass
class Service:
    """A `prshots serve` process with its own data folder."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    api_port: int = field(default_factory=free_port)
    img_port: int = field(default_factory=free_port)
    web_port: int = field(default_factory=free_port)
    sweep_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def img_url(self) -> str:
        return f"http://127.0.0.1:{self.img_port}"

    @property
    def web_url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def images_dir(self) -> Path:
        return self.data_dir / "images"

    @property
    def log(self) -> str:
        return (self.folder / "serve.log").read_text()

    @property
    def env(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PRSHOTS_")}
        return clean | {
            "PRSHOTS_DATA_DIR": str(self.data_dir),
            "PRSHOTS_API_PORT": str(self.api_port),
            "PRSHOTS_IMG_PORT": str(self.img_port),
            "PRSHOTS_WEB_PORT": str(self.web_port),
            "PRSHOTS_SWEEP_PORT": str(self.sweep_port),
            "PRSHOTS_BASE_URL": self.base_url,
            "PRSHOTS_IMG_URL": self.img_url,
            "PRSHOTS_WEB_URL": self.web_url,
            **{f"PRSHOTS_{name}": value for name, value in self.settings.items()},
        }

    @property
    def parsed_settings(self) -> "Settings":
        """The service's settings, for code that works on its database."""
        from prshots.server.config.settings import PREFIX, SETTINGS, Settings

        given = {name.removeprefix(PREFIX).lower(): value for name, value in self.env.items()}
        return Settings(**{name: given[name] for name in SETTINGS if name in given})

    def start(self) -> "Service":
        with (self.folder / "serve.log").open("ab") as log:
            self.process = subprocess.Popen([PRSHOTS, "serve"], env=self.env, stdout=log, stderr=log)
        try:
            self.wait_until_up()
        except BaseException:  # pytest.fail raises one; leave nothing running
            self.stop()
            raise
        return self

    def wait_until_up(self, seconds: float = 90) -> None:
        until = time.monotonic() + seconds
        for url in (f"{address}/healthz" for address in (self.web_url, self.base_url, self.img_url)):
            while True:
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(url, timeout=5).status_code == 200:
                        break
                if self.process is not None and self.process.poll() is not None:
                    pytest.fail(f"prshots serve ended with {self.process.returncode}:\n{self.log}")
                if time.monotonic() > until:
                    pytest.fail(f"{url} did not answer within {seconds} s:\n{self.log}")
                time.sleep(0.02)

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=90)

    def run(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a CLI command against this service's data, in this process."""
        from support.command_in_process import run_here

        done = run_here(*args, env=self.env)
        if check and done.returncode:
            pytest.fail(f"prshots {' '.join(args)} ended with {done.returncode}: {done.stderr}")
        return done

    def run_as_process(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a CLI command as a process."""
        return completed([PRSHOTS, *args], env=self.env)

    def new_token(
        self,
        project: str = "",
        policy: str = "pr_close",
        retain_days: str = "",
        uploads_per_minute: int | None = None,
    ) -> str:
        """Create a project (by default with a new name) and return a token for it.

        This skips the two commands, which take two seconds: nearly every test starts here.
        """
        from prshots.server.domain.audit.models import ActorKind, act_as
        from prshots.server.wiring import open_accounts

        settings = self.parsed_settings

        async def make() -> str:
            act_as(ActorKind.OPERATOR, "", "tests")  # as the commands, which log no entries
            async with open_accounts(settings) as (accounts, _):
                name = project or f"project-{secrets.token_hex(4)}"
                made = await accounts.create_project(
                    name,
                    Policy(policy),
                    int(retain_days or 0) or None,
                    uploads_per_minute=uploads_per_minute,
                )
                return (await accounts.create_token(made, ""))[1]

        with ThreadPoolExecutor(1) as thread:  # the test may already run an event loop
            return thread.submit(asyncio.run, make()).result()

    def client(self, token: str, address: str = "") -> httpx.Client:
        """Return an API client, at the API's address or at another, such as the web component's."""
        return httpx.Client(
            base_url=address or self.base_url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
            trust_env=False,
        )

    def stored_files(self) -> set[str]:
        """Return the keys of all files in the images folder, including temporary ones, but not the store's marker.

        A sweep claims the store with a file that ends with `.own`.
        """
        files = (path for path in self.images_dir.rglob("*") if path.is_file() and path.suffix != ".own")
        return {str(path.relative_to(self.images_dir)) for path in files} - {".installation"}

    @contextlib.contextmanager
    def broken_store(self) -> Iterator[None]:
        """Put a file where the images folder should be."""
        aside = self.images_dir.rename(self.folder / "aside")
        self.images_dir.write_text("")
        try:
            yield
        finally:
            self.images_dir.unlink()
            aside.rename(self.images_dir)


def upload(client: httpx.Client, image: bytes | None = None, **fields: object) -> httpx.Response:
    """Upload like a plain client. A field set to None is omitted."""
    path, headers = str(fields.pop("path", "/v1/upload")), fields.pop("headers", None)
    content_type = str(fields.pop("content_type", "image/png"))
    before, before_type = fields.pop("before", None), str(fields.pop("before_type", content_type))
    defaults: dict[str, object] = {
        "name": "checkout/cart",
        "pr_number": 7,
        "commit_sha": SHA,
        "viewport": "1280x800",
    }
    data = {name: str(value) for name, value in (defaults | fields).items() if value is not None}
    files = {"image": ("shot.png", png() if image is None else image, content_type)}
    if isinstance(before, bytes):
        files["before"] = ("before.png", before, before_type)
    return client.post(path, data=data, files=files, headers=headers)
