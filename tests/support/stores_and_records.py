"""Stores, records, sample images and projects, and disks that fail."""

import asyncio
import contextlib
import ctypes
import functools
import multiprocessing
import os
import secrets
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import psycopg
import pytest
from sqlalchemy import Engine

from prshots.contract.errors import RecordsFullError
from prshots.contract.limits import Policy
from prshots.server.adapters.keys import FixedKeys
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.private_files import create_private_file, make_private_folder
from prshots.server.adapters.sql.database.database import Database, open_sqlite
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.database.schema import metadata
from prshots.server.adapters.sql.images.images import SqlImages
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.projects import SqlProjects, SqlTokens
from prshots.server.adapters.sql.storage.quotas import SqlQuotas
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image
from prshots.server.domain.images.ports import ImageRecords, ObjectStore
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project, UploadToken
from prshots.server.domain.projects.ports import ProjectRecords, TokenRecords
from prshots.server.domain.storage.service import Quotas
from prshots.server.domain.upkeep.ports import UpkeepEngines
from prshots.server.links import KeyRing
from prshots.server.wiring import upkeep_engines
from support import neighbor

if TYPE_CHECKING:
    from support.engine_servers import PostgreSQL

ONE_KEY = KeyRing.parse(f"k1:{'0' * 64}")
NOW = 1_800_000_000
DAY = 86_400


ENGINES = (
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.slow),
    pytest.param("postgresql_15", marks=pytest.mark.nightly),
)
"""Fixture parameters for `opener`: each contract must hold on every engine."""

PARTITIONED = pytest.param("partitioned", marks=pytest.mark.slow)
"""PostgreSQL with `images` in partitions: the same SQL must work on it."""

PARTITION_IMAGES = Path(__file__).parents[2] / "deploy" / "postgresql" / "partition-images.sql"

_databases: dict[tuple[int, bool], str] = {}


class Records(ImageRecords, ProjectRecords, TokenRecords, Protocol):
    """What most tests fill: images, projects and tokens."""


class SqlRecords(SqlImages, SqlProjects, SqlTokens):
    """What most tests fill, on one database."""


def opener(
    request: pytest.FixtureRequest, folder: Path, *, with_neighbor: bool = True
) -> Callable[[], Database]:
    """Return a function that opens the same new database each time, on the engine in `request.param`.

    It holds a neighbor, whose rows must be the same when the fixture ends. Only tests of a new installation may
    go without.
    """
    if request.param == "sqlite":
        put_migrated_sqlite(folder, with_neighbor=with_neighbor)
        if with_neighbor:
            _watch_neighbor(request, lambda: sqlite3.connect(folder / "prshots.db"))
        return lambda: open_database(folder)
    partitioned = request.param == "partitioned"
    server = request.getfixturevalue("postgresql" if partitioned else request.param)
    url = empty_database(server, partitioned=partitioned)
    if with_neighbor:
        engine = _neighbors_engine(url)
        neighbor.fill(engine)
        engine.dispose()
        _watch_neighbor(request, lambda: psycopg.connect(url))
    return lambda: open_postgresql(url)


@functools.cache
def _neighbors_engine(url: str) -> Engine:
    """Return the same engine for each test: it compiles the statements once."""
    return open_postgresql(url).engine


def _watch_neighbor(request: pytest.FixtureRequest, connect: Callable[[], neighbor.Connection]) -> None:
    watch = contextlib.ExitStack()
    watch.enter_context(neighbor.unchanged(connect))
    request.addfinalizer(watch.close)


def empty_database(server: "PostgreSQL", *, partitioned: bool = False) -> str:
    """Return the address of a database with empty tables.

    It reuses one database: emptying it takes a tenth of the time of creating another.
    """
    url = _databases.get((server.port, partitioned))
    if url is None:
        url = _databases[server.port, partitioned] = server.new_database()
        database = open_postgresql(url)
        migrate(database.engine)
        database.engine.dispose()
        if partitioned:
            partition_images(url)
    with psycopg.connect(url) as connection:
        for table in reversed(metadata.sorted_tables):
            if table.name == "organizations":
                connection.execute("DELETE FROM organizations WHERE id <> 'local'")
                connection.execute("UPDATE organizations SET quota_bytes = NULL")
            elif table.name != "installation":
                connection.execute(f"DELETE FROM {table.name}")
    return url


def partition_images(url: str, partitions: int = 4) -> None:
    options = f"-c prshots.partitions={partitions}"
    with psycopg.connect(url, autocommit=True, options=options) as connection:
        connection.execute(PARTITION_IMAGES.read_bytes())


def open_database(folder: Path) -> Database:
    """Open the folder's database, which is new unless there is one."""
    if not (folder / "prshots.db").exists():
        put_migrated_sqlite(folder)
    return open_migrated(folder)


def put_migrated_sqlite(folder: Path, *, with_neighbor: bool = False) -> None:
    """Put the database of a new installation into the folder: a copy takes a tenth of the time of migrating."""
    make_private_folder(folder)
    file = folder / "prshots.db"
    create_private_file(file)
    file.write_bytes(_migrated_sqlite(with_neighbor))
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE installation SET id = ?", (secrets.token_hex(16),))
        database.commit()


@functools.cache
def _migrated_sqlite(with_neighbor: bool) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        engine = open_migrated(Path(folder)).engine
        if with_neighbor:
            neighbor.fill(engine)
        engine.dispose()
        return (Path(folder) / "prshots.db").read_bytes()


def open_migrated(folder: Path) -> Database:
    """Open the folder's database as the service does, without a copy."""
    engine = open_sqlite(folder / "prshots.db")
    migrate(engine)
    return Database(engine)


def open_records(folder: Path) -> SqlRecords:
    return SqlRecords(open_database(folder))


@contextlib.asynccontextmanager
async def open_all(folder: Path) -> AsyncIterator[tuple[SqlRecords, SqlPeople, SqlOverview]]:
    """Open the three stores on one database, as the API does."""
    database = open_database(folder)
    yield SqlRecords(database), SqlPeople(database), SqlOverview(database)
    await database.close()


def engines_of(records: SqlRecords, store: ObjectStore) -> UpkeepEngines:
    """Return what a sweep and a check work on."""
    engines = upkeep_engines(records._database, store, lambda: ONE_KEY, audit_days=400)
    return engines._replace(records=records, projects=records, tokens=records)


def image_service(records: SqlRecords, store: ObjectStore, clock: Callable[[], float] = time.time) -> Images:
    """Return the service with one signing key."""
    return Images(
        records=records,
        projects=records,
        store=store,
        quotas=Quotas(SqlQuotas(records._database)),
        keys=FixedKeys(ONE_KEY),
        img_url="http://img",
        web_url="http://web",
        clock=clock,
    )


class DiskStoreAt(DiskStore):
    """A disk whose clock stands at `now`, for tests with their own clock."""

    now: float | None = NOW

    async def time(self) -> float | None:
        return self.now


def a_project(policy: Policy = Policy.PR_CLOSE, retain_days: int | None = None, name: str = "") -> Project:
    identity = secrets.token_hex(8)
    return Project(
        identity,
        name or f"project-{identity}",
        LOCAL_ORGANIZATION,
        LOCAL_ORGANIZATION,
        policy,
        retain_days,
        NOW,
    )


def an_image(project: Project, **changes: object) -> Image:
    plain = Image(
        id=secrets.token_hex(16),
        project_id=project.id,
        pr_number=7,
        name="checkout/cart",
        commit_sha="0123456789abcdef0123456789abcdef01234567",
        viewport="1280x800",
        ext="png",
        size=1000,
        uploaded_at=NOW,
        kid="k1",
    )
    if changes.get("kind", "pull_request") != "pull_request":
        changes["pr_number"] = NO_PULL_REQUEST
    return plain._replace(**changes)


def a_pair(project: Project, **changes: object) -> tuple[Image, Image]:
    """Return an image and its before."""
    before = an_image(project, **(changes | {"kind": "before"}))
    return an_image(project, **changes, before_id=before.id), before


def a_token(project: Project, **changes: object) -> UploadToken:
    sha256 = secrets.token_hex(32)
    plain = UploadToken(secrets.token_hex(6), project.id, "ci", f"msr_…{sha256[-4:]}", sha256, NOW)
    return replace(plain, **changes)


DATABASE_CALLS: dict[str, Callable[[Database], Awaitable[object]]] = {
    "look up": lambda database: SqlRecords(database).project_of_token("0" * 64),
    "read": lambda database: SqlRecords(database).projects(),
    "write": lambda database: SqlRecords(database).touch_token("0", NOW),
    "upload": lambda database: SqlRecords(database).add_image(an_image(a_project())),
}
"""A call for each way in which stores use the database."""


async def assert_every_upload_fails(records: SqlRecords, project: Project) -> None:
    """Fill what space the database's files still have, so the first uploads may fit. Then all fail."""
    outcomes: list[BaseException | bool] = []
    for _ in range(50):
        adding = (records.add_image(an_image(project)) for _ in range(200))
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        if True not in outcomes:
            break
    assert {type(outcome) for outcome in outcomes} == {RecordsFullError}


def at_once(work: Callable[[], str], processes: int) -> list[str]:
    """Run the same work in several processes at the same moment, and return their results."""
    context = multiprocessing.get_context("fork")
    together, results = context.Barrier(processes), context.Queue()

    def run() -> None:
        together.wait()
        try:
            results.put(work())
        except Exception as error:  # noqa: BLE001 - the test compares the results
            results.put(repr(error))

    started = [context.Process(target=run) for _ in range(processes)]
    for process in started:
        process.start()
    made = [results.get(timeout=90) for _ in started]
    for process in started:
        process.join(timeout=90)
    results.close()
    results.join_thread()
    return made


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small file system in `folder`, which a test can fill."""
    with _mounted("tmpfs", folder, "tmpfs", options=f"size={size}"):
        yield folder


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only, even for root, as the kernel does when a disk fails."""
    with _mounted(folder, folder, "none", MS_BIND):
        assert _mount(folder, folder, "none", MS_REMOUNT | MS_BIND | MS_RDONLY) == 0
        yield


@contextlib.contextmanager
def filled_up(folder: Path) -> Iterator[None]:
    """Fill the disk completely."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    try:
        yield
    finally:
        filler.unlink()


# Mount through the C library: a unit test starts no process.
_libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
MNT_DETACH = 2


def _mount(source: Path | str, folder: Path, kind: str, flags: int, options: str = "") -> int:
    given = (str(source).encode(), bytes(folder), kind.encode(), ctypes.c_ulong(flags), options.encode())
    return int(_libc.mount(*given))


@contextlib.contextmanager
def _mounted(
    source: Path | str, folder: Path, kind: str, flags: int = 0, options: str = ""
) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("mounting a file system takes root")
    folder.mkdir(exist_ok=True)
    if _mount(source, folder, kind, flags, options):
        pytest.skip(f"this machine does not allow mounting: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        # Detach: delivery may still hold the file that it has just sent.
        if _libc.umount2(bytes(folder), MNT_DETACH):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
