"""The database on a PostgreSQL server, 15 to 18: connections, timeouts and retries.

This uses threads, like SQLite. A connection belongs to one thread during one operation. The pool doesn't test
connections before use. If a connection turns out to be dead, a new one replaces it and the work is retried.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from prshots.contract.errors import RecordsError, RecordsUnsureError, SettingsError
from prshots.server.adapters.deadlines import DATABASE_SECONDS, seconds_left
from prshots.server.adapters.sql.database.database import LOOK_UP, Database, calls_after_commit, timed
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.config.values import PERCENT_ENCODE
from prshots.server.observability.metrics import DATABASE_CONNECTIONS

LOOKERS, READERS, WRITERS = 2, 3, 3
"""The number of threads per process, and therefore the maximum number of connections. Every request starts
with a look-up, so look-ups have their own threads and never wait behind a dashboard list. At eight
connections each, a dozen processes fit on a server with a limit of 100. Uploads don't need more, because
concurrent ones share a commit."""

ATTEMPTS = 4
"""How many times to attempt a transaction that conflicts with another one."""

MIGRATION_LOCK = 0x7072_7368_6F74_7301
"""The number of the advisory lock for migrations. Any number works, as long as nothing else uses it."""

MIGRATION_POLL_SECONDS = 0.02
MIGRATION_LOCK_SECONDS = 1.5
"""How long a migration waits for a table. Everyone else who needs the table waits behind it for that long.
Longer than the 1 s after which PostgreSQL cancels autovacuum."""

REPORT_SECONDS = 0.5
"""How long before its deadline a call stops waiting for the server. This leaves time to end with a known
outcome."""

_RETRYABLE = {"40001", "40P01"}  # serialization failure, deadlock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. All but the last fit into `call`, to give most failures a known reason."""

    connect: int = 3
    lock: float = 5  # waiting for another transaction's lock
    statement: float = 9  # a query; the server cancels it
    call: float = DATABASE_SECONDS  # the deadline for everything, including waiting for a thread and retries
    idle_in_transaction: float = 30  # a hung process of ours; the server releases its locks


MOVING = Timeouts(connect=5, statement=50, call=60, idle_in_transaction=900)
"""For `prshots move`: its transactions hold thousands of rows and wait while images are copied."""


def open_postgresql(url: str, timeouts: Timeouts | None = None) -> Database:
    """Open the database at a libpq URL, without connecting yet. Raises SettingsError."""
    timeouts = timeouts or Timeouts()
    parameters = _parameters(url, timeouts)

    def connect() -> _ImpatientConnection:
        connection = _ImpatientConnection.connect(**parameters)
        connection.patience = timeouts.call
        connection.adapters.register_dumper(str, _TextDumper)
        connection.adapters.register_loader("numeric", _NumberLoader)
        return connection

    engine = create_engine(
        "postgresql+psycopg://",
        creator=connect,
        pool_size=LOOKERS + READERS + WRITERS,
        max_overflow=0,
        use_native_hstore=False,  # unused, and the check costs a round trip
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("migrates"):
            _lock_for_migration(connection)

    return _PostgresqlDatabase(engine, timeouts.call)


def _parameters(url: str, timeouts: Timeouts) -> dict[str, Any]:
    """Return libpq's parameters: those in the URL, and our defaults for the rest."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its message may quote the password
        raise SettingsError(
            "PRSHOTS_DATABASE_URL: got an invalid value, takes "
            f"postgresql://<user>:<password>@<host>:<port>/<name>; {PERCENT_ENCODE}"
        ) from None
    limits = {
        "statement_timeout": timeouts.statement,
        "lock_timeout": timeouts.lock,
        "idle_in_transaction_session_timeout": timeouts.idle_in_transaction,
    }
    options = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items())
    ours = {
        "application_name": "prshots",
        "connect_timeout": timeouts.connect,
        # Detect a machine that has vanished: with keepalives while we wait for an answer, and with
        # tcp_user_timeout for data sent but not acknowledged.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": int(timeouts.call * 1000),
    }
    return ours | given | {"client_encoding": "UTF8", "options": f"{options} {given.get('options', '')}"}


def _lock_for_migration(connection: Connection) -> None:
    """Let one process migrate at a time, without a timeout. The connection isn't reused.

    This polls. A waiting query would hold a snapshot, and building an index concurrently waits until every
    older snapshot is gone. Such an index needs no lock timeout, because nobody waits behind it.
    """
    driver_connection: Any = connection.connection.driver_connection
    driver_connection.patience = math.inf
    connection.detach()
    is_outside = connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT"
    scope, kind = ("SESSION", "") if is_outside else ("LOCAL", "_xact")
    lock_milliseconds = 0 if is_outside else int(MIGRATION_LOCK_SECONDS * 1000)
    connection.execute(text(f"SET {scope} statement_timeout = 0"))
    connection.execute(text(f"SET {scope} lock_timeout = {lock_milliseconds}"))
    ask = text(f"SELECT pg_try_advisory{kind}_lock(:lock)")
    while not connection.execute(ask, {"lock": MIGRATION_LOCK}).scalar_one():
        time.sleep(MIGRATION_POLL_SECONDS)


class NoAnswerError(psycopg.OperationalError):
    """The server keeps the connection open but does not answer."""


class _ImpatientConnection(psycopg.Connection[Any]):
    """Waits until the call's deadline.

    TCP can't detect a hanging server, because its kernel still acknowledges. Outside a call, this waits for
    `patience` seconds.
    """

    patience = math.inf

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        left = max(0.01, min(self.patience, seconds_left() - REPORT_SECONDS))
        patience = left if timeout is None else timeout
        try:
            return super().wait(gen, interval, None if patience == math.inf else patience)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001 - it has no public name
            self.pgconn.finish()  # a late answer would be taken for the answer to the next query
            raise NoAnswerError("no answer in time") from None


class _TextDumper(Dumper):
    """Replaces NUL, which PostgreSQL can't store. A search for text with NUL then finds nothing."""

    def dump(self, obj: str) -> Buffer:
        return obj.replace("\0", "\ufffd").encode()


class _NumberLoader(Loader):
    """Reads `numeric` as an int, or as a float if it has a fraction, like SQLite.

    JSON can't encode a Decimal. No column has that type, but PostgreSQL's clock and its sums of whole numbers
    do.
    """

    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return int(text) if text.removeprefix(b"-").isdigit() else float(text)


class _PostgresqlDatabase(Database):
    def __init__(self, engine: Engine, call_seconds: float) -> None:
        super().__init__(engine, READERS, WRITERS, call_seconds)
        self._reading_engine = engine.execution_options(isolation_level="AUTOCOMMIT")  # no BEGIN, no ROLLBACK
        self._lookers = ThreadPoolExecutor(LOOKERS, thread_name_prefix="records-look-up")
        DATABASE_CONNECTIONS.inc(LOOKERS)

    async def look_up(self, query: Prepared, **given: object) -> Sequence[Any] | None:
        """Read a row by its key in a thread, to keep the event loop from waiting for the network."""

        def first(connection: Connection) -> Sequence[Any] | None:
            return next(iter(query.rows(connection, given)), None)

        with timed(LOOK_UP, self.outage, "look_up"):
            return await self._in_thread(self._lookers, lambda: self._read(first), RecordsError)

    async def close(self) -> None:
        self._lookers.shutdown()
        await super().close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        def read() -> T:
            with self._reading_engine.connect() as connection:
                _check_in_time()
                return work(connection)

        return _with_another_connection(read)

    def _write(self, work: Callable[[Connection], T]) -> T:
        def write() -> T:
            with self.engine.connect() as connection, calls_after_commit(connection):
                _check_in_time()
                done = work(connection)
                _check_in_time()
                _commit(connection)
                return done

        for attempt in range(1, ATTEMPTS):
            try:
                return _with_another_connection(write)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _RETRYABLE:
                    raise
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - avoids the same conflict
        return _with_another_connection(write)


def _check_in_time() -> None:
    """Raise RecordsError past the deadline. Nobody waits any more, so don't send or commit anything."""
    if seconds_left() < REPORT_SECONDS:
        raise RecordsError("the database did not answer: no answer in time")


def _with_another_connection(work: Callable[[], T]) -> T:
    """Retry the work once if its connection was dead.

    After a server restart, every connection in the pool is. Once is enough: SQLAlchemy empties the pool after
    such an error, so the next connection is new.
    """
    try:
        return work()
    except DBAPIError as error:
        if not error.connection_invalidated or isinstance(error.orig, NoAnswerError):
            raise
    return work()


def _commit(connection: Connection) -> None:
    """Commit. Raises RecordsUnsureError if the connection is lost during the commit.

    The server may have committed anyway. A retry could count an upload twice, or fail on the record it had
    added.
    """
    try:
        connection.commit()
    except DBAPIError as error:
        if error.connection_invalidated:
            raise RecordsUnsureError("the connection to the database was lost during a commit") from error
        raise
