"""Installations that a drill may kill: on the embedded engines, or on PostgreSQL, S3 and Valkey."""

import contextlib
import os
import random
import sqlite3
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import obstore
import psycopg
from obstore.store import S3Store

from prshots.server.domain.upkeep import safeguards
from support.engine_servers import (
    PostgreSQL,
    SeaweedFS,
    Server,
    Valkey,
    running_postgresql,
    running_seaweedfs,
    running_valkey,
)
from support.service import PRSHOTS, Service
from support.service_processes import change_database, children, component_of, is_ready, kill, serve
from support.upload_load import UploadLoad
from support.waiting import wait_until

Rows = list[tuple[object, ...]]
SIZES = (100, 5_000, 70_000)
"""Of images: below and above the block size that delivery reads."""

BACK_UP_SECONDS = 300
"""How long engines and replicas may take to start again: together, on a busy machine."""


class Site(ABC):
    """Replicas of the whole service on the same engines, kept alive as an init system does."""

    kinds: Sequence[str]
    """What can be killed. A kind that is listed twice is killed twice as often."""

    engines_die = False
    """Whether the engines may be down, so that a 503 is a correct reply."""

    pause_seconds = UploadLoad.pause_seconds

    def __init__(self, replicas: Sequence[Service]) -> None:
        self.replicas = replicas
        self.restarts = 0
        self._reviving = threading.Lock()

    @property
    def api_addresses(self) -> list[str]:
        return [url for replica in self.replicas for url in (replica.base_url, replica.web_url)]

    @property
    def image_addresses(self) -> list[str]:
        return [replica.img_url for replica in self.replicas]

    def start(self) -> None:
        for replica in self.replicas:
            serve(replica)
        self.wait_until_up()

    def stop(self) -> None:
        for replica in self.replicas:
            if replica.process is not None:
                replica.stop()

    def kill(self, kind: str, rng: random.Random) -> None:
        """Kill -9 one process of this kind. Does not wait until it is replaced."""
        replica = rng.choice(self.replicas)
        assert replica.process is not None
        if kind == "supervisor":
            replica.process.kill()
        elif kind == "replica":  # the supervisor and all it started, as when a machine stops
            started = children(replica.process.pid)
            replica.process.kill()
            for pid in started:
                kill(pid)
        elif kind == "picture":  # a process that decodes images for the API, if there is one
            if workers := sorted(children(self._worker("api", rng))):
                kill(rng.choice(workers))
        else:
            kill(self._worker(kind, rng))

    def revive(self) -> None:
        """Start what has ended, as an init system does. It does not wait until a replica is up."""
        with self._reviving:  # two threads must not start the same thing
            self._revive()

    def _revive(self) -> None:
        for replica in self.replicas:
            if replica.process is not None and replica.process.poll() is not None:
                self.restarts += 1
                serve(replica)

    def wait_until_up(self) -> None:
        """Wait until every replica is ready. A start that fails is tried again."""

        def all_ready() -> bool:
            self.revive()
            return all(is_ready(address) for address in (*self.api_addresses, *self.image_addresses))

        wait_until(all_ready, lambda: f"all components:\n{self.log[-3000:]}", BACK_UP_SECONDS)

    def load(self, token: str, seed: int, *, expires_on_close: bool = True) -> UploadLoad:
        """Return clients of all replicas, with images that are small: a full series keeps tens of thousands."""
        return UploadLoad(
            token,
            seed,
            self.api_addresses,
            self.image_addresses,
            sizes=SIZES,
            expires_on_close=expires_on_close,
            sends_less=True,
            engines_die=self.engines_die,
            pause_seconds=self.pause_seconds,
        )

    def start_sweep(self) -> "subprocess.Popen[bytes]":
        with (self.replicas[0].folder / "serve.log").open("ab") as log:
            return subprocess.Popen([PRSHOTS, "sweep"], env=self.replicas[0].env, stdout=log, stderr=log)

    def sweep(self) -> None:
        """Sweep as if every file without a record were old. Nothing else may run."""
        with patch.object(safeguards, "LEFTOVER_AGE_SECONDS", -60):
            self.replicas[0].run("sweep")

    @property
    def log(self) -> str:
        return "".join(replica.log for replica in self.replicas)

    @abstractmethod
    def snapshot(self, *queries: str) -> list[Rows]:
        """Return the rows of each query, all of the same moment."""

    @abstractmethod
    def change(self, statement: str) -> None:
        """Change the database beside the service."""

    @abstractmethod
    def stored(self) -> dict[str, int]:
        """Return the size of everything in the store by its key."""

    def image_folders(self) -> Iterator[Path]:
        """Yield the folders with images, if they are on this machine's disk."""
        yield from ()

    def _worker(self, part: str, rng: random.Random) -> int:
        """Return the pid of a worker of this part. Waits while all of them are being replaced."""
        found: list[int] = []

        def is_there() -> bool:
            self.revive()
            supervisors = [replica.process.pid for replica in self.replicas if replica.process is not None]
            found[:] = [pid for each in supervisors for pid in children(each) if component_of(pid) == part]
            return bool(found)

        wait_until(is_there, lambda: f"a worker of {part}:\n{self.log[-3000:]}", BACK_UP_SECONDS)
        return rng.choice(sorted(found))


class EmbeddedSite(Site):
    """One service on SQLite, a folder and memory."""

    kinds = ("api",) * 4 + ("delivery",) * 4 + ("web",) * 4 + ("sweep", "supervisor")

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        super().__init__([Service(folder, {"UPLOADS_PER_MINUTE": "1000000", **settings})])
        self.service = self.replicas[0]

    def snapshot(self, *queries: str) -> list[Rows]:
        return sqlite_snapshot(self.service.data_dir / "prshots.db", *queries)

    def change(self, statement: str) -> None:
        change_database(self.service, statement)

    def stored(self) -> dict[str, int]:
        folder = self.service.images_dir
        return {key: (folder / key).stat().st_size for key in self.service.stored_files()}

    def image_folders(self) -> Iterator[Path]:
        yield from self.service.images_dir.glob("??")


class SharedSite(Site):
    """Two replicas of the whole service on PostgreSQL, S3 (SeaweedFS) and Valkey."""

    kinds = (
        *("api",) * 5,
        *("delivery",) * 4,
        *("web",) * 3,
        *("sweep", "supervisor", "replica", "backend", "backend", "postgresql", "seaweedfs", "valkey"),
    )
    engines_die = True

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        postgresql: PostgreSQL,
        seaweedfs: SeaweedFS,
        valkey: Valkey,
    ) -> None:
        self._engines: Mapping[str, Server] = {
            "postgresql": postgresql,
            "seaweedfs": seaweedfs,
            "valkey": valkey,
        }
        self._database = postgresql.new_database()
        self._bucket = seaweedfs.client(bucket := seaweedfs.new_bucket())
        shared = {
            "DATABASE_URL": self._database,
            "STORE_URL": seaweedfs.store_url(bucket),
            "COUNTER_URL": valkey.url,
            "UPLOADS_PER_MINUTE": "1000000",
            "SIGNING_KEYS_FILE": str(folder / "keys"),  # like a secret that is mounted on both machines
            **settings,
        }
        replicas = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            replicas.append(Service(folder / name, dict(shared)))
        super().__init__(replicas)

    def start(self) -> None:
        for replica in self.replicas:  # one after the other: the first one creates the signing keys
            serve(replica)
            wait_until(lambda replica=replica: is_ready(replica.base_url), lambda: self.log)
        self.wait_until_up()

    def kill(self, kind: str, rng: random.Random) -> None:
        if kind == "backend":
            self._kill_backend(rng)
        elif kind in self._engines:
            self._engines[kind].kill()
        else:
            super().kill(kind, rng)

    def _revive(self) -> None:
        for engine in self._engines.values():
            # PostgreSQL also ends by itself, when the process that recovers it is killed.
            if engine.process is not None and engine.process.poll() is not None:
                engine.start()
        super()._revive()

    def snapshot(self, *queries: str) -> list[Rows]:
        with self._connect() as connection:
            return postgresql_snapshot(connection, *queries)

    def change(self, statement: str) -> None:
        with self._connect() as connection:
            connection.execute(statement)

    def _connect(self) -> "psycopg.Connection[Any]":
        """Connect to the database. Waits while PostgreSQL recovers: it may not have noticed the last kill yet."""
        found: list[psycopg.Connection[Any]] = []

        def is_connected() -> bool:
            self.revive()
            with contextlib.suppress(psycopg.OperationalError):
                found.append(psycopg.connect(self._database))
            return bool(found)

        wait_until(is_connected, "PostgreSQL to take connections")
        return found[0]

    def stored(self) -> dict[str, int]:
        return stored_in(self._bucket)

    def _kill_backend(self, rng: random.Random) -> None:
        """Kill a backend of PostgreSQL, which then ends all the others and recovers."""
        server = self._engines["postgresql"].process
        if server is not None and (backends := children(server.pid)):
            kill(rng.choice(sorted(backends)))


@contextmanager
def running_site(engines: str, folder: Path, settings: Mapping[str, str] = {}) -> Iterator[Site]:
    """Run an installation on these engines, "embedded" or "shared", and stop it at the end."""
    with ExitStack() as stack:
        if engines == "embedded":
            site: Site = EmbeddedSite(folder, settings)
        else:
            postgresql = stack.enter_context(running_postgresql())
            seaweedfs = stack.enter_context(running_seaweedfs())
            valkey = stack.enter_context(running_valkey())
            stack.enter_context(patch.dict(os.environ, seaweedfs.credentials))
            site = SharedSite(folder, settings, postgresql, seaweedfs, valkey)
        stack.callback(site.stop)
        site.start()
        yield site


def sqlite_snapshot(path: Path, *queries: str) -> list[Rows]:
    uri = f"file:{path}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=20, isolation_level=None)) as database:
        database.execute("BEGIN")
        return [database.execute(query).fetchall() for query in queries]


def postgresql_snapshot(connection: "psycopg.Connection[Any]", *queries: str) -> list[Rows]:
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return [connection.execute(query).fetchall() for query in queries]


def stored_in(bucket: S3Store) -> dict[str, int]:
    """Return the sizes of the bucket's objects by key, except the store's marker."""
    listed = obstore.list(bucket).collect()
    return {entry["path"]: entry["size"] for entry in listed if not entry["path"].startswith(".")}
