"""Open a database, and run statements on it off the event loop.

SQLAlchemy is used synchronously, in threads of our own: one hop to a thread per operation, where an async
driver hops once per statement, and once more for BEGIN, COMMIT and the clean-up. A look-up by key makes none.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import Histogram
from sqlalchemy import URL, Connection, Engine, Select, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

from prshots.contract.errors import RecordsError, RecordsFullError
from prshots.server.observability.metrics import DATABASE_SECONDS, ENGINE_FAILURES

READERS = 4
BUSY_SECONDS = 10
"""How long a writer waits for another process's transaction. Ours are all short."""

# Made once: on the way of every request, finding a figure by its labels costs as much as changing it.
LOOK_UP, READ, WRITE = (DATABASE_SECONDS.labels(operation) for operation in ("look_up", "read", "write"))
_FAILURES = ENGINE_FAILURES.labels("database")
_DISK_FULL = "53100"  # PostgreSQL's code for it

T = TypeVar("T")


def open_sqlite(path: Path) -> Engine:
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        URL.create("sqlite", database=str(path)),  # a path may hold what a URL would give another meaning
        pool_size=READERS + 2,  # and the two that are kept, to look up and to write
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # BEGIN and COMMIT are ours
        try:
            cursor = connection.cursor()
            _switch_to_wal(cursor)
            cursor.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut
            cursor.execute("PRAGMA foreign_keys = ON")
            cursor.close()
        except sqlite3.Error:
            connection.close()  # the pool does not have it yet, and would not close it
            raise

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Writers take the lock at once: a transaction that began by reading could not wait for it later.
        if connection.get_execution_options().get("writes"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _switch_to_wal(cursor: DBAPICursor) -> None:
    """Switch a new file to WAL. Of several processes that do at once, SQLite refuses one without waiting."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


class Database:
    """Runs work on SQLite: look-ups right here, the rest in threads.

    The writer is one thread, so that our own writes never wait for each other in SQLite. `postgresql.py` has
    the same for a server.
    """

    def __init__(self, engine: Engine, readers: int = READERS, writers: int = 1) -> None:
        self.engine = engine
        self._looking_up = _Kept(engine)
        self._texts: dict[Select[Any], tuple[str, list[str]]] = {}
        self._writing = _Kept(engine.execution_options(writes=True))
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="records-read")
        self._writers = ThreadPoolExecutor(writers, thread_name_prefix="records-write")

    async def look_up(self, query: Select[Any], **parameters: object) -> Sequence[Any] | None:
        """Read a row by its key, on the event loop itself and without SQLAlchemy's result objects.

        SQLite does it in a fifth of the time that a thread would take to be asked and to answer, and in WAL
        mode a reader waits for nobody.
        """
        text, names = self._as_text(query)
        with timed(LOOK_UP), translating(), self._looking_up.connection() as connection:
            cursor = connection.connection.cursor()
            cursor.execute(text, [parameters[name] for name in names])
            row = cursor.fetchone()
            cursor.close()
            return row

    def _as_text(self, query: Select[Any]) -> tuple[str, list[str]]:
        """Return the query's SQL and the names of its parameters in their order, compiled once."""
        if query not in self._texts:
            compiled = query.compile(self.engine)
            self._texts[query] = compiled.string, list(compiled.positiontup or ())
        return self._texts[query]

    async def read(self, work: Callable[[Connection], T]) -> T:
        with timed(READ):
            return await self._in_thread(self._readers, lambda: self._read(work))

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run in a transaction, committed and durable on return. The work may be run more than once."""
        with timed(WRITE):
            return await self._in_thread(self._writers, lambda: self._write(work))

    async def check(self) -> None:
        await self.read(lambda connection: connection.execute(text("SELECT 1")))

    async def close(self) -> None:
        self._readers.shutdown()
        self._writers.shutdown()
        self._looking_up.close()
        self._writing.close()
        self.engine.dispose()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        with self._writing.connection() as connection, connection.begin():
            return work(connection)

    async def _in_thread(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        with translating():
            return await asyncio.get_running_loop().run_in_executor(threads, work)


class _Kept:
    """A connection that is kept from one use to the next; one that failed is not used again."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        if self._connection is None:
            self._connection = self._engine.connect()
        try:
            yield self._connection
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()


class timed:  # noqa: N801 - read as the others: with timed(READ)
    """Times an operation, and counts it if the database failed it: what it refused, it did not fail.

    A class, because a generator would take longer than to note the time.
    """

    __slots__ = ("_seconds", "_started")

    def __init__(self, seconds: Histogram) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._seconds.observe(time.perf_counter() - self._started)
        if isinstance(error, RecordsError) and not is_refusal(error):
            _FAILURES.inc()


@contextlib.contextmanager
def translating() -> Iterator[None]:
    """Turn SQLAlchemy's exceptions and the driver's own into ours, with the reason but without the SQL."""
    try:
        yield
    except DBAPIError as error:
        raise _ours(error.orig) from error
    except sqlite3.Error as error:
        raise _ours(error) from error
    except UnicodeEncodeError as error:
        raise RecordsError("the database takes no text that is not Unicode") from error


def is_refusal(error: RecordsError) -> bool:
    """Tell whether it was the data that the database did not take, while it works well enough."""
    return isinstance(error.__cause__, IntegrityError | DataError | UnicodeEncodeError)


def _ours(error: BaseException | None) -> RecordsError:
    sqlite_code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte: the primary code
    if sqlite_code == sqlite3.SQLITE_FULL or getattr(error, "sqlstate", None) == _DISK_FULL:
        return RecordsFullError("the database has no room left on its disk")
    return RecordsError(f"the database did not answer: {_reason(error)}")


def _reason(error: BaseException | None) -> str:
    """Return what went wrong in one line; what else PostgreSQL tells may hold what was to be written."""
    told = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return told.strip().partition("\n")[0] or type(error).__name__
