"""Open a database and run statements on it outside the event loop.

SQLAlchemy runs synchronously in our own threads. Each operation switches to a thread once. An async driver
switches once per statement, and again for BEGIN, COMMIT and cleanup. A look-up by key doesn't switch at all.
"""

import contextlib
import contextvars
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import Histogram
from sqlalchemy import URL, Connection, Engine, Executable, Select, UpdateBase, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

from prshots.contract import errors
from prshots.server.adapters import deadlines
from prshots.server.adapters.deadlines import seconds_left
from prshots.server.adapters.private_files import FILE, create_private_file, make_private_folder
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.observability.metrics import (
    DATABASE_CONNECTIONS,
    DATABASE_IN_PROGRESS,
    DATABASE_SECONDS,
    ENGINE_FAILURES,
)
from prshots.server.observability.outages import Outage

# Turns for the processes that write to one SQLite file. SQLite has a lock for its writers, but a waiter
# sleeps in steps of up to 100 ms and doesn't notice when the lock is free. With two busy processes, one
# waited for 1 s and got a fifth of the commits. So our processes first wait for a lock whose next holder the
# kernel wakes. The kernel also frees it when its holder dies. SQLite's own lock still decides: a writer
# without a turn waits longer but is safe.

SUFFIX = "-turn"
_WAIT = DATABASE_SECONDS.labels("wait")


class WriterTurn:
    """A process's turn to write, as a `with` block. Use it in one thread."""

    def __init__(self, database: Path) -> None:
        self._path = f"{database}{SUFFIX}"
        self._lock = -1

    def __enter__(self) -> None:
        """Raise RecordsBusyError if the turn comes after the call's deadline, when nobody waits any more."""
        if self._lock < 0:
            self._open()
        if self._lock < 0:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with _WAIT.time():
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if seconds_left() <= 0:
                self.__exit__()
                raise errors.RecordsBusyError(
                    "the database did not answer: another process kept it busy"
                ) from None

    def __exit__(self, *_: object) -> None:
        if self._lock >= 0:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _open(self) -> None:
        with contextlib.suppress(OSError):  # another user owns it, or the folder is read-only
            self._lock = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE)


READERS = 4
BUSY_SECONDS = 8
"""How long a writer waits for another process's transaction. Shorter than the call's deadline, to let SQLite
report the timeout itself."""

# Looked up once: finding a metric by its labels for every request would cost as much as updating it.
LOOK_UP, READ, WRITE = (DATABASE_SECONDS.labels(operation) for operation in ("look_up", "read", "write"))
_FAILURES = ENGINE_FAILURES.labels("database")
_DISK_FULL = "53100"  # PostgreSQL's code for a full disk
MOVED = "PRMOV"
"""The error code of the `prshots move` trigger that refuses writes on PostgreSQL. SQLite has its own code."""

T = TypeVar("T")


def open_sqlite(path: Path) -> Engine:
    make_private_folder(path.parent)
    create_private_file(path)  # SQLite gives its other files the same mode
    engine = create_engine(
        URL.create("sqlite", database=str(path)),  # not a string: a path may contain URL syntax
        pool_size=READERS + 2,  # plus the two permanent connections for look-ups and writes
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # we send BEGIN and COMMIT ourselves
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")  # in a new file: lets the sweep shrink it
            _switch_to_wal(cursor)
            cursor.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut
            cursor.execute("PRAGMA foreign_keys = ON")
            cursor.close()
        except sqlite3.Error:
            connection.close()  # the pool doesn't know it yet and wouldn't close it
            raise

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Writers lock immediately: a transaction that starts with a read can't wait for the write lock.
        if connection.get_execution_options().get("writes"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _switch_to_wal(cursor: DBAPICursor) -> None:
    """Switch a new file to WAL. Retries, because concurrent processes get SQLITE_BUSY immediately."""
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
    """Runs work on SQLite: look-ups on the event loop, everything else in threads.

    There is one writer thread, and writing processes take turns. Our own writes therefore never wait for each
    other inside SQLite. `postgresql.py` has the same interface for a server.
    """

    def __init__(
        self,
        engine: Engine,
        readers: int = READERS,
        writers: int = 1,
        call_seconds: float = deadlines.DATABASE_SECONDS,
    ) -> None:
        self.engine = engine
        self.not_open = ""
        """Why the database can't be used yet. While this is set, all work raises RecordsError with it."""
        self.call_seconds = call_seconds
        self.outage = Outage("database unavailable", "database is back")
        self._looking_up = _PermanentConnection(engine)
        self._writing = _PermanentConnection(engine.execution_options(writes=True))
        self._turn = WriterTurn(Path(engine.url.database or ""))  # unused on PostgreSQL
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="records-read")
        self._writers = ThreadPoolExecutor(writers, thread_name_prefix="records-write")
        DATABASE_IN_PROGRESS.set(0)  # the worker that had this slot before may have died with some
        DATABASE_CONNECTIONS.set(readers + writers)

    async def look_up(self, query: Prepared, **given: object) -> Sequence[Any] | None:
        """Read a row by its key, directly on the event loop and without SQLAlchemy's result objects.

        SQLite takes a fifth of the time that switching to a thread and back takes. In WAL mode, readers never
        wait.
        """
        self._require_open()
        statement, parameters = query.bind(self.engine.dialect, given)
        with (
            timed(LOOK_UP, self.outage, "look_up"),
            translating(),
            self._looking_up.connection() as connection,
        ):
            cursor = connection.connection.cursor()
            cursor.execute(statement, parameters)
            row = cursor.fetchone()
            cursor.close()
            return row

    async def read(self, work: Callable[[Connection], T]) -> T:
        with timed(READ, self.outage, "read"):
            return await self._in_thread(self._readers, lambda: self._read(work), errors.RecordsError)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction that is durably committed on return. The work may run more than once."""
        context = contextvars.copy_context()  # tells the thread who acts
        with timed(WRITE, self.outage, "write"):
            return await self._in_thread(
                self._writers, lambda: context.run(self._write, work), errors.RecordsUnsureError
            )

    async def rows(self, query: Executable | Prepared, **given: object) -> Sequence[Any]:
        if isinstance(query, Prepared):
            return await self.read(lambda connection: query.rows(connection, given))
        return await self.read(lambda connection: connection.execute(query, given).all())

    async def first(self, query: Executable, **given: object) -> Any:  # noqa: ANN401 - a row, or None
        return await self.read(lambda connection: connection.execute(query, given).first())

    async def value(self, query: Select[T]) -> T:
        """Return the first column of the only row."""
        return await self.read(lambda connection: connection.execute(query).scalar_one())

    async def execute(self, statement: UpdateBase) -> int:
        """Run a statement in its own transaction. Return how many rows it changed."""
        return await self.write(lambda connection: connection.execute(statement).rowcount)

    async def close(self) -> None:
        self._readers.shutdown()
        self._writers.shutdown()
        self._looking_up.close()
        self._writing.close()
        self._turn.close()
        self.engine.dispose()

    def _require_open(self) -> None:
        if self.not_open:
            raise errors.RecordsError(self.not_open)

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        with (
            self._turn,
            self._writing.connection() as connection,
            calls_after_commit(connection),
            connection.begin(),
        ):
            return work(connection)

    async def _in_thread(
        self, threads: ThreadPoolExecutor, work: Callable[[], T], overdue: type[errors.RecordsError]
    ) -> T:
        """Run work under the call's deadline.

        Raises `overdue` if the deadline passes after the work has begun.
        """
        with translating(), DATABASE_IN_PROGRESS.track_inprogress():
            self._require_open()
            try:
                return await deadlines.in_thread(threads, work, self.call_seconds)
            except deadlines.OverdueError as error:
                kind = overdue if error.has_begun else errors.RecordsError
                raise kind(f"the database did not answer: {error}") from error


_AFTER_COMMIT = "prshots.after_commit"


def after_commit(connection: Connection, call: Callable[[], object]) -> None:
    """Call this once the transaction is committed."""
    connection.info[_AFTER_COMMIT].append(call)


@contextlib.contextmanager
def calls_after_commit(connection: Connection) -> Iterator[None]:
    """Collect calls during a transaction, and make them at the end. After an error, forget them."""
    connection.info[_AFTER_COMMIT] = []
    yield
    for call in connection.info.pop(_AFTER_COMMIT):
        call()


class _PermanentConnection:
    """A connection that stays open between uses. An error replaces it."""

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


class timed:  # noqa: N801 - used like a function: with timed(READ)
    """Times an operation, counts database failures and records outages. Rejected data isn't a failure.

    This is a class because a generator would take longer than the measurement itself.
    """

    __slots__ = ("_operation", "_outage", "_seconds", "_started")

    def __init__(self, seconds: Histogram, outage: Outage, operation: str) -> None:
        self._seconds, self._outage, self._operation = seconds, outage, operation

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._seconds.observe(time.perf_counter() - self._started)
        if isinstance(error, errors.RecordsError) and not is_refusal(error):
            _FAILURES.inc()
            self._outage.note(self._operation, error)
        elif error is None:
            self._outage.note_success(self._operation)


@contextlib.contextmanager
def translating() -> Iterator[None]:
    """Translate exceptions from SQLAlchemy and the driver into ours. Keep the reason, but not the SQL."""
    try:
        yield
    except DBAPIError as error:
        if _is_moved(error.orig):  # not `from error`: that would count as a data conflict
            raise errors.MovedError(_reason(error.orig)) from error.orig
        raise _ours(error.orig) from error
    except sqlite3.Error as error:
        raise _ours(error) from error
    except UnicodeEncodeError as error:
        raise errors.RecordsError("the database only accepts valid Unicode text") from error


def is_refusal(error: errors.RecordsError) -> bool:
    """Return whether a working database rejected the data."""
    return isinstance(error.__cause__, IntegrityError | DataError | UnicodeEncodeError)


def _ours(error: BaseException | None) -> errors.RecordsError:
    sqlite_code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte: the primary code
    if sqlite_code == sqlite3.SQLITE_FULL or getattr(error, "sqlstate", None) == _DISK_FULL:
        return errors.RecordsFullError("the disk of the database is full")
    kind = errors.RecordsBusyError if sqlite_code == sqlite3.SQLITE_BUSY else errors.RecordsError
    return kind(f"the database did not answer: {_reason(error)}")


def _is_moved(error: BaseException | None) -> bool:
    """Return whether a `prshots move` trigger refused a write. No other trigger refuses writes."""
    sqlite_code = getattr(error, "sqlite_errorcode", 0)
    return sqlite_code == sqlite3.SQLITE_CONSTRAINT_TRIGGER or getattr(error, "sqlstate", None) == MOVED


_ATTEMPT = re.compile(r"^- host: '(.+?)', port: '(.+?)', hostaddr: .+?: (?:.+ failed: )?(.+)$", re.MULTILINE)
"""A line of psycopg's message about several hosts. Its first line has only the last host's error."""


def _reason(error: BaseException | None) -> str:
    """Return the reason on one line. Other parts of PostgreSQL's message may contain data."""
    message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    if attempts := _ATTEMPT.findall(message):
        return "; ".join(f"{host}:{port}: {reason}" for host, port, reason in attempts)
    return message.strip().partition("\n")[0] or type(error).__name__
